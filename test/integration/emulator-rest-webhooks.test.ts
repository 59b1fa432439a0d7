import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage()
})
afterAll(() => stage[Symbol.asyncDispose]())

const url = 'https://example.com/hook'
const secret = 'given-by-the-client-0123'

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

test('A22 a webhook that is deleted is 404, and so is a webhook or an alert of another account', async () => {
  await clear()
  const { webhook_id } = await register({ url, events: ['*'] })
  const path = `/v1/webhooks/${webhook_id}`
  const { accountId } = stage.accounts.putAccount('somebody else', 'unlimited')
  const key = stage.newKey(undefined, accountId)
  const each = [
    ['GET', {}],
    ['PATCH', { body: { url } }],
    ['DELETE', {}],
  ] as const
  for (const [method, options] of each) {
    expect((await stage.request(path, { method, key, ...options })).status).toBe(404)
  }
  const alert = {
    type: 'whale_buy',
    network: 'base',
    address: unseen.evm,
    threshold: 1,
    webhookUrl: url,
    label: null,
  } as const
  const { alertId } = stage.accounts.addAlert(stage.accountId, alert)
  for (const method of ['GET', 'DELETE']) {
    expect((await stage.request(`/v1/alerts/${alertId}`, { method, key })).status).toBe(404)
  }
  expect((await stage.request('/v1/alerts', { key })).body).toMatchObject({ data: [], meta: { total: 0 } })
  const deleted = await stage.request(path, { method: 'DELETE' })
  expect([deleted.status, deleted.body.data]).toEqual([200, { webhook_id, deleted: true }])
  for (const [method, options] of each) expect((await stage.request(path, { method, ...options })).status).toBe(404)
})
