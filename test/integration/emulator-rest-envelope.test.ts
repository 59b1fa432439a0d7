import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations } from '../../schema/rest/operations.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 2 })
})
afterAll(() => stage[Symbol.asyncDispose]())

/** A path that reaches the operation, though what it names may not be there. */
function targetOf({ path, query }: (typeof operations)[number]): string {
  const filled = path.replace('{address}', unseen.evm).replaceAll(/\{\w+\}/g, 'none')
  const parameters = 'q' in query.shape ? 'q=a' : 'network' in query.shape ? 'network=ethereum' : ''
  return `/v1${filled}?${parameters}`
}

test('R2 R124 every operation and every group of the spec is routed under /v1, and nowhere else', async () => {
  for (const operation of operations) {
    const method = operation.method.toUpperCase()
    const body = operation.body === null ? {} : { body: {} }
    const { status, body: answer } = await stage.request(targetOf(operation), { method, ...body })
    expect(answer.error?.message ?? '', operation.id).not.toContain('there is nothing at this path')
    expect([200, 400, 404], operation.id).toContain(status)
    for (const wrong of [targetOf(operation).slice(3), `/v2${targetOf(operation).slice(3)}`]) {
      const refused = await stage.request(wrong, { method, ...body })
      expect(refused.status).toBe(404)
      expect(refused.body.error.message).toContain('every path begins with /v1/')
    }
  }
})

test('R11 A4 meta.timestamp is the time of the world, in UTC with milliseconds', async () => {
  const before = await stage.get('/v1/networks')
  expect(before.meta.timestamp).toBe(new Date(stage.clock.now()).toISOString())
  await stage.clock.advance(1_234)
  const failed = await stage.request('/v1/nothing')
  expect(Date.parse(failed.body.meta.timestamp) - Date.parse(before.meta.timestamp)).toBe(1_234)
})

test('R7 wallet endpoints change nothing, and under a stopped clock tell the same again', async () => {
  const { path } = busiestWallet(stage)
  await stage.get('/v1/networks')
  const digest = stage.world.digest()
  for (const part of ['', '/portfolio', '/pnl', '/trades']) {
    const first = await stage.get(`${path}${part}?network=ethereum`)
    const again = await stage.get(`${path}${part}?network=ethereum`)
    expect(again.data).toEqual(first.data)
  }
  expect(stage.world.digest()).toBe(digest)
})

test('A63 no answer has a header for other origins', async () => {
  for (const method of ['GET', 'OPTIONS']) {
    const { headers } = await stage.request('/v1/networks', { method, headers: { Origin: 'https://example.com' } })
    expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  }
})

test('R126 A62 the end of v1 can be announced on every answer, while it goes on as before', async () => {
  await using deprecated = await createRestStage({ settings: { v1DeprecatedOn: '2026-02-01' } })
  for (const path of ['/v1/networks', '/v1/nothing']) {
    const { headers } = await deprecated.request(path)
    expect(headers.get('deprecation')).toBe(`@${Date.UTC(2026, 1, 1) / 1_000}`)
    expect(headers.get('sunset')).toBe('Fri, 31 Jul 2026 00:00:00 GMT')
  }
  expect((await deprecated.get('/v1/networks')).data).toHaveLength(7)
  expect((await stage.request('/v1/networks')).headers.has('deprecation')).toBe(false)
})
