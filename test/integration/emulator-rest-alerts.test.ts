import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
beforeAll(async () => {
  stage = await createRestStage({ hours: 6 })
})
afterAll(() => stage[Symbol.asyncDispose]())

const body = {
  type: 'price_above',
  address: unseen.evm,
  network: 'ethereum',
  threshold: 12.5,
  webhook_url: 'https://example.com/alert',
} as const

test('R31 A19 A22 an alert is created with 201, and read, listed and deleted by its alert_id', async () => {
  const { status: creation, body: created } = await stage.request('/v1/alerts', { body })
  expect(creation).toBe(201)
  const path = `/v1/alerts/${created.data.alert_id}`
  expect((await stage.get(path)).data).toEqual(created.data)
  expect((await stage.get('/v1/alerts')).data).toContainEqual(created.data)
  const deleted = await stage.request(path, { method: 'DELETE' })
  expect([deleted.status, deleted.body.data]).toEqual([200, { alert_id: created.data.alert_id, deleted: true }])
  for (const method of ['GET', 'DELETE']) {
    const { status, body: answer } = await stage.request(path, { method })
    expect([status, answer.error.code]).toEqual([404, 'not_found'])
  }
  expect((await stage.get('/v1/alerts')).data).not.toContainEqual(created.data)
})

test('A22 the alerts of an account are no business of another', async () => {
  const { body: created } = await stage.request('/v1/alerts', { body })
  const { accountId } = stage.accounts.putAccount('somebody else', 'unlimited')
  const key = stage.newKey(['write:alerts'], accountId)
  for (const method of ['GET', 'DELETE']) {
    expect((await stage.request(`/v1/alerts/${created.data.alert_id}`, { method, key })).status).toBe(404)
  }
  expect((await stage.request('/v1/alerts', { key })).body).toMatchObject({ data: [], meta: { total: 0 } })
  expect((await stage.get(`/v1/alerts/${created.data.alert_id}`)).data).toEqual(created.data)
})
