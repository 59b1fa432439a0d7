import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { inFault } from '../../src/emulator/faults/kinds.ts'
import {} from '../../src/emulator/faults/rules.ts'
import { apiKey } from './emulator-stage.ts'
import { all, busiest, createHastyClock, failureOf, startClientStage, type ClientStage } from './client-stage.ts'

let stage: ClientStage
let wallet: ReturnType<typeof busiest>
beforeAll(async () => {
  stage = await startClientStage()
  wallet = busiest(stage)
})
afterEach(async () => {
  await stage.heal()
  stage.asked()
})
afterAll(() => stage[Symbol.asyncDispose]())

const alertOf = () => ({ ...wallet, type: 'whale_buy', threshold: 1, webhook_url: 'https://example.com/a' }) as const
const inDoubt = 'the request may have been carried out'

/** Outcome of a GET that meets each fault once, of one that meets it always, and of a POST that meets it once. */
const outcomes = {
  latency: { get: 'answered', always: 'answered', post: 'answered' },
  'extra-members': { get: 'answered', always: 'answered', post: 'answered' },
  'cursor-loop': { get: 'answered', always: 'answered', post: 'answered' },
  'cursor-missing': { get: 'answered', always: 'answered', post: 'answered' },
  'too-many-requests': { get: 'retried', always: 'rate_limited', post: 'retried' },
  'error-500': { get: 'retried', always: 'internal', post: 'internal' },
  'error-503': { get: 'retried', always: 'network_unavailable', post: 'network_unavailable' },
  empty: { get: 'retried', always: 'answer_invalid', post: 'answer_invalid' },
  malformed: { get: 'retried', always: 'answer_invalid', post: 'answer_invalid' },
  'malformed-chunk': { get: 'retried', always: 'network_failed', post: 'network_failed' },
  reset: { get: 'retried', always: 'network_failed', post: 'network_failed' },
} as const

test('2.8 the table has every kind of fault', () => {
  const kinds = inFault.options.map((option) => option.shape.kind.value)
  expect(Object.keys(outcomes).toSorted()).toEqual(kinds.toSorted())
})

test.each(Object.entries(outcomes))('2.8 %s: %j', async (kind, { get, always, post }) => {
  const fault = kind === 'latency' ? { kind, ms: 20 } : { kind }
  await stage.fault(fault, { times: 1 })
  expect((await stage.api.getWallet(wallet)).data.address).toBe(wallet.address)
  expect(stage.asked()).toHaveLength(get === 'retried' ? 2 : 1)

  if (always !== 'answered') {
    await stage.fault(fault)
    const error = await failureOf(stage.api.getWallet(wallet))
    expect(error).toMatchObject({ code: always, isRetryable: true })
    expect(error.message).toContain(`GET /wallets/${wallet.address}`)
    expect(stage.asked()).toHaveLength(4)
  }

  await stage.heal()
  const before = (await all(stage.client().listAlerts({ limit: 100 }))).length
  stage.asked()
  await stage.fault(fault, { times: 1 })
  const call = stage.api.createAlert(alertOf())
  if (post === 'answered' || post === 'retried') expect((await call).status).toBe(201)
  else {
    const error = await failureOf(call)
    expect(error).toMatchObject({ code: post })
    expect(error.message).toContain(inDoubt)
  }
  expect(stage.asked()).toHaveLength(post === 'retried' ? 2 : 1)
  await stage.heal()
  const isDone = !['error-500', 'error-503'].includes(kind)
  expect(await all(stage.api.listAlerts({ limit: 100 }))).toHaveLength(before + (isDone ? 1 : 0))
})

test('delays between retries double minus up to half at random, and last at least as long as Retry-After', async () => {
  await stage.fault({ kind: 'error-500' })
  const pausesWith = async (random: number) => {
    const clock = createHastyClock()
    await failureOf(stage.client({ clock, random: () => random, retries: 6, timeoutMs: 1_000_000 }).getWallet(wallet))
    return clock.pauses
  }
  expect(await pausesWith(0)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000])
  expect(await pausesWith(0.5)).toEqual([375, 750, 1_500, 3_000, 6_000, 7_500])
  await stage.heal()
  await stage.fault({ kind: 'error-503', retryAfterS: 5 }, { times: 1 })
  const clock = createHastyClock()
  await stage.client({ clock }).getWallet(wallet)
  expect(clock.pauses).toEqual([5_000])
})

test.each([
  ['error-503', 3_600],
  ['too-many-requests', 301],
])('R107 does not wait for %s with Retry-After: %i, and returns it in the error', async (kind, retryAfterS) => {
  await stage.fault({ kind, retryAfterS }, { times: 1 })
  expect(await failureOf(stage.client().getWallet(wallet))).toMatchObject({ retryAfterMs: retryAfterS * 1_000 })
  expect(stage.asked()).toHaveLength(1)
})

test('DELETE is retried; a 404 after a lost answer says that the first attempt may have deleted it', async () => {
  const { alert_id } = (await stage.api.createAlert(alertOf())).data
  await stage.fault({ kind: 'reset' }, { times: 1, methods: ['DELETE'] })
  const error = await failureOf(stage.api.deleteAlert({ alert_id }))
  expect(error).toMatchObject({ name: 'ApiError', status: 404 })
  expect(error.message).toContain('an earlier attempt, whose answer was lost, may have deleted it')
})

test('R107 Retry-After delays all calls, POST included, and does not count as their time', async () => {
  const clock = createTestClock()
  const client = stage.client({ clock, timeoutMs: 30_000 })
  await client.getWallet(wallet)
  await stage.fault({ kind: 'too-many-requests', retryAfterS: 120 }, { times: 1 })
  const first = client.createAlert(alertOf())
  await expect.poll(() => clock.nextTimerAt()).toBe(clock.now() + 120_000)
  stage.asked()
  const second = client.getWalletPnl(wallet)
  await clock.advance(119_999)
  expect(stage.asked()).toEqual([])
  await clock.advance(1)
  expect([(await first).status, (await second).status]).toEqual([201, 200])
})

describe('another server', () => {
  async function clientOf(listener: RequestListener, retries = 0) {
    const requests: string[] = []
    const server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url} ${request.headers.authorization !== undefined}`)
      listener(request, response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => server.close().closeAllConnections())
    const { port } = server.address() as AddressInfo
    const baseUrl = `http://127.0.0.1:${port}/base`
    return { api: createClient({ baseUrl, apiKey, retries, clock: createHastyClock() }), requests }
  }
  const json = { 'Content-Type': 'application/json' }

  test('a redirect is not followed: the key would go along', async () => {
    const elsewhere = await clientOf((_, response) => response.end())
    const { api, requests } = await clientOf((_, response) =>
      response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end(),
    )
    expect(await failureOf(api.get('/x'))).toMatchObject({ status: 302, code: 'redirected', isRetryable: false })
    expect([requests, elsewhere.requests]).toEqual([['GET /base/v1/x true'], []])
  })

  const refusal = '{"success":false,"error":{"code":"odd","message":"no"}}'
  test.each([
    ['an HTML page', 200, 'text/html', '<p>hello', { code: 'answer_invalid', isRetryable: false }, 1],
    ['R8 R9 no success', 200, json['Content-Type'], '{"data": {}}', { code: 'answer_invalid' }, 3],
    ['R8 R9 no data', 200, json['Content-Type'], '{"success": true}', { code: 'answer_invalid' }, 3],
    ['R8 R9 a list as data', 200, json['Content-Type'], '{"success": true, "data": []}', { code: 'answer_invalid' }, 3],
    ['R8 R9 null', 200, json['Content-Type'], 'null', { code: 'answer_invalid', body: null }, 3],
    ['R8 success false', 200, json['Content-Type'], refusal, { name: 'ApiError', status: 200, code: 'odd' }, 1],
    ['a 502 of a proxy', 502, 'text/html', '<p>bad gateway', { status: 502, code: 'http_502', body: undefined }, 3],
  ])('%s is an error', async (_, status, type, text, expected, attempts) => {
    const { api, requests } = await clientOf(
      (_request, response) => response.writeHead(status, { 'Content-Type': type }).end(text),
      2,
    )
    expect(await failureOf(api.getWallet(wallet))).toMatchObject(expected)
    expect(requests.length).toBeLessThanOrEqual(attempts)
  })

  test('an endless answer is aborted at 10 MiB', async () => {
    const { api } = await clientOf((_, response) => {
      response.writeHead(200, json)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(262_144, 32))) {
          // Until the buffer is full.
        }
      }
      response.on('drain', more)
      more()
    })
    const expected = { name: 'ApiProtocolError', code: 'answer_too_large', isRetryable: false }
    expect(await failureOf(api.get('/x'))).toMatchObject(expected)
  })

  test('without a connection a POST is retried as well, because nothing was sent', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await once(server.close(), 'close')
    const clock = createHastyClock()
    const api = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey, clock, random: () => 0 })
    const error = await failureOf(api.createAlert(alertOf()))
    expect(error).toMatchObject({ name: 'ApiNetworkError', code: 'network_failed', status: null, isRetryable: true })
    expect(error.message).not.toContain(inDoubt)
    expect(clock.pauses).toEqual([500, 1_000, 2_000])
  })
})
