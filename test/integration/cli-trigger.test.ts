import { createHmac } from 'node:crypto'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { AppServer } from '../support/app-server.ts'
import { runCli } from '../support/cli.ts'
import { linesOf, secret, startSteered } from './cli-emulator-run.ts'
import { answerStatus, type TestReceiver } from './emulator-receiver.ts'

const lacking: Pick<TestReceiver['requests'][number], 'body' | 'headers'> = { body: Buffer.of(), headers: {} }

test('R92 trigger makes an event arise in a running emulator and says who acknowledged it', async () => {
  await using steered = await startSteered(answerStatus(200))
  const result = await steered.run('trigger wallet.large_trade --json')
  expect(result).toMatchObject({ code: 0, errors: '' })
  const [event, delivery, finished] = linesOf(result)
  expect(event).toEqual({ msg: 'event', eventId: expect.any(String), type: 'wallet.large_trade', isRaw: false })
  expect(delivery).toMatchObject({
    msg: 'delivery',
    eventId: event?.['eventId'],
    state: 'acknowledged',
    url: steered.receiver.url,
  })
  expect(finished).toEqual({
    msg: 'finished',
    events: 1,
    acknowledged: 1,
    notAcknowledged: 0,
    nobody: 0,
    untold: 0,
    following: 0,
  })
  const bodies = steered.receiver.requests.map(({ body }) => JSON.parse(body.toString()) as { id: string })
  expect(bodies.map(({ id }) => id)).toContain(event?.['eventId'])
  const { data } = (await steered.stage.control('GET', '/events?type=wallet.large_trade')).json as {
    data: { event: { id: string } }[]
  }
  expect(data.map(({ event: { id } }) => id)).toEqual([event?.['eventId']])
})

test('an event whose members are set is called raw, is signed as any other, and is not in the log of the world', async () => {
  await using steered = await startSteered(answerStatus(200))
  const before = (await steered.stage.control('GET', '/world?digest=1')).json.data.digest
  const line =
    'trigger wallet.large_trade --set data.amount_usd=250000 --set data.token_symbol=PEPE --set created_at=2026-01-31T12:00:00Z'
  const { code, out } = await steered.run(line)
  expect(code).toBe(0)
  expect(out).toMatch(
    /^wallet\.large_trade +(evt_\w{26}) {2}triggered \(raw\)\nwallet\.large_trade +\1 {2}200 {2}acknowledged {2}http:\S+\n1 acknowledged, 0 not\n$/,
  )
  expect(steered.receiver.requests).toHaveLength(1)
  const { body, headers } = steered.receiver.requests[0] ?? lacking
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  expect(JSON.parse(body.toString())).toMatchObject({
    type: 'wallet.large_trade',
    created_at: '2026-01-31T12:00:00Z',
    data: { amount_usd: 250_000, token_symbol: 'PEPE' },
  })
  expect((await steered.stage.control('GET', '/world?digest=1')).json.data.digest).toBe(before)
  expect((await steered.stage.control('GET', '/events')).json.data).toEqual([])
})

test('R94 a listing is followed when it is told, and where the clock stands still it is said to be untold', async () => {
  await using steered = await startSteered(answerStatus(200))
  const still = await steered.run('trigger token.new_listing --timeout 0.3')
  expect(still.code).toBe(1)
  expect(still.out).toMatch(
    /reported within five seconds of world time {2}triggered\n.*1 not reported yet: the clock must advance/,
  )
  await steered.stage.control('POST', '/clock', { mode: 'scaled', speed: 60 })
  const told = await steered.run('trigger token.new_listing --json')
  expect(told.code).toBe(0)
  expect(linesOf(told).filter(({ msg }) => msg === 'delivery')).toMatchObject([
    { eventType: 'token.new_listing', state: 'acknowledged' },
  ])
})

test('what cannot be triggered or set is refused before anything is asked for: exit code 1', async () => {
  const run = (...args: string[]) => runCli(['trigger', ...args], { cwd: tmpdir() })
  const cases: [string[], RegExp][] = [
    [['wallet.large_trad'], /^usage: can't trigger wallet\.large_trad, did you mean wallet\.large_trade\?/],
    [['token.volume_spike'], /^usage: can't trigger token\.volume_spike: expected one of/],
    [['wallet.large_trade', '--set', 'id=evt_x'], /the id of an event cannot be set/],
    [['wallet.large_trade', '--set', 'data.x'], /Expected path=value, such as/],
    [['wallet.large_trade', '-n', '10001'], /Expected a whole number from 1 to 10000/],
    [['wallet.large_trade', '--secret', '@x'], /--secret needs --url/],
    [['wallet.large_trade', '--url', 'http://127.0.0.1:1/', '--emulator', 'http://127.0.0.1:1'], /cannot be used with/],
    [['wallet.large_trade', '--set', 'data.amount_usd=1e400'], /data\.amount_usd: expected JSON with numbers up to/],
    [['wallet.large_trade', '--set', 'data.x=[{"a":-1e999}]'], /data\.x: expected JSON with numbers up to/],
    [
      ['wallet.large_trade', '--emulator', 'emulator.test:8090', '--token', 'env:NONE'],
      /^usage: --emulator must be a URL that begins with http:\/\/ or https:\/\//,
    ],
    [['wallet.large_trade', '--emulator', 'https://emulator.test'], /the control token is missing/],
  ]
  const results = await Promise.all(cases.map(([args]) => run(...args)))
  for (const [index, [args, message]] of cases.entries()) {
    expect([args, results[index]?.code, results[index]?.out]).toEqual([args, 1, ''])
    expect(results[index]?.errors).toMatch(message)
  }
  for (const type of eventTypes) expect(results[0]?.errors).toContain(type)
})

test('where no emulator answers, or something else does, the exit code is 75', async () => {
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
