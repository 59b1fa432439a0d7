import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { shared } from '../support/shared.ts'
import { Sidecar } from '../support/sidecar.ts'

const root = join(import.meta.dirname, '../..')

/** Copies this clone, with the shared build. */
async function cloneTo(dir: string): Promise<void> {
  for (const part of ['schema', 'handlers', 'package.json'])
    await cp(join(root, part), join(dir, part), { recursive: true })
  await cp(await shared('dist'), join(dir, 'dist'), { recursive: true })
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))
}

test('`npm start` in a clone reloads edited handlers', { timeout: 240_000 }, async () => {
  const handler = 'handlers/pump.graduation.ts'
  await using sidecar = await Sidecar.create()
  const copy = join(sidecar.dir, 'copy')
  await cloneTo(copy)
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const [program = '', flag = '', cli = '', ...args] = scripts.start.split(' ')
  await using demo = await Sidecar.start({ command: [program, flag, join(copy, cli), ...args, '--json'] })
  const file = join(copy, handler)
  const source = await readFile(file, 'utf8')
  await writeFile(file, `${source}\nconsole.log('edited')\n`)
  await demo.output.waitFor(({ msg, line }) => msg === 'output' && line === 'edited', 'the edited handler', 60_000)
  const { handlers, changed } = await demo.log('handlers reloaded')
  // Ten bundled handlers, and one of the demo.
  expect(handlers).toHaveLength(11)
  expect(changed).toEqual([basename(file)])
  expect(await demo.stop()).toEqual({ code: 0, signal: null })
})
