import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { AppServer } from '../support/app-server.ts'
import { runCli } from '../support/cli.ts'
import { linesOf, secret, startSteered } from './cli-emulator-run.ts'
import { answerStatus } from './emulator-receiver.ts'

test('R92 trigger makes a running emulator send an event, and prints who acknowledged it', async () => {
  await using steered = await startSteered(answerStatus(200))
  const result = await steered.run('trigger wallet.large_trade --json')
  expect(result).toMatchObject({ code: 0, errors: '' })
  const [event, delivery, finished] = linesOf(result)
  const eventId = event?.['eventId']
  expect(event).toEqual({ msg: 'event', eventId: expect.any(String), type: 'wallet.large_trade', isRaw: false })
  expect(delivery).toMatchObject({ msg: 'delivery', eventId, state: 'acknowledged', url: steered.receiver.url })
  const none = { notAcknowledged: 0, notSent: 0, notReported: 0, following: 0 }
  expect(finished).toEqual({ msg: 'finished', events: 1, acknowledged: 1, ...none })
  const path = '/events?type=wallet.large_trade'
  expect((await steered.stage.control('GET', path)).json.data).toMatchObject([{ event: { id: eventId } }])
})

test('R94 trigger follows a listing once the service reports it, which needs the clock to advance', async () => {
  await using steered = await startSteered(answerStatus(200))
  const still = await steered.run('trigger token.new_listing --timeout 0.3')
  expect(still.code).toBe(1)
  expect(still.out).toMatch(
    /reported within five seconds of world time {2}triggered\n.*1 not reported yet: the clock must advance/,
  )
  await steered.stage.control('POST', '/clock', { mode: 'scaled', speed: 60 })
  const reported = await steered.run('trigger token.new_listing --json')
  expect(reported.code).toBe(0)
  const delivery = { eventType: 'token.new_listing', state: 'acknowledged' }
  expect(linesOf(reported).filter(({ msg }) => msg === 'delivery')).toMatchObject([delivery])
})

test.each<[string, RegExp]>([
  [
    'wallet.large_trad',
    /^usage: can't trigger wallet\.large_trad \(did you mean wallet\.large_trade\?\).*pump\.graduation/,
  ],
  ['token.volume_spike', /^usage: can't trigger token\.volume_spike; expected one of/],
  ['wallet.large_trade --set id=evt_x', /the id of an event cannot be set/],
  ['wallet.large_trade --set data.x', /Expected path=value, such as/],
  ['wallet.large_trade -n 10001', /Expected a whole number from 1 to 10000/],
  ['wallet.large_trade --secret @x', /--secret needs --url/],
  ['wallet.large_trade --url http://127.0.0.1:1/ --emulator http://127.0.0.1:1', /cannot be used with/],
  ['wallet.large_trade --emulator emulator.test:8090 --token env:NONE', /^usage: --emulator must be a URL/],
  ['wallet.large_trade --emulator https://emulator.test', /the control token is missing/],
  ['wallet.large_trade --url http://127.0.0.1:1/ --rate 2', /cannot be used with/],
  ['wallet.large_trade --url http://127.0.0.1:1/', /--url and --secret go together/],
  // A25.
  ['wallet.large_trade --url http://inbox.test/ --secret env:X', /must be https, or http on this machine/],
  ['wallet.large_trade --url inbox.test --secret env:X', /must be https, or http on this machine/],
  [`wallet.large_trade --url https://inbox.test/ --secret ${secret}`, /can read a secret on the command line/],
])('trigger %s is a usage error', async (line, message) => {
  const { code, out, errors } = await runCli(['trigger', ...line.split(' ')], { cwd: tmpdir() })
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toMatch(message)
  expect(errors).not.toContain(secret)
})

test('trigger exits with 75 if no emulator answers', async () => {
  const other = await AppServer.start()
  other.answer = () => ({ status: 200, body: '<html>' })
  const { port } = other
  const run = () =>
    runCli(['trigger', 'wallet.large_trade', '--emulator', `http://127.0.0.1:${port}`], { cwd: tmpdir() })
  expect(await run()).toMatchObject({
    code: 75,
    errors: expect.stringMatching(/^emulator_unreachable: \S+ is not an emulator \(status 200\)/),
  })
  await other[Symbol.asyncDispose]()
  expect(await run()).toMatchObject({
    code: 75,
    errors: expect.stringMatching(/^emulator_unreachable: no answer .*ECONNREFUSED.*start `onchain-inbox emulator`/),
  })
})
