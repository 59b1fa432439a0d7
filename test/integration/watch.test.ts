import { execFile } from 'node:child_process'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { testSecret } from '../support/app.ts'
import { checkHistory } from '../support/checks.ts'
import { RecordingClient, toDelivery } from '../support/history.ts'
import { effectsHandler, readEffects, readLedger } from '../support/ledger.ts'
import { Load } from '../support/load.ts'
import type { LogLine } from '../support/process-output.ts'
import { serveCommand, Sidecar, testToken } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'

const root = join(import.meta.dirname, '../..')
const watching = [...serveCommand, '--watch']
const failedMessage = 'handlers could not be reloaded; the old ones go on'

const edit = (sidecar: Sidecar, file: string, source: string) => writeFile(join(sidecar.dir, 'handlers', file), source)

function waitFor(sidecar: Sidecar, what: string, matches: (line: LogLine) => boolean): Promise<LogLine> {
  return sidecar.output.waitFor(matches, what, 20_000)
}

const speaking = (words: string) => `
  import { defineHandler } from 'onchain-inbox'
  export default defineHandler({ type: 'test.speak', run(event, ctx) { ctx.log.info({}, '${words} ' + event.id) } })`

test('`serve --watch` takes up edited handlers under load: all properties hold, and each event is handled once', async () => {
  await using sidecar = await Sidecar.start({
    command: watching,
    handlers: { 'effects.mjs': effectsHandler({ busyMs: 4 }), 'speak.ts': speaking('one') },
  })
  using client = new RecordingClient({ url: () => sidecar.url })
  const load = new Load({ client, workers: 8, keys: 20, random: Math.random })
  const sending = load.run()
  for (const words of ['two', 'three', 'four']) {
    await load.acknowledgements(100)
    await edit(sidecar, 'speak.ts', speaking(words))
    await edit(sidecar, `${words}.ts`, speaking(words))
    await waitFor(sidecar, `the reload of ${words}`, ({ msg, handlers }) => {
      return msg === 'handlers reloaded' && (handlers as readonly string[]).includes(words)
    })
    await client.deliver(toDelivery(eventBytes({ id: words, type: 'test.speak' }), { id: words }))
    await sidecar.log(`${words} ${words}`)
    await edit(sidecar, 'broken.mjs', 'export default {')
    await waitFor(
      sidecar,
      'the refusal',
      ({ msg, changed }) => msg === failedMessage && String(changed) === 'broken.mjs',
    )
    await edit(sidecar, 'broken.mjs', speaking('mended'))
    await load.acknowledgements(100)
  }
  load.stop()
  await sending
  await load.heal()
  await sidecar.drained()
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  expect(sidecar.output.lines.filter(({ level, msg }) => level === 'error' && msg !== failedMessage)).toEqual([])

  const { stored, work } = await readLedger(sidecar.databaseFile)
  expect(work.filter(({ state, attempt }) => state !== 'done' || attempt !== 1)).toEqual([])
  const effects = await readEffects(sidecar.effectsFile)
  const { requests } = client
  const { lives, output } = sidecar
  const secrets = [testSecret, testToken]
  expect(checkHistory({ requests, stored, effects, lives, output: output.text, secrets })).toEqual([])
})

test('without `--watch`, `serve` does not look at its files again', async () => {
  await using sidecar = await Sidecar.start({ handlers: { 'speak.ts': speaking('one') } })
  using client = new RecordingClient({ url: () => sidecar.url })
  await edit(sidecar, 'speak.ts', 'export default {')
  await client.deliver(toDelivery(eventBytes({ id: 'evt_1', type: 'test.speak' }), { id: 'evt_1' }))
  await sidecar.log('one evt_1')
})

/** A clone, built. */
async function build(dir: string): Promise<void> {
  for (const part of ['.ci/build.mjs', 'src', 'schema', 'handlers', 'package.json', 'tsconfig.json']) {
    await cp(join(root, part), join(dir, part), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))
  await promisify(execFile)(process.execPath, [join(dir, '.ci/build.mjs')])
}

test.each([
  ['`npm start` in a clone', 'handlers/pump.graduation.ts'],
  ['the demo of an installed package', 'dist/handlers/pump.graduation.js'],
])('%s takes up edits of its handlers', { timeout: 90_000 }, async (who, handler) => {
  await using sidecar = await Sidecar.create()
  const copy = join(sidecar.dir, 'copy')
  await build(copy)
  if (!who.includes('clone')) await rm(join(copy, 'handlers'), { recursive: true })
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const [program = '', flag = '', cli = '', ...args] = scripts.start.split(' ')
  await using demo = await Sidecar.start({ command: [program, flag, join(copy, cli), ...args, '--json'] })
  const file = join(copy, handler)
  const source = await readFile(file, 'utf8')
  await writeFile(file, `${source}\nconsole.log('edited')\n`)
  await demo.output.waitFor(({ msg, line }) => msg === 'output' && line === 'edited', 'the edited handler', 20_000)
  const { handlers, changed } = await demo.log('handlers reloaded')
  // The ten bundled ones, and the one that only the demo has.
  expect(handlers).toHaveLength(11)
  expect(changed).toEqual([basename(file)])
  await writeFile(file, 'export default {')
  expect(await demo.log(failedMessage)).toMatchObject({
    changed: [basename(file)],
    error: expect.stringContaining(`${file} cannot be loaded`),
  })
  await writeFile(file, `${source}\nconsole.log('mended')\n`)
  await demo.output.waitFor(({ msg, line }) => msg === 'output' && line === 'mended', 'the mended handler', 20_000)
  expect(await demo.stop()).toEqual({ code: 0, signal: null })
})
