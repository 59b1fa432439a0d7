import { expect, test } from 'vitest'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { postJson, seen, startStage } from './emulator-stage.ts'

const newWebhook = { url: 'http://127.0.0.1:9/hook', events: ['*'], secret: 'whsec_secret-of-the-webhook' }

test('a restored state has the same world, clock, accounts and webhooks, and the same future', async () => {
  await using stage = await startStage()
  await stage.control('POST', '/clock/advance', { ms: 3_600_000 })
  await stage.rest('/webhooks', postJson(newWebhook))
  expect((await stage.control('POST', '/snapshot', { name: 'one.hour' })).status).toBe(201)
  const before = await seen(stage)
  const goOn = async () => {
    await stage.control('POST', '/world/story', { story: 'scam' })
    await stage.control('POST', '/clock/advance', { ms: 3_600_000 })
    return seen(stage)
  }
  const after = await goOn()
  expect(after.events.length).toBeGreaterThan(before.events.length)
  await stage.control('POST', '/accounts', { name: 'later', plan: 'free' })

  const restored = await stage.control('POST', '/restore', { name: 'one.hour' })
  expect(restored.json.data).toMatchObject({ name: 'one.hour', mode: 'manual', now: '2026-01-01T01:00:00.000Z' })
  expect(await seen(stage)).toEqual(before)
  expect(await goOn()).toEqual(after)
  const names = (await stage.control('GET', '/snapshot')).json.data as { name: string }[]
  expect(names.map(({ name }) => name)).toEqual(['origin', 'one.hour'])
})

test('a reset restores the beginning; keys of the seed stay valid', async () => {
  await using stage = await startStage()
  const before = await seen(stage)
  await stage.rest('/webhooks', postJson(newWebhook))
  await stage.control('POST', '/world/activity', { factor: 2 })
  await stage.control('POST', '/clock/advance', { ms: 600_000 })
  expect((await stage.control('POST', '/reset')).status).toBe(200)
  expect(await seen(stage)).toEqual(before)
  expect((await stage.rest('/networks')).status).toBe(200)
})

test('a reset cancels pending retries', async () => {
  await using receiver = await createTestReceiver(answerStatus(500))
  await using stage = await startStage({ endpoints: [{ url: receiver.url, secret: 'whsec_0123456789abcdef' }] })
  await stage.control('POST', '/trigger', { type: 'contract.ownership_changed' })
  await stage.control('POST', '/clock/advance', { ms: 0 })
  expect((await stage.control('GET', '/deliveries/counts')).json.data.pending).toBeGreaterThan(0)
  await stage.control('POST', '/reset')
  expect((await stage.control('GET', '/deliveries/counts')).json.data).toMatchObject({ pending: 0, inFlight: 0 })
})

test('the journal lists requests under /v1 without secrets, until it is cleared', async () => {
  await using stage = await startStage()
  await stage.rest('/networks')
  await stage.rest('/nowhere')
  await stage.rest('/webhooks', postJson(newWebhook))
  await stage.rest('/webhooks', postJson({ ...newWebhook, secret: undefined }))
  const find = async (filter: string) => (await stage.control('GET', `/journal${filter}`)).json.data
  const all = await find('')
  expect(all).toMatchObject([
    { seq: 1, method: 'GET', path: '/v1/networks', status: 200, at: expect.stringMatching(/Z$/) },
    { seq: 2, path: '/v1/nowhere', status: 404, error: 'not_found' },
    { seq: 3, method: 'POST', path: '/v1/webhooks', status: 201, error: null },
    { seq: 4 },
  ])
  expect(JSON.stringify(all)).not.toMatch(/whsec_|sk_|Bearer/)
  expect(
    await find(`?method=GET&status=2xx&key=${all[0].keyId}&path=/v1/net*&since=2020-01-01T00:00:00Z`),
  ).toHaveLength(1)
  expect((await stage.control('DELETE', '/journal')).json.data).toEqual({ deleted: 4 })
  expect(await find('')).toEqual([])
})
