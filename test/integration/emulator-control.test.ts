import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { send } from '../support/exact-request.ts'
import { apiKey, controlToken, startStage, type Stage } from './emulator-stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

const authorization = `Bearer ${controlToken}`

describe('access to the control API', () => {
  test.each([
    ['no token', undefined],
    ['another token', 'Bearer another-token-of-the-test'],
    ['the token with a suffix', `${authorization}x`],
    ['an API key', `Bearer ${apiKey}`],
    ['another scheme', `Basic ${controlToken}`],
  ])('%s gets 401', async (_name, given) => {
    const headers = given === undefined ? {} : { authorization: given }
    const answer = await send(`${stage.emulator.url}/_emulator/clock`, 'GET', headers)
    expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer'])
    expect(answer.json).toEqual({
      success: false,
      error: { code: 'unauthorized', message: expect.stringContaining('with the control token') },
      meta: { timestamp: expect.any(String), latency_ms: expect.any(Number) },
    })
  })

  test.each([
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost:80@evil.example', 403],
    ['[::2]', 403],
    ['localhost', 200],
    ['LOCALHOST:8090', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:8090', 200],
  ])('the Host header %j with the token gets %i', async (host, status) => {
    expect(await send(`${stage.emulator.url}/_emulator/clock`, 'GET', { authorization, host })).toMatchObject({
      status,
    })
  })

  test('A63 sends no CORS headers, and the control token is no API key', async () => {
    const { headers } = await stage.control('GET', '/clock', undefined, { Origin: 'https://evil.example' })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect((await stage.rest('/networks', { headers: { Authorization: authorization } })).status).toBe(401)
  })

  test('every listed route but /session needs a credential', async () => {
    const listed = (await stage.control('GET', '')).json.data as { method: string; path: string }[]
    expect(listed.length).toBeGreaterThan(50)
    for (const { method, path } of listed) {
      if (path === '/_emulator/session') continue
      const { status, json } = await send(`${stage.emulator.url}${path}`, method)
      expect([method, path, status, json.error.code]).toEqual([method, path, 401, 'unauthorized'])
    }
  })
})

describe('requests', () => {
  test.each<[string, string, unknown, number, RegExp]>([
    ['GET', '/nothing', undefined, 404, /nothing at this path/],
    ['PUT', '/clock', undefined, 405, /GET, POST only/],
    ['POST', '/clock', undefined, 415, /Content-Type/],
    ['GET', '/clock?x=1', undefined, 400, /takes no parameter x/],
    ['POST', '/clock/advance', { ms: -1 }, 400, /ms: expected a whole number from 0 to 31622400000; got -1/],
    ['GET', '/world?digest=2', undefined, 400, /digest: expected 1; got "2"/],
    ['POST', '/world/rug', { network: 'base', token: 'x', percent: 50 }, 400, /token: expected 0x and 40 hex digits/],
    ['POST', '/world/rug', { network: 'base', token: `0x${'1'.repeat(40)}`, percent: 50 }, 409, /./],
    ['POST', '/restore', { name: 'none' }, 404, /expected one of origin/],
    ['POST', '/snapshot', { name: '../x' }, 400, /name: expected 1 to 64 letters/],
    ['POST', '/snapshot', { name: 'origin' }, 409, /reserved for the initial state/],
    ['DELETE', '/snapshot/origin', undefined, 409, /is the initial state and can't be deleted/],
    ['POST', '/keys', { account: 'none', name: 'k', scopes: 'all' }, 404, /there is no account none/],
    ['POST', '/scenarios', { name: 'storm' }, 400, /name: expected one of calm, busy-day, .*; got "storm"/],
    ['POST', '/deliveries/dlv_1/replay', undefined, 404, /there is no delivery dlv_1;/],
    ['POST', '/deliveries/dlv_1/replay/', undefined, 404, /nothing at this path/],
    ['DELETE', '/webhooks/a%2fb', undefined, 404, /there is no webhook a\/b;/],
    ['DELETE', '/webhooks/%zz', undefined, 400, /the path or query is malformed/],
  ])('%s %s with %j gets %4$i', async (method, path, body, status, message) => {
    const answer = await stage.control(method, path, body)
    expect(answer.json).toMatchObject({ success: false, error: { message: expect.stringMatching(message) } })
    expect(answer.status).toBe(status)
  })

  test('R68 a rejected secret is not repeated in the error', async () => {
    const body = { account: 'desk', name: 'k', scopes: 'all', key: 'short-secret' }
    const { status, text, json } = await stage.control('POST', '/keys', body)
    expect([status, json.error.details[0].path]).toEqual([400, 'key'])
    expect(text).toContain('got 12 characters')
    expect(text).not.toContain(body.key)
  })
})

describe('faults', () => {
  beforeEach(async () => {
    await stage.control('DELETE', '/faults')
  })

  test('2.8 rules are added, listed with their count, and deleted; the journal shows their faults', async () => {
    const rule = { direction: 'in', fault: { kind: 'error-503', retryAfterS: 3 }, path: '/v1/networks', times: 1 }
    const added = await stage.control('POST', '/faults', rule)
    expect([added.status, added.json.data]).toEqual([201, { id: 'flt_1', rule, struck: 0 }])
    const { json: second } = await stage.control('POST', '/faults', { direction: 'out', fault: { kind: 'tamper' } })

    expect([(await stage.rest('/networks')).status, (await stage.rest('/networks')).status]).toEqual([503, 200])
    expect((await stage.control('GET', '/faults')).json.data).toEqual([{ id: 'flt_1', rule, struck: 1 }, second.data])
    const { json: journal } = await stage.control('GET', '/journal?path=/v1/networks&status=503')
    expect(journal.data).toMatchObject([{ faults: ['error-503'] }])

    expect((await stage.control('DELETE', '/faults/flt_1')).json.data).toEqual({ id: 'flt_1', deleted: true })
    expect((await stage.control('DELETE', '/faults/flt_1')).json.error.code).toBe('not_found')
    expect((await stage.control('DELETE', '/faults')).json.data).toEqual({ deleted: 1 })
    expect((await stage.control('GET', '/faults')).json.data).toEqual([])
  })

  test('2.8 a scenario replaces all rules and runs its commands', async () => {
    await stage.control('POST', '/clock/advance', { ms: 3_600_000 })
    const { json: list } = await stage.control('GET', '/scenarios')
    const names = ['calm', 'busy-day', 'rug-pull', 'retry-storm', 'hostile-sender', 'outage']
    expect(list.data.map(({ name }: { name: string }) => name)).toEqual(names)
    for (const name of names) {
      const { status, json } = await stage.control('POST', '/scenarios', { name })
      expect(status).toBe(200)
      expect(json.data).toMatchObject({ name, acts: name === 'rug-pull' ? 3 : 1 })
      expect((await stage.control('GET', '/faults')).json.data).toEqual(json.data.rules)
      expect(json.data.rules.length > 0).toBe(name !== 'calm')
    }
  })
})
