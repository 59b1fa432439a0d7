import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { passingCertificate } from '../../src/emulator/tls.ts'
import { runCli, startCli } from '../support/cli.ts'
import { linesOf, secret, startSteered } from './cli-emulator-run.ts'
import { answerStatus, type TestReceiver } from './emulator-receiver.ts'
import { controlToken, startStage } from './emulator-stage.ts'

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
    /^wallet\.large_trade +(evt_\w{26}) {2}triggered, raw: the world does not know of it\nwallet\.large_trade +\1 {2}200 {2}acknowledged {2}http:\S+\n1 acknowledged, 0 not\n$/,
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

test('R80 an event that is refused ends trigger with exit code 1, which says when the next attempt is due', async () => {
  await using steered = await startSteered(answerStatus(500))
  const { code, out } = await steered.run('trigger contract.ownership_changed --timeout 2')
  expect(code).toBe(1)
  expect(out).toMatch(/ {2}500 {2}pending {7}http:\S+ {2}next at 00:01:00\n0 acknowledged, 1 not\n$/)
})

test('with --timeout 0 deliveries are not followed; without a webhook trigger says that nobody got the event', async () => {
  await using steered = await startSteered(answerStatus(500), { endpoints: [] })
  expect(await steered.run('trigger contract.ownership_changed --timeout 0')).toMatchObject({ code: 0, errors: '' })
  const { code, out } = await steered.run('trigger contract.ownership_changed')
  expect(code).toBe(1)
  expect(out).toMatch(/0 acknowledged, 0 not, 1 sent to nobody: no webhook of the emulator takes contract\.owner/)
})

test('R94 a listing is followed when it is told, and where the clock stands still it is said to be untold', async () => {
  await using steered = await startSteered(answerStatus(200))
  const still = await steered.run('trigger token.new_listing --timeout 0.3')
  expect(still.code).toBe(1)
  expect(still.out).toMatch(
    /reported within five seconds of world time {2}triggered\n.*1 not reported yet: its clock must move/,
  )
  await steered.stage.control('POST', '/clock', { mode: 'scaled', speed: 60 })
  const told = await steered.run('trigger token.new_listing --json')
  expect(told.code).toBe(0)
  expect(linesOf(told).filter(({ msg }) => msg === 'delivery')).toMatchObject([
    { eventType: 'token.new_listing', state: 'acknowledged' },
  ])
})

test('-n triggers so many, more than one answer lists, each acknowledged', async () => {
  await using steered = await startSteered(answerStatus(200))
  const lines = linesOf(await steered.run('trigger contract.ownership_changed -n 250 --json'))
  const ids = lines.filter(({ msg }) => msg === 'event').map(({ eventId }) => eventId)
  expect(new Set(ids).size).toBe(250)
  expect(lines.at(-1)).toMatchObject({ msg: 'finished', events: 250, acknowledged: 250 })
})

test('with --rate the first event is followed; the emulator makes the others as its clock moves on', async () => {
  await using steered = await startSteered(answerStatus(200))
  const { code, out } = await steered.run('trigger contract.ownership_changed -n 3 --rate 1')
  expect(code).toBe(0)
  expect(out).toMatch(/\n1 acknowledged, 0 not, 2 follow as its clock moves on/)
  await steered.stage.emulator.advance(60_000)
  const { data } = (await steered.stage.control('GET', '/events?type=contract.ownership_changed')).json as {
    data: { event: { created_at: string } }[]
  }
  const times = data.map(({ event }) => event.created_at.slice(17)).toSorted()
  expect(times.slice(0, 3)).toEqual(['00.000Z', '01.000Z', '02.000Z'])
})

test('a member that the type does not have is set, with a warning that names the nearest', async () => {
  await using steered = await startSteered(answerStatus(200))
  const line = 'trigger wallet.large_trade --set data.amuont_usd=5 --set amount_usd=6 --set data.amount_usd=7'
  expect(await steered.run(line)).toMatchObject({
    code: 0,
    errors:
      'warning: data.amuont_usd is no member of wallet.large_trade: added; did you mean data.amount_usd?\n' +
      'warning: amount_usd is no member of wallet.large_trade: added; did you mean data.amount_usd?\n',
  })
  expect(JSON.parse(String(steered.receiver.requests[0]?.body))).toMatchObject({
    amount_usd: 6,
    data: { amuont_usd: 5, amount_usd: 7 },
  })
})

test('of the URL of an emulator only the origin counts', async () => {
  await using steered = await startSteered(answerStatus(200))
  const { stage } = steered
  for (const end of ['/', '/v1', '/v1/?x=1']) {
    const args = ['emulator', 'advance', '1s', '--emulator', `${stage.emulator.url}${end}`]
    const env = { EMULATOR_CONTROL_TOKEN: controlToken }
    expect(await runCli(args, { cwd: tmpdir(), env })).toMatchObject({ code: 0, errors: '' })
  }
})

test('where a certificate is not trusted the error says how to trust it', async () => {
  using pair = await passingCertificate(Date.now())
  const server = createHttpsServer(pair, (_, response) => response.end('<html>'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const args = ['trigger', 'wallet.large_trade', '--emulator', `https://127.0.0.1:${port}`]
  const untrusted = await runCli(args, { cwd: tmpdir() })
  using trusting = startCli(args, { cwd: tmpdir(), env: { NODE_EXTRA_CA_CERTS: pair.certFile } })
  const trusted = await trusting.ended
  await new Promise((resolve) => server.close(resolve))
  expect(untrusted).toMatchObject({
    code: 75,
    errors: expect.stringMatching(/certificate is not trusted: set NODE_EXTRA_CA_CERTS to the file that the emulator/),
  })
  expect(trusted.errors).toMatch(/is no emulator \(status 200\)/)
})

test('what cannot be triggered or set is refused before anything is asked for: exit code 1', async () => {
  const run = (...args: string[]) => runCli(['trigger', ...args], { cwd: tmpdir() })
  const cases: [string[], RegExp][] = [
    [['wallet.large_trad'], /^usage: no event of the type wallet\.large_trad .*did you mean wallet\.large_trade\?/],
    [['token.volume_spike'], /^usage: no event of the type token\.volume_spike can be triggered/],
    [['wallet.large_trade', '--set', 'id=evt_x'], /the id of an event cannot be set/],
    [['wallet.large_trade', '--set', 'data.x'], /Expected a path and a value such as/],
    [['wallet.large_trade', '-n', '10001'], /Expected a whole number from 1 to 10000/],
    [['wallet.large_trade', '--secret', '@x'], /--secret goes with --url/],
    [['wallet.large_trade', '--url', 'http://127.0.0.1:1/', '--emulator', 'http://127.0.0.1:1'], /cannot be used with/],
    [['wallet.large_trade', '--set', 'data.amount_usd=1e400'], /data\.amount_usd: expected numbers that JSON can hold/],
    [['wallet.large_trade', '--set', 'data.x=[{"a":-1e999}]'], /data\.x: expected numbers that JSON can hold/],
    [
      ['wallet.large_trade', '--emulator', 'emulator.test:8090', '--token', 'env:NONE'],
      /^usage: --emulator: expected a URL that begins with http:\/\/ or https:\/\//,
    ],
    [['wallet.large_trade', '--emulator', 'https://emulator.test'], /expected the control token of the emulator/],
  ]
  const results = await Promise.all(cases.map(([args]) => run(...args)))
  for (const [index, [args, message]] of cases.entries()) {
    expect([args, results[index]?.code, results[index]?.out]).toEqual([args, 1, ''])
    expect(results[index]?.errors).toMatch(message)
  }
  for (const type of eventTypes) expect(results[0]?.errors).toContain(type)
})

test('a token that the emulator does not take ends with exit code 1, and shows no token', async () => {
  await using steered = await startSteered(answerStatus(200))
  const { code, errors } = await steered.run('trigger wallet.large_trade --token env:OTHER', {
    OTHER: 'another-token-0001',
  })
  expect(code).toBe(1)
  expect(errors).toMatch(
    /^unauthorized: the emulator at \S+ does not take this control token: set EMULATOR_CONTROL_TOKEN/,
  )
  expect(errors).not.toContain('another-token-0001')
})

test('where no emulator answers, or something else does, the exit code is 75', async () => {
  const other = createServer((_, response) => response.end('<html>'))
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  const run = () =>
    runCli(['trigger', 'wallet.large_trade', '--emulator', `http://127.0.0.1:${port}`], { cwd: tmpdir() })
  expect(await run()).toMatchObject({
    code: 75,
    errors: expect.stringMatching(/^emulator_unreachable: what answers at \S+ is no emulator \(status 200\)/),
  })
  await new Promise((resolve) => other.close(resolve))
  expect(await run()).toMatchObject({
    code: 75,
    errors: expect.stringMatching(/^emulator_unreachable: no answer .*ECONNREFUSED.*start `onchain-inbox emulator`/),
  })
})

test('the control route takes a type, members to be set, a count and a rate, and says what it did', async () => {
  await using stage = await startStage()
  const trigger = async (body: object) => (await stage.control('POST', '/trigger', body)).json
  expect(await trigger({ type: 'wallet.large_trade', count: 150 })).toMatchObject({
    data: { type: 'wallet.large_trade', count: 150, isRaw: false, events: { length: 100 } },
  })
  const paced = await trigger({ type: 'contract.ownership_changed', count: 3, rate: 1, set: { 'data.symbol': 'x' } })
  expect(paced.data).toMatchObject({ count: 3, isRaw: true, events: [{ eventId: expect.stringMatching(/^evt_/) }] })
  const refused: [object, RegExp][] = [
    [{ type: 'token.volume_spike' }, /type: expected one of token\.price_alert/],
    [{ type: 'wallet.large_trade', count: 0 }, /count: expected a whole number from 1 to 10000; got 0/],
    [{ type: 'wallet.large_trade', rate: 0 }, /rate: expected a number from 0\.001 to 100000; got 0/],
    [{ type: 'wallet.large_trade', set: [] }, /set: expected an object of values/],
    [{ type: 'wallet.large_trade', set: { id: 'x' } }, /the id of an event cannot be set/],
    [{ type: 'wallet.large_trade', set: { 'data.constructor': 1 } }, /no member of an event is called constructor/],
    [{ type: 'wallet.large_trade', set: { 'data.network.x': 1 } }, /data\.network\.x: network is no object/],
    [
      { type: 'wallet.large_trade', set: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`data.m${n}`, n])) },
      /expected at most 100 members to be set/,
    ],
  ]
  for (const [body, message] of refused) {
    const answer = await stage.control('POST', '/trigger', body)
    expect([body, answer.status, answer.json.error.message]).toEqual([body, 400, expect.stringMatching(message)])
  }
})
