import { createHmac } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { otherTlsKey, tlsPair } from '../fixtures/tls.ts'
import { beginCli, runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'
import { linesOf } from './cli-emulator-run.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { ask } from './emulator-stage.ts'

const secret = 'whsec_0123456789abcdef'
const env = { WEBHOOK_SECRET: secret }
const argsOf = (line: string) => `emulator --port 0 ${line}`.split(' ')
const run = (line: string) => runCli(argsOf(`--history 0s ${line}`), { cwd: tmpdir(), env })
const get = (url: string, token: string) => ask(url, { headers: { Authorization: `Bearer ${token}` } })

/** Runs `emulator` in a folder; returns its output up to the last line of the start, and the rest by `stop`. */
async function start(cwd: string, line: string, signal: NodeJS.Signals = 'SIGINT') {
  const command = beginCli(argsOf(line), { cwd, env })
  await until(() => /"msg":"listening"|^try: .*\n/m.test(command.text.out), 'the emulator to listen')
  return {
    out: command.text.out,
    stop() {
      command.kill(signal)
      return command.ended
    },
  }
}

test('with --count it exits 0 once that many events are acknowledged, signed with the secret', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const result = await run(
    `--webhook ${receiver.url} --secret env:WEBHOOK_SECRET --count 12 --rate 1000 --duplicates 0 --json`,
  )
  expect(result).toMatchObject({ code: 0, errors: '' })
  const printed = linesOf(result)
  expect(printed).toHaveLength(14)
  expect(printed[0]).toMatchObject({ msg: 'listening', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) })
  expect(printed[1]).toMatchObject({ msg: 'attempt', attempt: 1, outcome: 'acknowledged', status: 200 })
  expect(printed.at(-1)).toEqual({ msg: 'finished', events: 12, acknowledged: 12, undelivered: 0, unsettled: 0 })
  for (const { body, headers } of receiver.requests) {
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  }
})

test('R86 with --count it exits 1 if an event ends undelivered, and prints one line per attempt', async () => {
  await using receiver = await createTestReceiver(answerStatus(500))
  const { code, out } = await run(
    `--webhook ${receiver.url} --secret env:WEBHOOK_SECRET --count 1 --rate 10 --speed 10000 --activity 0.001 --duplicates 0`,
  )
  expect(code).toBe(1)
  const attempts = out.split('\n').filter((line) => /^\d/.test(line))
  expect(attempts).toHaveLength(7)
  expect(attempts[0]).toMatch(
    /^\d\d:\d\d:\d\d {2}[a-z]+\.\w+ +evt_\w{26} {2}500 {2}failed +\d+ ms {2}next at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d$/,
  )
  expect(attempts[1]).toMatch(/retry 1, next at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d$/)
  expect(attempts[5]).toMatch(/undelivered +\d+ ms {2}retry 5$/)
  expect(attempts[6]).toBe('0 acknowledged, 1 undelivered, 0 not settled')
})

test.each(['SIGINT', 'SIGTERM'] as const)('serves REST and control until %s, then exits 0', async (signal) => {
  await using dir = await createTempDir()
  const emulator = await start(dir.path, '--history 0s --json', signal)
  const { url, apiKey, controlToken } = linesOf(emulator)[0]!
  expect([apiKey, controlToken]).toEqual([demoCredentials.apiKey, demoCredentials.controlToken])
  expect(await get(`${String(url)}/v1/networks`, String(apiKey))).toMatchObject({ status: 200 })
  const clock = await get(`${String(url)}/_emulator/clock`, String(controlToken))
  expect(clock).toMatchObject({ json: { data: { mode: 'real', speed: 1 } } })
  expect(await emulator.stop()).toMatchObject({ code: 0, errors: '' })
})

test('R5 R108 with a certificate it serves HTTPS only', async () => {
  await using dir = await createTempDir()
  await writeFile(join(dir.path, 'cert.pem'), tlsPair.cert)
  await writeFile(join(dir.path, 'key.pem'), tlsPair.key)
  await writeFile(join(dir.path, 'other.pem'), otherTlsKey)
  const emulator = await start(dir.path, '--history 0s --tls-cert cert.pem --tls-key key.pem --json')
  const { url } = linesOf(emulator)[0]!
  expect(url).toMatch(/^https:/)
  await expect(fetch(String(url).replace('https', 'http'))).rejects.toThrow('fetch failed')
  expect((await emulator.stop()).code).toBe(0)
  const mismatch = await runCli(argsOf('--tls-cert cert.pem --tls-key other.pem'), { cwd: dir.path, env })
  const errors = expect.stringContaining('must be PEM files of the same pair: they belong to different pairs')
  expect(mismatch).toMatchObject({ code: 1, errors })
})

test.each([
  [
    '--webhook ftp://example.test/ --secret env:WEBHOOK_SECRET',
    'usage: --webhook must be https, or http on this machine',
  ],
  ['--webhook http://127.0.0.1:1/', 'usage: --webhook and --secret go together'],
  ['--webhook http://127.0.0.1:1/ --rate fast', 'Expected a number from'],
  ['--webhook http://127.0.0.1:1/ --count 1.5', 'Expected a whole number from 1'],
  ['--history soon', 'Expected a whole number and a unit'],
  ['--seed=', "usage: option '--seed <text>' argument '' is invalid. Expected text of 1 to 200 characters."],
  ['--seed a --seed-file b', "option '--seed-file <file>' cannot be used with option '--seed <text>'"],
  ['--speed 2 --manual-clock', "cannot be used with option '--speed <number>'"],
  ['--tls-cert a.pem', 'usage: --tls-cert and --tls-key go together'],
  ['--tls-cert a.pem --tls-key b.pem', 'certificate a.pem and key b.pem must be PEM files of the same pair: ENOENT'],
  ['--seed-file none.yaml', 'none.yaml: ENOENT'],
])('exits 1 and explains invalid arguments: %s', async (line, message) => {
  expect(await run(line)).toMatchObject({ code: 1, errors: expect.stringContaining(message) })
})

test('R68 a restart shows no earlier keys, and another control token', async () => {
  await using dir = await createTempDir()
  const startOnce = async () => {
    const line = '--seed other --history 0 --data state/emulator.db --manual-clock'
    const emulator = await start(dir.path, line)
    await emulator.stop()
    return emulator.out
  }
  const [first, second] = [await startOnce(), await startOnce()]
  const tokenOf = (out: string) => /^controlToken +(ctl_\S+)$/m.exec(out)?.[1]
  expect(first).toMatch(/^apiKey +sk_\S+$/m)
  expect(first).toContain('not shown again')
  expect(second).toMatch(/^apiKey +-$/m)
  expect(second).toMatch(/^clock\.now +2026-01-01T00:00:00\.000Z$/m)
  expect(tokenOf(first)).toBeDefined()
  expect(tokenOf(second)).not.toBe(tokenOf(first))
})

test('the start shows accounts, webhooks, world and a command to try, but no credentials of a seed file', async () => {
  await using dir = await createTempDir()
  const demo = await start(dir.path, '--history 6h --speed 60')
  expect(demo.out).toMatch(/^world\.history +6h$/m)
  expect(demo.out).not.toContain('not shown again')
  const [, header = '', url = ''] = /^try: curl -H '(.*)' (.*)\n/m.exec(demo.out) ?? []
  expect(header).toBe(`Authorization: Bearer ${demoCredentials.apiKey}`)
  expect((await get(url, demoCredentials.apiKey)).status).toBe(200)
  await demo.stop()
  const seedFile = `world: { seed: mine, history: 2h }
controlToken: control-token-of-mine
accounts:
  - name: desk
    keys: [{ name: a, key: sk_key-of-mine-0001, scopes: all }]
    webhooks: [{ url: 'http://127.0.0.1:9/x', events: [pump.graduation], secret: whsec_0123456789 }]
`
  await writeFile(join(dir.path, 'seed.yaml'), seedFile)
  const emulator = await start(
    dir.path,
    '--seed-file seed.yaml --webhook http://127.0.0.1:9/y --secret env:WEBHOOK_SECRET',
  )
  const { out } = await emulator.stop()
  expect(out).not.toMatch(/of-mine|whsec_/)
  expect(out).toMatch(/^accounts +desk \(free, a\)$/m)
  expect(out).toMatch(/^webhooks +http:\/\/127\.0\.0\.1:9\/x \(pump\.graduation\), http:\/\/127\.0\.0\.1:9\/y \(\*\)$/m)
})
