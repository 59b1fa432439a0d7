import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { createRestStage, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

const url = 'https://example.com/hook'
const secret = 'given-by-the-client-0123'
const count = () => stage.accounts.webhooks(stage.accountId).length

async function register(body: Readonly<Record<string, unknown>>) {
  const answer = await stage.request('/v1/webhooks', { body })
  expect(answer.status, answer.text).toBe(201)
  return answer.body.data
}

async function clear(): Promise<void> {
  for (const { webhookId } of stage.accounts.webhooks(stage.accountId)) {
    await stage.request(`/v1/webhooks/${webhookId}`, { method: 'DELETE' })
  }
}

test('R60 R77 A8 a webhook is registered with url, events and secret; a secret that came is not sent back', async () => {
  await clear()
  const data = await register({ url, events: ['wallet.large_trade', 'token.new_listing'], secret })
  expect(data).toEqual({
    webhook_id: expect.stringMatching(/^wh_.+/),
    url,
    events: ['wallet.large_trade', 'token.new_listing'],
    status: 'active',
    created_at: new Date(stage.clock.now()).toISOString(),
  })
  const [kept] = stage.accounts.webhooks(stage.accountId)
  expect([kept?.url, kept?.secret, kept?.events]).toEqual([url, secret, data.events])
})

test('A8 a secret that the service makes is in the answer to the registration, and nowhere after it', async () => {
  await clear()
  const data = await register({ url, events: ['*'] })
  expect(data.secret).toMatch(/^whsec_.{16,}/)
  expect(stage.accounts.webhooks(stage.accountId)[0]?.secret).toBe(data.secret)
  const { text } = await stage.request(`/v1/webhooks/${data.webhook_id}`)
  const { text: list } = await stage.request('/v1/webhooks')
  const patched = await stage.request(`/v1/webhooks/${data.webhook_id}`, { method: 'PATCH', body: { url } })
  expect([patched.status, text + list + patched.text]).toEqual([200, expect.not.stringContaining('secret')])
  expect(JSON.stringify(stage.exchanges)).not.toContain(data.secret)
  expect(JSON.stringify(stage.exchanges)).not.toContain(secret)
})

test('R61 R91 A23 A41 events are names of types, or the single wildcard', async () => {
  await clear()
  for (const events of [['*'], [...eventTypes], ['pump.graduation'], ['token.volume_spike']]) {
    expect((await register({ url, events })).events).toEqual(events)
  }
  const before = count()
  for (const events of [
    undefined,
    [],
    ['*', 'pump.graduation'],
    ['*', '*'],
    ['pump.graduation', 'token.price_alert', 'pump.graduation'],
    ['pump'],
    ['wallet.*'],
    [''],
    '*',
    [5],
    [null],
  ]) {
    const { status, body } = await stage.request('/v1/webhooks', { body: { url, events } })
    expect([status, body.error.code], JSON.stringify(events)).toEqual([400, 'invalid_request'])
    expect(body.error.details[0].path).toMatch(/^events/)
  }
  expect(count()).toBe(before)
})

test.each([
  [
    'url',
    [undefined, '', 'x', 5, 'http://example.com/', 'ftp://example.com/', 'https://', `https://a/${'x'.repeat(3_000)}`],
  ],
  ['secret', ['', 5, null, '\udc00', 'x'.repeat(15), 'x'.repeat(257)]],
])('R60 A25 A69 a bad %s is refused by name, and nothing is registered', async (name, values) => {
  const before = count()
  for (const value of values) {
    const { status, body } = await stage.request('/v1/webhooks', {
      body: { url, events: ['*'], secret, [name]: value },
    })
    expect([status, body.error.details[0].path], String(value).slice(0, 50)).toEqual([400, name])
  }
  expect(count()).toBe(before)
})

test.each([
  [{ secret: 'x'.repeat(15) }, 'secret: expected a secret of 16 to 256 characters; got 15 characters'],
  [{ secret: 'x'.repeat(5_000) }, 'secret: expected a secret of 16 to 256 characters; got 5000 characters'],
  [
    { events: ['*', 'token.price_alert'] },
    'events: expected the wildcard "*" alone, without type names; got an array of 2',
  ],
  [{ events: [] }, 'events: expected at least one type name, or the wildcard "*"; got an array of 0'],
])('R106 the refusal of a webhook names the rule that was broken', async (given, message) => {
  const { status, body } = await stage.request('/v1/webhooks', { body: { url, events: ['*'], ...given } })
  expect([status, body.error.message]).toEqual([400, message])
})

test('A25 http is taken for this machine only', async () => {
  await clear()
  for (const own of ['http://127.0.0.1:3000/webhooks', 'http://localhost/', 'http://[::1]:9/', 'HTTP://LocalHost:9/']) {
    expect((await register({ url: own, events: ['*'] })).url).toBe(own)
  }
})

test('A22 a webhook is changed by what is given, and by nothing else', async () => {
  await clear()
  const { webhook_id } = await register({ url, events: ['*'], secret })
  const path = `/v1/webhooks/${webhook_id}`
  const patch = (body: unknown) => stage.request(path, { method: 'PATCH', body })
  const moved = await patch({ url: 'https://example.com/other' })
  expect([moved.status, moved.body.data]).toMatchObject([
    200,
    { webhook_id, url: 'https://example.com/other', events: ['*'] },
  ])
  expect((await patch({ events: ['pump.graduation'] })).body.data.events).toEqual(['pump.graduation'])
  expect((await patch({ secret: 'another-secret-45678' })).status).toBe(200)
  const before = stage.accounts.webhooks(stage.accountId)
  expect(before[0]).toMatchObject({ secret: 'another-secret-45678', url: 'https://example.com/other' })
  for (const body of [{}, { unknown: 1 }, { url: 'x' }, { events: [] }, { secret: '' }, { url: null }]) {
    const refused = await patch(body)
    expect([refused.status, refused.body.error.code], JSON.stringify(body)).toEqual([400, 'invalid_request'])
  }
  expect(stage.accounts.webhooks(stage.accountId)).toEqual(before)
  expect((await stage.get(path)).data).toEqual((await stage.get('/v1/webhooks')).data[0])
})

test('a member that differs from a documented one in case only is refused, and the message has the right name', async () => {
  await clear()
  const { webhook_id } = await register({ url, events: ['*'], secret })
  const before = stage.accounts.webhooks(stage.accountId)
  const create = { url, events: ['*'] }
  for (const [method, path, body, wrong, right] of [
    ['POST', '/v1/webhooks', { ...create, Secret: secret }, 'Secret', 'secret'],
    ['POST', '/v1/webhooks', { ...create, secret, SECRET: 'another' }, 'SECRET', 'secret'],
    ['POST', '/v1/webhooks', { url, Events: ['*'] }, 'Events', 'events'],
    ['PATCH', `/v1/webhooks/${webhook_id}`, { url, Secret: secret }, 'Secret', 'secret'],
    ['POST', '/v1/alerts', { Label: 'x' }, 'Label', 'label'],
  ] as const) {
    const { status, text, body: answer } = await stage.request(path, { method, body })
    const problem = { path: wrong, message: `expected the name ${right}: names are case-sensitive` }
    expect([status, answer.error.details], text).toEqual([400, expect.arrayContaining([problem])])
    expect(text).not.toContain(secret)
  }
  expect(stage.accounts.webhooks(stage.accountId)).toEqual(before)
  await register({ url, events: ['*'], color: 'red' })
})

test('A22 a webhook that is deleted, or of another account, is 404', async () => {
  await clear()
  const { webhook_id } = await register({ url, events: ['*'] })
  const path = `/v1/webhooks/${webhook_id}`
  const { accountId } = stage.accounts.putAccount('somebody else', 'unlimited')
  const key = stage.newKey(['write:webhooks'], accountId)
  const each = [
    ['GET', {}],
    ['PATCH', { body: { url } }],
    ['DELETE', {}],
  ] as const
  for (const [method, options] of each) {
    expect((await stage.request(path, { method, key, ...options })).status).toBe(404)
  }
  const deleted = await stage.request(path, { method: 'DELETE' })
  expect([deleted.status, deleted.body.data]).toEqual([200, { webhook_id, deleted: true }])
  for (const [method, options] of each) expect((await stage.request(path, { method, ...options })).status).toBe(404)
})

test('A24 the same url may be registered twice', async () => {
  await clear()
  const [first, second] = [await register({ url, events: ['*'] }), await register({ url, events: ['*'] })]
  expect(first.webhook_id).not.toBe(second.webhook_id)
  expect((await stage.get('/v1/webhooks')).meta.total).toBe(2)
})

test('A26 an account has at most 20 webhooks, the next is 409; deleting one makes room', async () => {
  await clear()
  let last = await register({ url, events: ['*'] })
  for (let registered = 1; registered < 20; registered++) last = await register({ url, events: ['*'] })
  const refused = await stage.request('/v1/webhooks', { body: { url, events: ['*'] } })
  expect([refused.status, refused.body.error.code]).toEqual([409, 'limit_reached'])
  expect(refused.body.error.message).toContain('20')
  await stage.request(`/v1/webhooks/${last.webhook_id}`, { method: 'DELETE' })
  await register({ url, events: ['*'] })
})
