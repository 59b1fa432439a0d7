import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCli, startCli } from '../support/cli.ts'
import { startTestApp } from '../support/app.ts'
import { recordingLog } from '../support/recording-log.ts'
import { createTempDir } from '../support/temp-dir.ts'

const secret = '0123456789abcdef'

const running = (type: string) => `export default { type: '${type}', run() {} }`

/** Creates a folder with these handlers, by file name. */
async function folderWith(handlers: Readonly<Record<string, string>>) {
  const dir = await createTempDir()
  mkdirSync(join(dir.path, 'handlers'))
  for (const [name, text] of Object.entries(handlers)) writeFileSync(join(dir.path, 'handlers', name), text)
  return {
    path: dir.path,
    check: (args: readonly string[] = [], env: Record<string, string> = {}) =>
      runCli(['check', ...args], { cwd: dir.path, env: { INBOX_SECRETS: `main:${secret}`, ...env } }),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

test('P8 check prints settings, handlers and warnings, without secrets', async () => {
  await using dir = await folderWith({ 'big.mjs': running('wallet.large_trade') })
  const env = { INBOX_PROT: '1', INBOX_FORWARD_URL: `http://127.0.0.1:3000/?token=${secret}` }
  const { code, out } = await dir.check([], env)
  expect(code).toBe(0)
  expect(out).toMatch(/INBOX_SECRETS +set \(labels: main\) +environment/)
  expect(out).toMatch(/big +wallet\.large_trade/)
  expect(out).toContain('warning: INBOX_PROT is not a setting')
  expect(out).toContain('forward  forward to http://127.0.0.1:3000/, gets *')
  const json = await dir.check(['--json'])
  expect(out + json.out).not.toContain(secret)
  const handlers = [{ name: 'big', types: ['wallet.large_trade'] }]
  expect(JSON.parse(json.out)).toMatchObject({ config: { INBOX_PORT: '8080' }, sinks: [], handlers, warnings: [] })
})

test('check reports all invalid settings, and then invalid handlers', async () => {
  await using dir = await folderWith({ 'a.mjs': 'export default 1\n' })
  const invalid = await dir.check(['--json'], { INBOX_PORT: 'x', INBOX_CONCURRENCY: '0' })
  const problems = /INBOX_PORT must be 0–65535.*\n {2}INBOX_CONCURRENCY must be/
  expect(invalid).toMatchObject({ code: 1, out: '' })
  expect(JSON.parse(invalid.errors)).toEqual({
    error: { code: 'config_invalid', message: expect.stringMatching(problems) },
  })
  expect(await dir.check()).toMatchObject({
    code: 1,
    out: expect.stringContaining('INBOX_PORT'),
    errors: expect.stringMatching(/^handler_invalid: .*a\.mjs/),
  })
})

test('check and serve warn about undocumented event types, and know those of the inbox itself', async () => {
  const types = { 'exact.mjs': 'inbox.warning', 'all.mjs': 'inbox.*', 'any.mjs': '*', 'wrong.mjs': 'wallet.large_trad' }
  const handlers = Object.fromEntries(Object.entries(types).map(([name, type]) => [name, running(type)]))
  await using dir = await folderWith(handlers)
  const { warnings } = JSON.parse((await dir.check(['--json'])).out) as { readonly warnings: readonly string[] }
  const warning = 'handler wrong takes the undocumented type wallet.large_trad (did you mean wallet.large_trade?)'
  expect(warnings).toEqual([warning])
  const { log, lines } = recordingLog()
  await using _app = await startTestApp({ handlers, log })
  const logged = lines.filter(({ message }) => message === 'config warning')
  expect(logged).toEqual([{ level: 'warn', message: 'config warning', fields: { warning } }])
})

test('P8 check warns about handlers that get nothing, because there is no default source', async () => {
  await using dir = await folderWith({ 'all.mjs': running('*'), 'own.mjs': running('inbox.warning') })
  const INBOX_SOURCES = JSON.stringify({ desk: { provider: 'alchemy', path: '/hooks/desk', secrets: secret } })
  const { out } = await dir.check(['--json'], { INBOX_SECRETS: '', INBOX_SOURCES })
  expect((JSON.parse(out) as { readonly warnings: readonly string[] }).warnings).toEqual([
    'handler all gets no deliveries of the default source: INBOX_SECRETS is not set',
  ])
})

test('check exits although a handler file is stuck in a native call, and ignores messages of handler code', async () => {
  const posting = `import { parentPort } from 'node:worker_threads'\nparentPort.postMessage(null)\n${running('*')}`
  await using dir = await folderWith({ 'posts.mjs': posting })
  expect(await dir.check()).toMatchObject({ code: 0, out: expect.stringContaining('posts') })
  const stuck = "import { execSync } from 'node:child_process'\nexecSync('sleep 60')\n"
  writeFileSync(join(dir.path, 'handlers/stuck.mjs'), stuck)
  using process = startCli(['check'], { cwd: dir.path, env: { INBOX_SECRETS: secret } })
  const { code, errors } = await process.ended
  expect([code, errors]).toEqual([1, expect.stringMatching(/did not load within 10000 ms.*stuck\.mjs/)])
}, 180_000)
