import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const secret = 'whsec_0123456789abcdef'
const script = `
  import { Command } from 'commander'
  import { addEmulatorCommand } from './src/cli/emulator.ts'
  const program = new Command()
  addEmulatorCommand(program)
  await program.parseAsync(process.argv.slice(1), { from: 'user' })
`

/** Runs `emulator` with these arguments, parted by spaces, in a process of its own, the secret in its environment. */
function runEmulator(line: string) {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', script, '--', 'emulator', '--secret', 'env:WEBHOOK_SECRET', ...line.split(' ')],
    { cwd: root, env: { ...process.env, WEBHOOK_SECRET: secret }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const ended = new Promise<{ code: number | null; lines: string[]; errors: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, lines: output.trim().split('\n'), errors }))
  })
  return { child, ended }
}

test('with --count it ends with exit code 0 once that many events are acknowledged, signed with the secret', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { code, lines, errors } = await runEmulator(
    `--webhook ${receiver.url} --count 12 --rate 1000 --duplicates 0 --json`,
  ).ended
  expect(errors).toBe('')
  expect(code).toBe(0)
  const printed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(printed).toHaveLength(13)
  expect(printed[0]).toMatchObject({ msg: 'attempt', attempt: 1, outcome: 'acknowledged', status: 200 })
  expect(printed.at(-1)).toEqual({ msg: 'finished', acknowledged: 12, undelivered: 0, unsettled: 0 })
  for (const { body, headers } of receiver.requests) {
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  }
})

test('R86 with --count it ends with exit code 1 if an event ended undelivered, one line per attempt', async () => {
  await using receiver = await createTestReceiver(answerStatus(500))
  const { code, lines } = await runEmulator(`--webhook ${receiver.url} --count 1 --speed 1000000 --duplicates 0`).ended
  expect(code).toBe(1)
  expect(lines).toHaveLength(7)
  expect(lines[0]).toMatch(
    /^\d\d:\d\d:\d\d {2}[a-z]+\.\w+ +evt_\w{26} {2}500 {2}failed +\d+ ms {2}next at \d\d:\d\d:\d\d$/,
  )
  expect(lines[1]).toMatch(/retry 1, next at \d\d:\d\d:\d\d$/)
  expect(lines[5]).toMatch(/undelivered +\d+ ms {2}retry 5$/)
  expect(lines[6]).toBe('0 acknowledged, 1 undelivered, 0 not settled')
})

test.each(['SIGINT', 'SIGTERM'] as const)(
  'without --count it runs until %s and ends with exit code 0',
  async (signal) => {
    await using receiver = await createTestReceiver(answerStatus(500))
    const { child, ended } = runEmulator(`--webhook ${receiver.url} --rate 50`)
    await receiver.received(5)
    child.kill(signal)
    const { code, lines } = await ended
    expect(code).toBe(0)
    expect(lines.at(-1)).toMatch(/^0 acknowledged, 0 undelivered, \d+ not settled$/)
  },
)

test.each([
  ['--webhook ftp://example.test/', 'usage: webhook URL: expected http:// or https://'],
  ['--webhook http://127.0.0.1:1/ --rate fast', 'Expected a number from'],
  ['--webhook http://127.0.0.1:1/ --count 1.5', 'Expected a whole number from 1'],
])('arguments it cannot use end with exit code 1 and say why: %s', async (line, message) => {
  const { code, errors } = await runEmulator(line).ended
  expect(code).toBe(1)
  expect(errors).toContain(message)
})

test.each(['http://inbox.example.com/webhooks', 'http://127.0.0.1.example.com/'])(
  'A25 the webhook %s is refused: http goes to this machine only',
  async (url) => {
    const { code, errors } = await runEmulator(`--webhook ${url} --count 1`).ended
    expect(code).toBe(1)
    expect(errors).toMatch(/^usage: --webhook: http goes to this machine only; expected https/)
  },
)
