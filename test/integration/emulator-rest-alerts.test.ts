import { afterAll, beforeAll, expect, test } from 'vitest'
import { alertTypes } from '../../schema/rest/alert.ts'
import { busiestWallet, createRestStage, unseen, type RestStage } from './emulator-rest-stage.ts'

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
const count = () => stage.accounts.alerts(stage.accountId).length

test('R30 R31 R37 R41 R58 A19 a new alert is answered whole, with 201, an opaque alert_id and the status active', async () => {
  const { status, body: answer } = await stage.request('/v1/alerts', { body: { ...body, label: 'a label' } })
  expect(status).toBe(201)
  expect(answer.data).toEqual({
    alert_id: expect.stringMatching(/^alrt_.+/),
    ...body,
    label: 'a label',
    status: 'active',
    created_at: new Date(stage.clock.now()).toISOString(),
  })
  expect(Object.keys(answer.meta)).toEqual(['timestamp', 'latency_ms'])
})

test('R31 A22 the alert_id is the handle by which an alert is read, listed and deleted', async () => {
  const { body: created } = await stage.request('/v1/alerts', { body })
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

test('R32 each of the five types is taken, any other is refused', async () => {
  const [token] = stage.world.views.tokens()
  for (const type of alertTypes) {
    const given = { ...body, type, address: token?.address ?? '', network: token?.network ?? '' }
    const { status, body: answer } = await stage.request('/v1/alerts', { body: given })
    expect([status, answer.data?.type], type).toEqual([201, type])
  }
  for (const type of ['price', 'PRICE_ABOVE', '', null, 1, ['price_above']]) {
    const { status, body: answer } = await stage.request('/v1/alerts', { body: { ...body, type } })
    expect([status, answer.error.details[0].path]).toEqual([400, 'type'])
    expect(answer.error.message).toContain('price_above, price_below, volume_spike, whale_buy, whale_sell')
  }
})

test.each(alertTypes)(
  'R33 %s takes the address of a token, of a wallet or of neither, and shows it with its checksum',
  async (type) => {
    const wallet = busiestWallet(stage, 'ethereum')
    const [token] = stage.world.views.tokens().filter(({ network }) => network === 'ethereum')
    for (const address of [wallet.address, token?.address ?? '', unseen.evm]) {
      const given = { ...body, type, address: address.toLowerCase() }
      const { status, body: answer } = await stage.request('/v1/alerts', { body: given })
      expect([status, answer.data.address]).toEqual([201, address])
    }
  },
)

test('R34 A64 a threshold is any finite number above 0, of USD or percent', async () => {
  for (const threshold of [1e-12, 0.5, 100, 1e15]) {
    for (const type of ['price_below', 'volume_spike'] as const) {
      const { status, body: answer } = await stage.request('/v1/alerts', { body: { ...body, type, threshold } })
      expect([status, answer.data?.threshold]).toEqual([201, threshold])
      stage.accounts.removeAlert(stage.accountId, answer.data.alert_id)
    }
  }
})

test('R36 R58 A64 a label is optional, echoed or null, and at most 100 characters long', async () => {
  const long = '🦄'.repeat(100)
  for (const label of [long, '']) {
    expect((await stage.request('/v1/alerts', { body: { ...body, label } })).body.data.label).toBe(label)
  }
  expect((await stage.request('/v1/alerts', { body })).body.data.label).toBeNull()
  for (const label of [`${long}a`, 5, null, '\ud800']) {
    const { status, body: answer } = await stage.request('/v1/alerts', { body: { ...body, label } })
    expect([status, answer.error.details[0].path]).toEqual([400, 'label'])
  }
})

test.each([
  ['type', [undefined, 'x']],
  ['address', [undefined, '', 'x', 5, unseen.solana, `${unseen.evm}0`]],
  ['network', [undefined, 'tron', 5, 'ETHEREUM']],
  ['threshold', [undefined, 0, -1, '5', null, true, [1]]],
  ['webhook_url', [undefined, '', 'x', 5, 'ftp://example.com', 'http://example.com', 'https://u:p@example.com', '//a']],
])('R57 a bad %s is refused by name, and nothing is created', async (name, values) => {
  const before = count()
  const digest = stage.world.digest()
  for (const value of values) {
    const { status, body: answer } = await stage.request('/v1/alerts', { body: { ...body, [name]: value } })
    expect([status, answer.error.code], String(value)).toEqual([400, 'invalid_request'])
    expect(answer.error.details.map(({ path }: { path: string }) => path)).toEqual([name])
    expect(answer.error.message).toContain('expected')
  }
  expect([count(), stage.world.digest()]).toEqual([before, digest])
})

test('R57 everything that is wrong is said at once, and a threshold beyond all numbers is none', async () => {
  const { body: answer } = await stage.request('/v1/alerts', { body: {} })
  expect(answer.error.details.map(({ path }: { path: string }) => path).toSorted()).toEqual(
    ['address', 'network', 'threshold', 'type', 'webhook_url'].toSorted(),
  )
  const text = JSON.stringify(body).replace('12.5', '1e999')
  const response = await fetch(`http://127.0.0.1:${stage.port}/v1/alerts`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${stage.newKey()}`, 'Content-Type': 'application/json' },
    body: text,
  })
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('threshold')])
})

test('A25 a webhook_url is https, or http to this machine', async () => {
  for (const webhook_url of [
    'https://a.example/x?y=1',
    'http://localhost:3000/a',
    'http://127.0.0.1',
    'http://[::1]:1/',
  ]) {
    expect((await stage.request('/v1/alerts', { body: { ...body, webhook_url } })).status, webhook_url).toBe(201)
  }
})

test('A27 the same body twice makes two alerts', async () => {
  const before = count()
  const [first, second] = [await stage.request('/v1/alerts', { body }), await stage.request('/v1/alerts', { body })]
  expect(first.body.data.alert_id).not.toBe(second.body.data.alert_id)
  expect(count()).toBe(before + 2)
})

test('A26 an account has at most 100 alerts, the next is 409; deleting one makes room', async () => {
  await using full = await createRestStage()
  const create = () => full.request('/v1/alerts', { body })
  let last = await create()
  for (let created = 1; created < 100; created++) last = await create()
  expect(last.status).toBe(201)
  const refused = await create()
  expect([refused.status, refused.body.error.code]).toEqual([409, 'limit_reached'])
  expect(refused.body.error.message).toContain('100')
  expect((await full.request(`/v1/alerts/${last.body.data.alert_id}`, { method: 'DELETE' })).status).toBe(200)
  expect((await create()).status).toBe(201)
})
