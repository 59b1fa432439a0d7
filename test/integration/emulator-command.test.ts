import { createHmac } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { runCli, startCli } from '../support/cli.ts'
import { ProcessOutput } from '../support/process-output.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { ask } from './emulator-stage.ts'

const secret = 'whsec_0123456789abcdef'

const argsOf = (line: string) => `emulator --port 0 --history 0s ${line}`.split(' ').filter((word) => word !== '')
const run = (line: string) => runCli(argsOf(line), { cwd: tmpdir(), env: { WEBHOOK_SECRET: secret } })

/** Runs `emulator` in its own folder and process. */
async function runEmulator(line: string) {
  const dir = await createTempDir()
  const process = startCli(argsOf(line), { cwd: dir.path, env: { WEBHOOK_SECRET: secret } })
  const output = new ProcessOutput()
  output.attach(process.child)
  return {
    dir: dir.path,
    child: process.child,
    listening: () => output.waitFor(({ msg }) => msg === 'listening', 'the emulator to listen', 20_000),
    ended: process.ended,
    async [Symbol.asyncDispose]() {
      process[Symbol.dispose]()
      await process.ended
      await dir[Symbol.asyncDispose]()
    },
  }
}

const get = (url: string, token: string) => ask(url, { headers: { Authorization: `Bearer ${token}` } })

test('emulator --count exits with 0 when that many signed events are acknowledged', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { code, out, errors } = await run(
    `--webhook ${receiver.url} --secret env:WEBHOOK_SECRET --count 12 --rate 1000 --duplicates 0 --json`,
  )
  expect(errors).toBe('')
  expect(code).toBe(0)
  const printed = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(printed).toHaveLength(14)
  expect(printed[0]).toMatchObject({ msg: 'listening', url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) })
  expect(printed[1]).toMatchObject({ msg: 'attempt', attempt: 1, outcome: 'acknowledged', status: 200 })
  expect(printed.at(-1)).toEqual({ msg: 'finished', events: 12, acknowledged: 12, undelivered: 0, unsettled: 0 })
  for (const { body, headers } of receiver.requests) {
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  }
})

test('R86 emulator --count exits with 1 after an undelivered event, and prints a line per attempt', async () => {
  await using receiver = await createTestReceiver(answerStatus(500))
  const { code, out } = await run(
    `--webhook ${receiver.url} --secret env:WEBHOOK_SECRET --count 1 --rate 10 --speed 10000 --activity 0.001 --duplicates 0`,
  )
  expect(code).toBe(1)
  const lines = out.trim().split('\n')
  const attempts = lines.filter((line) => !/^(listening| {2}\w)/.test(line))
  expect(attempts).toHaveLength(7)
  expect(attempts[0]).toMatch(
    /^\d\d:\d\d:\d\d {2}[a-z]+\.\w+ +evt_\w{26} {2}500 {2}failed +\d+ ms {2}next at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d$/,
  )
  expect(attempts[1]).toMatch(/retry 1, next at (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d$/)
  expect(attempts[5]).toMatch(/undelivered +\d+ ms {2}retry 5$/)
  expect(attempts[6]).toBe('0 acknowledged, 1 undelivered, 0 not settled')
})

test.each(['SIGINT', 'SIGTERM'] as const)('emulator serves REST until %s, and exits with 0', async (signal) => {
  await using emulator = await runEmulator('--json')
  const { url, apiKey, controlToken } = await emulator.listening()
  expect([apiKey, controlToken]).toEqual([demoCredentials.apiKey, demoCredentials.controlToken])
  expect(await get(`${String(url)}/v1/networks`, String(apiKey))).toMatchObject({ status: 200 })
  expect(await get(`${String(url)}/_emulator/clock`, String(controlToken))).toMatchObject({
    json: { data: { mode: 'real', speed: 1 } },
  })
  emulator.child.kill(signal)
  expect(await emulator.ended).toMatchObject({ code: 0, errors: '' })
})

test('R5 emulator --tls serves only HTTPS, and removes its certificate at the end', async () => {
  await using emulator = await runEmulator('--tls --json')
  const { url, certFile } = await emulator.listening()
  expect(url).toMatch(/^https:/)
  expect(String(certFile).startsWith(join(tmpdir(), 'onchain-inbox-tls-'))).toBe(true)
  expect(await readFile(String(certFile), 'utf8')).toContain('BEGIN CERTIFICATE')
  const plain = await get(String(url).replace('https', 'http'), 'x')
  expect(plain).toMatchObject({ status: 400, json: { success: false } })
  emulator.child.kill('SIGINT')
  expect((await emulator.ended).code).toBe(0)
  await expect(stat(dirname(String(certFile)))).rejects.toThrow(/ENOENT/)
  expect(await readdir(emulator.dir)).toEqual([])
})

test.each([
  ['--webhook ftp://example.test/ --secret env:WEBHOOK_SECRET', 'usage: webhook URL must be http:// or https://'],
  ['--webhook http://127.0.0.1:1/', 'usage: --webhook and --secret go together'],
  ['--webhook http://127.0.0.1:1/ --rate fast', 'Expected a number from'],
  ['--webhook http://127.0.0.1:1/ --count 1.5', 'Expected a whole number from 1'],
  ['--history soon', 'Expected a whole number and a unit'],
  ['--seed=', "usage: option '--seed <text>' argument '' is invalid. Expected text of 1 to 200 characters."],
  ['--host 203.0.113.7', 'choose another --host: a name or address of this machine'],
  ['--seed a --seed-file b', "option '--seed-file <file>' cannot be used with option '--seed <text>'"],
  ['--speed 2 --manual-clock', "cannot be used with option '--speed <number>'"],
  ['--tls-cert a.pem', 'usage: --tls-cert and --tls-key go together'],
  ['--seed-file none.yaml', 'none.yaml: ENOENT'],
])('emulator %s is a usage error', async (line, message) => {
  const { code, errors } = await run(line)
  expect(code).toBe(1)
  expect(errors).toContain(message)
})
