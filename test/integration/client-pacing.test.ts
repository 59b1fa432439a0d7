import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClient, type ApiError } from '../../src/client/index.ts'
import { createTestClock, type TestClock } from '../../src/base/clock.ts'
import { AppServer } from '../support/app-server.ts'
import { busiestWallet, createRestStage, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 1, plan: 'free' })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** A client with a new key of the smallest plan. Its clock differs from the service's by `skewMs`. */
function startFree({ skewMs = 0 } = {}) {
  const { wall, exchanges } = stage
  const before = exchanges.length
  const clock: TestClock = { ...wall, now: () => wall.now() + skewMs }
  const { address } = busiestWallet(stage)
  let inFlight = 0
  const api = createClient({
    baseUrl: `http://127.0.0.1:${stage.port}`,
    apiKey: stage.newKey(),
    clock,
    retries: 5,
    async fetch(url, init) {
      inFlight++
      const response = await fetch(url, init)
      const text = await response.text()
      inFlight--
      return new Response(text, response)
    },
  })

  /** Advances the clock from timer to timer while no request is in flight, until the calls end. Returns the time it took. */
  async function settle(calls: Promise<unknown>): Promise<number> {
    const startedAt = wall.now()
    let hasEnded = false
    const over = calls.then(() => (hasEnded = true))
    for (;;) {
      do await turns(wall)
      while (inFlight > 0)
      if (hasEnded) break
      await wall.advance(Math.max(0, (wall.nextTimerAt() ?? wall.now()) - wall.now()))
    }
    await over
    return wall.now() - startedAt
  }

  return {
    wall,
    api,
    settle,
    statuses: () => exchanges.slice(before).map(({ status }) => status),
    call: () => api.getWallet({ address, network: 'ethereum' }),
  }
}

/** More turns than between an answer and the next request. */
async function turns(wall: TestClock): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await wall.advance(0)
}

describe('R117, R118, R119 pacing', () => {
  test('25 concurrent calls with a Free key take two minutes, and none is rejected', async () => {
    const { call, settle, statuses } = startFree()
    const takenMs = await settle(Promise.all(Array.from({ length: 25 }, call)))
    expect(statuses()).toEqual(Array<number>(25).fill(200))
    expect(takenMs).toBe(120_000)
  })

  test('a call that is aborted while it waits sends nothing and frees its place', async () => {
    const { api, call, wall, statuses } = startFree()
    for (let count = 0; count < 10; count++) await call()
    const controller = new AbortController()
    const waiting = api.listNetworks({}, { signal: controller.signal })
    const other = api.get('/networks', {}, { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect(other).rejects.toThrow('enough')
    expect(statuses()).toHaveLength(10)
    await wall.advance(60_000)
    expect((await call()).status).toBe(200)
  })

  test.each([3_600_000, -3_600_000])(
    'R107 with a clock that is wrong by %i ms, calls wait for Retry-After, and at most a window',
    async (skewMs) => {
      const { call, settle, statuses } = startFree({ skewMs })
      const takenMs = await settle(Promise.all(Array.from({ length: 12 }, call)))
      expect(takenMs).toBeLessThanOrEqual(62_000)
      expect(statuses().filter((status) => status === 200)).toHaveLength(12)
    },
  )

  test('calls that wait for more than five minutes fail with rate_limited', async () => {
    const { call, settle, statuses } = startFree()
    const calls = Promise.allSettled(Array.from({ length: 70 }, call))
    await settle(calls)
    const late = (await calls).flatMap((result) => (result.status === 'rejected' ? [result.reason as ApiError] : []))
    expect(late.length).toBeGreaterThan(0)
    expect(statuses().length + late.length).toBe(70)
    for (const error of late) expect(error).toMatchObject({ code: 'rate_limited', status: null, isRetryable: true })
    expect(late[0]?.message).toContain('make fewer calls at once')
  })
})

test('calls are not paced without valid rate-limit headers', async () => {
  for (const headers of [{}, { 'X-RateLimit-Limit': 'x', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '-1' }]) {
    const fetch = async () => Response.json({ success: true, data: 1 }, { headers })
    const api = createClient({ baseUrl: 'https://service.test', apiKey: 'k', fetch, clock: createTestClock() })
    await Promise.all(Array.from({ length: 50 }, () => api.get('/x')))
  }
})

test('R107 a script does not end while it waits for the rate limit', async () => {
  await using service = await AppServer.start()
  service.answer = () => {
    const [status, body] = service.requests.length === 1 ? [429, '{}'] : [200, '{"success":true,"data":"at last"}']
    return { status, body, headers: { 'Content-Type': 'application/json', 'Retry-After': '1', Connection: 'close' } }
  }
  const script = `
    import { createClient } from '${new URL('../../src/client/index.ts', import.meta.url).href}'
    const api = createClient({ baseUrl: 'http://127.0.0.1:${service.port}', apiKey: 'k' })
    console.log((await api.get('/x')).data)`
  const args = ['--input-type=module-typescript', '--eval', script]
  expect((await promisify(execFile)(process.execPath, args)).stdout).toBe('at last\n')
})
