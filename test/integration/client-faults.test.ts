import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createClient, type ApiClient } from '../../src/client/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { inFault } from '../../src/emulator/faults/kinds.ts'
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

/** What becomes of a GET that suffers each fault twice, and of one and of a POST that suffer it always. */
const verdicts = {
  latency: { get: 'answered', always: 'answered', post: 'answered' },
  'extra-members': { get: 'answered', always: 'answered', post: 'answered' },
  'cursor-loop': { get: 'answered', always: 'answered', post: 'answered' },
  'cursor-missing': { get: 'answered', always: 'answered', post: 'answered' },
  'too-many-requests': { get: 'repeated', always: 'rate_limited', post: 'repeated' },
  'error-500': { get: 'repeated', always: 'internal', post: 'internal' },
  'error-503': { get: 'repeated', always: 'network_unavailable', post: 'network_unavailable' },
  empty: { get: 'repeated', always: 'answer_invalid', post: 'answer_invalid' },
  malformed: { get: 'repeated', always: 'answer_invalid', post: 'answer_invalid' },
  'malformed-chunk': { get: 'repeated', always: 'network_failed', post: 'network_failed' },
  reset: { get: 'repeated', always: 'network_failed', post: 'network_failed' },
} as const

test('2.8 each kind of fault has its verdict here', () => {
  const kinds = inFault.options.map((option) => option.shape.kind.value)
  expect(Object.keys(verdicts).toSorted()).toEqual(kinds.toSorted())
})

describe.each(Object.entries(verdicts))('2.8 %s', (kind, { get, always, post }) => {
  // What takes long is in client.test.ts.
  const fault = kind === 'latency' ? { kind, ms: 20 } : { kind }

  test(`befalls a GET twice: ${get}`, async () => {
    await stage.fault(fault, { times: 2 })
    const answer = await stage.api.getWallet(wallet)
    expect(answer.data.address).toBe(wallet.address)
    expect(stage.asked()).toHaveLength(get === 'repeated' ? 3 : 1)
  })

  test(`befalls a GET always: ${always}`, async () => {
    await stage.fault(fault)
    const call = stage.api.getWallet(wallet)
    if (always === 'answered') expect((await call).data.address).toBe(wallet.address)
    else {
      const error = await failureOf(call)
      expect(error).toMatchObject({ code: always, isRetryable: true })
      expect(error.message).toContain(`GET /wallets/${wallet.address}`)
    }
    expect(stage.asked()).toHaveLength(always === 'answered' ? 1 : 4)
  })

  test(`befalls a POST once: ${post}, and nothing is made twice`, async () => {
    await stage.fault(fault, { times: 1 })
    const before = (await all(stage.client().listAlerts({ limit: 100 }))).length
    await stage.heal()
    stage.asked()
    await stage.fault(fault, { times: 1 })
    const call = stage.api.createAlert(alertOf())
    if (post === 'answered' || post === 'repeated') expect((await call).status).toBe(201)
    else {
      const error = await failureOf(call)
      expect(error).toMatchObject({ code: post })
      expect(error.message).toContain('whether it was done is not known')
    }
    expect(stage.asked()).toHaveLength(post === 'repeated' ? 2 : 1)
    await stage.heal()
    const isDone = !['error-500', 'error-503'].includes(kind)
    const alerts = await all(stage.api.listAlerts({ limit: 100 }))
    expect(alerts).toHaveLength(before + (isDone ? 1 : 0))
    for (const { alert_id } of alerts) await stage.api.deleteAlert({ alert_id })
  })
})

test('the pauses between repeats double and are left to chance by half; Retry-After makes them longer', async () => {
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

test('a repeat for which there is no time is not waited for; what was said is', async () => {
  await stage.fault({ kind: 'error-503', retryAfterS: 3_600 })
  const error = await failureOf(stage.api.getWallet(wallet))
  expect(error).toMatchObject({ status: 503, retryAfterMs: 3_600_000, isRetryable: true })
  expect(stage.asked()).toHaveLength(1)
})

test('DELETE is repeated; if the first was done and its answer lost, the refusal of the second says so', async () => {
  const { alert_id } = (await stage.api.createAlert(alertOf())).data
  await stage.fault({ kind: 'reset' }, { times: 1, methods: ['DELETE'] })
  const error = await failureOf(stage.api.deleteAlert({ alert_id }))
  expect(error).toMatchObject({ name: 'ApiError', status: 404 })
  expect(error.message).toContain('an earlier attempt, whose answer was lost, may have deleted it')
})

describe('R107 what the service asks to wait', () => {
  test('holds up all calls, POST included, and takes nothing of their time', async () => {
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
    await stage.api.deleteAlert({ alert_id: (await first).data.alert_id })
  })

  test('is said as it was, where it is longer than five minutes', async () => {
    await stage.fault({ kind: 'too-many-requests', retryAfterS: 301 }, { times: 1 })
    expect(await failureOf(stage.api.getWallet(wallet))).toMatchObject({ status: 429, retryAfterMs: 301_000 })
    expect(stage.asked()).toHaveLength(1)
  })
})

describe('what answers is not the service', () => {
  async function clientOf(listener: RequestListener, retries = 0): Promise<{ api: ApiClient; requests: string[] }> {
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

  test('a page for people is no answer, and is not asked for again', async () => {
    const { api, requests } = await clientOf(
      (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>hello'),
      3,
    )
    const error = await failureOf(api.getWallet(wallet))
    expect(error).toMatchObject({ name: 'ApiProtocolError', code: 'answer_invalid', isRetryable: false })
    expect(error.message).toContain('is the base URL that of the service?')
    expect(requests).toHaveLength(1)
  })

  test.each(['{"data": {}}', '{"success": true}', '{"success": true, "data": []}', '[]', '7', 'null'])(
    'R8, R9 %s is not in the envelope',
    async (text) => {
      const { api } = await clientOf((_, response) => response.writeHead(200, json).end(text))
      const body: unknown = JSON.parse(text)
      const failure = { name: 'ApiProtocolError', code: 'answer_invalid', body }
      expect(await failureOf(api.getWallet(wallet))).toMatchObject(failure)
    },
  )

  test('a refusal of a proxy is an ApiError by its status', async () => {
    const { api, requests } = await clientOf((_, response) => response.writeHead(502).end('<p>bad gateway'), 2)
    expect(await failureOf(api.get('/x'))).toMatchObject({ status: 502, code: 'http_502', body: undefined })
    expect(requests).toHaveLength(3)
  })

  test('R8 success false is a refusal, whatever the status', async () => {
    const { api } = await clientOf((_, response) =>
      response.writeHead(200, json).end('{"success":false,"error":{"code":"odd","message":"no"}}'),
    )
    expect(await failureOf(api.get('/x'))).toMatchObject({ name: 'ApiError', status: 200, code: 'odd' })
  })

  test('an answer that never ends is cut off at 10 MiB', async () => {
    const { api } = await clientOf((_, response) => {
      response.writeHead(200, json)
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(262_144, 32))) {
          // Until nobody takes more for now.
        }
      }
      response.on('drain', more)
      more()
    })
    const error = await failureOf(api.get('/x'))
    expect(error).toMatchObject({ name: 'ApiProtocolError', code: 'answer_too_large', isRetryable: false })
  })

  test('nobody answers: a POST is repeated as well, because nothing was sent', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    await once(server.close(), 'close')
    const clock = createHastyClock()
    const api = createClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey, clock, random: () => 0 })
    const error = await failureOf(api.createAlert(alertOf()))
    expect(error).toMatchObject({ name: 'ApiNetworkError', code: 'network_failed', status: null, isRetryable: true })
    expect(error.message).not.toContain('whether it was done')
    expect(clock.pauses).toEqual([500, 1_000, 2_000])
  })
})
