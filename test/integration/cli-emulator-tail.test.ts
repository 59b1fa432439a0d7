import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import type { CliRun } from '../support/cli.ts'
import { linesOf, startSteered, type Steered } from './cli-emulator-run.ts'
import { until } from '../support/until.ts'
import { answerStatus } from './emulator-receiver.ts'
import { stageOf, testSeed } from './emulator-stage.ts'

const quiet = { seed: testSeed({ world: { seed: 'test', history: '0s', activity: 0 } }) }

/** Sets the clock until the tail prints it. */
async function untilListening({ stage }: Steered, tail: CliRun): Promise<void> {
  await until(async () => {
    await stage.control('POST', '/clock', { mode: 'manual' })
    return tail.text.out.includes('clock')
  }, 'tail to listen')
}

/** Cuts the first connection to a port, then frees the port. */
async function refuseOne(port: number): Promise<void> {
  const server = createServer((socket) => {
    socket.destroy()
    server.close()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'close')
}

test('emulator tail prints these kinds as they happen, until Ctrl-C, and reconnects to a restarted emulator', async () => {
  await using steered = await startSteered(answerStatus(500), quiet)
  const url = steered.stage.emulator.url ?? ''
  const [tail, asJson] = ['attempt,clock', 'event,attempt,clock --json'].map((types) =>
    steered.start(`emulator tail --types ${types}`),
  ) as [CliRun, CliRun]
  for (const each of [tail, asJson]) await untilListening(steered, each)
  await steered.stage.control('POST', '/trigger', { type: 'contract.ownership_changed' })
  const find = (msg: string) => linesOf(asJson.text).find((line) => line.msg === msg)
  await until(() => tail.text.out.includes('failed') && asJson.text.out.includes('"nextAttemptAt"'), 'the attempt')
  await until(() => find('event') !== undefined, 'the event')
  const [event, attempt] = [find('event'), find('attempt')]
  expect(event).toMatchObject({ type: 'contract.ownership_changed', created_at: '2026-01-01T00:00:00.000Z' })
  expect(attempt).toMatchObject({
    eventId: event?.['id'],
    url: steered.receiver.url,
    status: 500,
    outcome: 'failed',
    at: '2026-01-01T00:00:00.000Z',
    nextAttemptAt: '2026-01-01T00:01:00.000Z',
  })
  asJson.kill('SIGINT')
  expect(await asJson.ended).toMatchObject({ code: 0, errors: '' })

  await steered.stage.emulator.stop()
  await until(() => tail.text.errors.includes('lost '), 'the lost connection')
  const port = Number(new URL(url).port)
  await refuseOne(port)
  await using again = createEmulator({ ...quiet, listen: { host: '127.0.0.1', port } })
  await again.start()
  await until(() => tail.text.errors.includes('is back'), 'the reconnection')
  await stageOf(again).control('POST', '/clock', { mode: 'scaled', speed: 60 })
  await until(() => tail.text.out.includes('scaled'), 'the change of the clock')
  tail.kill('SIGINT')
  const { code, out, errors } = await tail.ended
  expect(code).toBe(0)
  expect(out).toMatch(
    /^00:00:00 {2}contract\.ownership_changed {2} *evt_\w{26} {2}127\.0\.0\.1:\d+\/webhooks +500 {2}failed +\d+ ms {2}next at 00:01:00$/m,
  )
  expect(out).toMatch(/^00:00:00 {2}clock: manual/)
  expect(out).toMatch(/^00:00:00 {2}clock: scaled, 60 × real time$/m)
  expect(errors).toBe(`lost ${url}: reconnecting\n${url} is back\n`)
})

test('emulator tail exits with 75 if no emulator answers', async () => {
  const steered = await startSteered(answerStatus(200), quiet)
  await steered[Symbol.asyncDispose]()
  expect(await steered.run('emulator tail')).toMatchObject({
    code: 75,
    out: '',
    errors: expect.stringMatching(/^emulator_unreachable/),
  })
})
