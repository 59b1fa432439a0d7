import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runCli, startCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'

const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

const handler = `import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

export default defineHandler({
  type: 'wallet.large_trade',
  run(event, ctx) {
    ctx.log.info({ usd: event.data.amount_usd.toFixed(2) }, formatEvent(event))
  },
})
`

const secret = '0123456789abcdef'

/** A folder with a handler in `handlers`, which takes these types, a broken one in `broken`, and none in `empty`. */
async function checkFolder(types: readonly string[] = ['wallet.large_trade']) {
  const dir = await createTempDir()
  for (const name of ['handlers', 'broken', 'empty']) mkdirSync(join(dir.path, name))
  const handlers = types.map((type) => `{ name: 'big', type: '${type}', run() {} }`)
  for (const [index, text] of handlers.entries()) {
    const name = types.length === 1 ? 'big' : `big-${index}`
    writeFileSync(join(dir.path, 'handlers', `${name}.mjs`), `export default ${text.replace("'big'", `'${name}'`)}\n`)
  }
  writeFileSync(join(dir.path, 'broken/a.mjs'), 'export default 1\n')
  return {
    path: dir.path,
    check: (args: readonly string[] = [], env: Record<string, string> = {}) =>
      runCli(['check', ...args], { cwd: dir.path, env: { INBOX_SECRETS: `main:${secret}`, ...env } }),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

test('P8 check prints configuration, handlers and warnings, without secrets, for people and as JSON', async () => {
  await using dir = await checkFolder()
  const { code, out } = await dir.check([], { INBOX_PROT: '1' })
  expect(code).toBe(0)
  expect(out).toMatch(/webhook secrets +set \(labels: main\)/)
  expect(out).toMatch(/big +wallet\.large_trade/)
  expect(out).toContain('warning: INBOX_PROT is not a setting')
  const json = await dir.check(['--json'])
  expect(out + json.out).not.toContain(secret)
  expect(JSON.parse(json.out)).toMatchObject({
    config: { 'webhook secrets': 'set (labels: main)' },
    handlers: [{ name: 'big', types: ['wallet.large_trade'] }],
    warnings: [],
  })
})

test('check reports unusable settings and handlers together, and shows what can be used', async () => {
  await using dir = await checkFolder()
  const [bad, broken] = [{ INBOX_PORT: 'x' }, { INBOX_PORT: 'x', INBOX_HANDLERS: './broken' }]
  const shown = await dir.check(['--json'], bad)
  expect(shown).toMatchObject({
    code: 1,
    errors: expect.stringContaining('INBOX_PORT must be 0–65535 (0 takes any free port) (got \\"x\\")'),
  })
  expect(JSON.parse(shown.out)).toMatchObject({ config: null, handlers: [{ name: 'big' }] })
  const both = await dir.check([], broken)
  expect(both).toMatchObject({ code: 1, out: '' })
  expect(both.errors).toMatch(/^config_invalid: .*\n  INBOX_PORT must be .*got "x".*\nhandler_invalid: .*a\.mjs/s)
  expect(JSON.parse((await dir.check(['--json'], broken)).errors)).toEqual({
    error: { code: 'config_invalid', message: expect.stringContaining('\nhandler_invalid: ') },
  })
})

test('check takes a handler of the warnings of the inbox itself for no mistake', async () => {
  await using dir = await createTempDir()
  mkdirSync(join(dir.path, 'handlers'))
  for (const [name, type] of [
    ['exact', 'inbox.warning'],
    ['all', 'inbox.*'],
    ['wrong', 'inbox.warnings'],
  ]) {
    writeFileSync(join(dir.path, `handlers/${name}.mjs`), `export default { type: '${type}', run() {} }`)
  }
  const { out } = await runCli(['check', '--json'], { cwd: dir.path, env: { INBOX_SECRETS: secret } })
  expect((JSON.parse(out) as { warnings: string[] }).warnings).toEqual([expect.stringContaining('inbox.warnings')])
})

test('check ends although a handler file is stuck in a native call, and ignores what handler code posts', async () => {
  await using dir = await createTempDir()
  mkdirSync(join(dir.path, 'handlers'))
  const write = (name: string, text: string) => writeFileSync(join(dir.path, 'handlers', name), text)
  write(
    'posts.mjs',
    "import { parentPort } from 'node:worker_threads'\nparentPort.postMessage(null)\n" +
      "export default { type: '*', run() {} }\n",
  )
  const options = { cwd: dir.path, env: { INBOX_SECRETS: 'main:0123456789abcdef' } }
  expect(await runCli(['check'], options)).toMatchObject({ code: 0, out: expect.stringContaining('posts') })
  write('stuck.mjs', "import { execSync } from 'node:child_process'\nexecSync('sleep 60')\n")
  using process = startCli(['check'], options)
  const { code, errors } = await process.ended
  expect([code, errors]).toEqual([1, expect.stringMatching(/took longer than 10000 ms.*stuck\.mjs/)])
}, 45_000)

test('check --types writes, beside handlers with no node_modules near, what their types are found by', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'tsconfig.json')
  mkdirSync(join(dir.path, 'handlers'))
  writeFileSync(join(dir.path, 'handlers/trades.ts'), handler)
  writeFileSync(join(dir.path, 'handlers/mistaken.ts'), handler.replace('amount_usd', 'amount_eur'))
  const check = (...args: string[]) => runCli(['check', '--types', ...args], { cwd: dir.path })

  expect(JSON.parse((await check('--json')).out)).toEqual({ file, result: 'written' })
  const compiled = spawnSync(tsc, ['-p', dir.path, '--pretty', 'false'], { encoding: 'utf8' })
  expect(compiled.stdout.trim().split('\n')).toEqual([
    expect.stringMatching(/handlers\/mistaken\.ts\(7,\d+\): error TS2551: Property 'amount_eur' does not exist/),
  ])
  // Its own file is replaced, as after a move of the program; the user's is not.
  expect(await check()).toMatchObject({ code: 0, out: `wrote ${file}\n` })
}, 90_000)

test('check --types leaves a tsconfig.json of the user alone, says what to add to it, and replaces it by --force', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'tsconfig.json')
  writeFileSync(file, '{ "files": [] }\n')
  const check = (...args: string[]) =>
    runCli(['check', ...args], { cwd: dir.path, env: { INBOX_HANDLERS: join(dir.path, 'elsewhere') } })

  const refused = await check('--types')
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.errors).toContain(`usage: ${file} is your own and was left unchanged: add these "paths"`)
  expect(refused.errors).toContain('"onchain-inbox/testing": [')
  expect(readFileSync(file, 'utf8')).toBe('{ "files": [] }\n')

  expect(await check('--types', '--force')).toMatchObject({ code: 0, out: `wrote ${file}\n` })
  expect(readFileSync(file, 'utf8')).toContain('"onchain-inbox/schema"')
  expect(existsSync(join(dir.path, 'elsewhere'))).toBe(false)

  const misplaced = await check('--force')
  expect(misplaced).toMatchObject({ code: 1, errors: 'usage: --force goes with --types\n' })
})
