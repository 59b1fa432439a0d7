import { once } from 'node:events'
import { createServer, request as startRequest, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer, request as startSecureRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import type { Faults } from '../../src/emulator/faults/port.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/kinds.ts'
import { createRestApp, type RestAppOptions } from '../../src/emulator/rest/server.ts'
import { defaultRestSettings } from '../../src/emulator/rest/input.ts'
import { silentLogger } from '../../src/base/log.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { busiestWallet, createRestStage, type RestStage, type StageOptions } from './emulator-rest-stage.ts'

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  /** Whether it came to its end. */
  readonly isWhole: boolean
}

interface FaultyStage {
  readonly rest: RestStage
  readonly faults: Faults
  readonly exchanges: Parameters<NonNullable<RestAppOptions['onExchange']>>[0][]
  readonly ask: (path: string, options?: { key?: string; method?: string; body?: string }) => Promise<Answer>
}

/** The REST service with faults, on a socket of its own, over world and accounts of the stage. */
async function startFaulty(options: StageOptions & { tls?: boolean } = {}): Promise<FaultyStage> {
  const { tls = false, ...stageOptions } = options
  const rest = await createRestStage(stageOptions)
  const faults = createFaults({ seed: 'rest' })
  const exchanges: FaultyStage['exchanges'] = []
  const app = createRestApp({
    world: rest.world,
    accounts: rest.accounts,
    cursorSecret: 'cursors',
    settings: defaultRestSettings,
    clock: rest.clock,
    wall: rest.wall,
    log: silentLogger,
    onExchange: (exchange) => exchanges.push(exchange),
    faults,
  })
  const server = tls ? createSecureServer(tlsPair, app) : createServer(app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.close()
    server.closeAllConnections()
    await rest[Symbol.asyncDispose]()
  })
  const { port } = server.address() as AddressInfo
  const defaultKey = rest.newKey()

  return {
    rest,
    faults,
    exchanges,
    ask: (path, { key = defaultKey, method = 'GET', body } = {}) =>
      new Promise((resolve, reject) => {
        const headers = {
          Authorization: `Bearer ${key}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        }
        const parts = { host: '127.0.0.1', port, path, method, headers, agent: false as const }
        const request = tls ? startSecureRequest({ ...parts, ca: tlsPair.cert }) : startRequest(parts)
        request.on('error', reject)
        request.on('response', (response) => {
          let text = ''
          response.on('data', (chunk: Buffer) => (text += chunk.toString()))
          response.on('error', () => {})
          response.on('close', () =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text, isWhole: response.complete }),
          )
        })
        request.end(body)
      }),
  }
}

const rule = (fault: FaultRuleInput['fault'], more: object = {}) =>
  faultRuleSchema.parse({ direction: 'in', fault, ...more } as FaultRuleInput)

const alertOf = (stage: RestStage) => {
  const { address, network } = busiestWallet(stage)
  return JSON.stringify({ type: 'whale_buy', address, network, threshold: 1, webhook_url: 'https://example.com/a' })
}

test.each([
  [{ kind: 'too-many-requests', retryAfterS: 7 }, 429, 'rate_limited', '7'],
  [{ kind: 'error-500' }, 500, 'internal', undefined],
  [{ kind: 'error-503', retryAfterS: 9 }, 503, 'network_unavailable', '9'],
] as const)(
  'R106, R107, R117 %j is an answer in the envelope, with the quota, and nothing is done',
  async (fault, status, code, after) => {
    const { rest, faults, ask, exchanges } = await startFaulty({ hours: 1, plan: 'pro' })
    faults.add(rule(fault))
    const answer = await ask('/v1/alerts', { method: 'POST', body: alertOf(rest) })
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'x-ratelimit-limit': '300',
      'x-ratelimit-remaining': '299',
      'x-ratelimit-reset': expect.stringMatching(/^\d+$/),
      'x-request-id': expect.stringMatching(/^req_/),
    })
    expect(answer.headers['retry-after']).toBe(after)
    const { success, error, meta, ...more } = JSON.parse(answer.text)
    expect([success, error.code, more]).toEqual([false, code, {}])
    expect(meta).toEqual({ timestamp: expect.any(String), latency_ms: expect.any(Number) })
    expect(rest.accounts.alerts(rest.accountId)).toEqual([])
    expect(exchanges).toMatchObject([{ status, faults: [fault.kind], path: '/v1/alerts' }])
  },
)

test('2.8 empty: it is done, and answered with 200 and no body', async () => {
  const { rest, faults, ask, exchanges } = await startFaulty({ hours: 1 })
  faults.add(rule({ kind: 'empty' }))
  const answer = await ask('/v1/alerts', { method: 'POST', body: alertOf(rest) })
  expect(answer).toMatchObject({ status: 200, text: '', isWhole: true })
  expect(answer.headers).toMatchObject({ 'content-length': '0', 'x-ratelimit-limit': expect.any(String) })
  expect(rest.accounts.alerts(rest.accountId)).toHaveLength(1)
  expect(exchanges).toMatchObject([{ status: 200, responseBody: '', faults: ['empty'] }])
})

test('2.8 malformed: JSON that breaks off, framed as it should be', async () => {
  const { faults, ask, exchanges } = await startFaulty()
  faults.add(rule({ kind: 'malformed' }))
  const answer = await ask('/v1/networks')
  expect(answer).toMatchObject({ status: 200, isWhole: true })
  expect(answer.text).toMatch(/^\{"success":true,"data":\[/)
  expect(() => JSON.parse(answer.text) as unknown).toThrow(SyntaxError)
  expect(answer.headers['x-ratelimit-remaining']).toBeDefined()
  // The journal has what was meant.
  expect(exchanges[0]?.responseBody.startsWith(answer.text)).toBe(true)
  expect(exchanges[0]?.responseBody.length).toBeGreaterThan(answer.text.length)
})

test('2.8 malformed-chunk: the framing breaks off', async () => {
  const { faults, ask } = await startFaulty()
  faults.add(rule({ kind: 'malformed-chunk' }))
  const failed = await ask('/v1/networks').catch((error: unknown) => error)
  if (failed instanceof Error) expect(failed.message).toMatch(/Parse Error|Invalid character in chunk size/)
  else expect(failed).toMatchObject({ status: 200, isWhole: false })
})

test.each([false, true])('2.8 reset: it is done, and no answer comes (TLS: %s)', async (tls) => {
  const { rest, faults, ask, exchanges } = await startFaulty({ hours: 1, tls })
  faults.add(rule({ kind: 'reset' }))
  await expect(ask('/v1/alerts', { method: 'POST', body: alertOf(rest) })).rejects.toThrow(/ECONNRESET|hang up/)
  expect(rest.accounts.alerts(rest.accountId)).toHaveLength(1)
  expect(exchanges).toMatchObject([{ status: 201, faults: ['reset'] }])
})

test('2.8 latency is of the wall clock, and shown as latency_ms (R12)', async () => {
  const { rest, faults, ask } = await startFaulty()
  faults.add(rule({ kind: 'latency', ms: 1_500 }))
  let isDone = false
  const asked = ask('/v1/networks')
  void asked.then(() => (isDone = true))
  const startedAt = rest.wall.now()
  while (rest.wall.nextTimerAt() === null) await new Promise((resolve) => setImmediate(resolve))
  expect(rest.wall.nextTimerAt()).toBe(startedAt + 1_500)
  await rest.wall.advance(1_499)
  expect(isDone).toBe(false)
  await rest.wall.advance(1)
  expect(JSON.parse((await asked).text)).toMatchObject({ success: true, meta: { latency_ms: 1_500 } })
})

test('R120 cursor-loop: from the second page on, next_cursor leads to the same page again', async () => {
  const { rest, faults, ask } = await startFaulty({ hours: 6 })
  const { path, query } = busiestWallet(rest)
  const page = async (cursor = '') => JSON.parse((await ask(`${path}/trades?${query}&limit=1${cursor}`)).text)
  faults.add(rule({ kind: 'cursor-loop' }))
  const first = await page()
  const second = await page(`&cursor=${first.meta.next_cursor}`)
  expect(second.data).not.toEqual(first.data)
  expect(second.meta.next_cursor).toBe(first.meta.next_cursor)
})

test('R120 cursor-missing: no next_cursor, though more items exist', async () => {
  const { rest, faults, ask, exchanges } = await startFaulty({ hours: 6 })
  const { path, query } = busiestWallet(rest)
  faults.add(rule({ kind: 'cursor-missing' }, { path: '/v1/wallets*' }))
  const { data, meta } = JSON.parse((await ask(`${path}/trades?${query}&limit=1`)).text)
  expect(data).toHaveLength(1)
  expect(meta.total).toBeGreaterThan(1)
  expect(meta).not.toHaveProperty('next_cursor')
  expect(exchanges[0]?.faults).toEqual(['cursor-missing'])
})

test('R125 extra-members: in meta, and in data or each of its items', async () => {
  const { rest, faults, ask } = await startFaulty({ hours: 1 })
  const { path, query } = busiestWallet(rest)
  faults.add(rule({ kind: 'extra-members' }))
  for (const target of ['/v1/networks', `${path}?${query}`]) {
    const { data, meta } = JSON.parse((await ask(target)).text)
    for (const part of [meta, ...[data].flat()]) expect(part.added_later).toMatchObject({ version: 2 })
  }
})

test('R66, R110 faults befall who has a valid key and is within the limit, under /v1', async () => {
  const { rest, faults, ask, exchanges } = await startFaulty({ plan: 'free' })
  faults.add(rule({ kind: 'error-500' }))
  const statusOf = async (path: string, key?: string) => (await ask(path, key === undefined ? {} : { key })).status
  expect(await statusOf('/v1/networks', 'sk_unknown')).toBe(401)
  expect(await statusOf('/elsewhere')).toBe(404)
  expect(await statusOf('/v1/nothing')).toBe(500)
  const key = rest.newKey()
  for (let asked = 0; asked < 10; asked++) expect(await statusOf('/v1/networks', key)).toBe(500)
  const refused = await ask('/v1/networks', { key })
  expect(refused.status).toBe(429)
  expect(JSON.parse(refused.text).error.message).toContain('within a minute')
  expect(exchanges.map((one) => one.faults?.join() ?? null).filter((names) => names === null)).toHaveLength(3)
  expect(faults.rules()[0]?.struck).toBe(11)
})
