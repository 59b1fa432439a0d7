import { describe, expect, test } from 'vitest'
import type { SeedInput } from '../../src/emulator/seed/schema.ts'
import { startSignedIn, type DashboardStage } from './emulator-dashboard-stage.ts'
import { apiKey } from './emulator-stage.ts'

const url = 'https://receiver.example/hook'
const accounts: SeedInput['accounts'] = [
  { name: 'desk', plan: 'unlimited', keys: [{ name: 'first', key: apiKey, scopes: 'all' }] },
  { name: 'other' },
]

const start = () => startSignedIn({ accounts })

async function ask(stage: DashboardStage, status: number, method: string, path: string, body?: unknown) {
  const reply = await stage.browser.ask(method, path, body)
  expect([method, path, reply.status, reply.text]).toEqual([method, path, status, reply.text])
  return reply.json.data
}

/** A token of the world, and a wallet that has traded. */
async function findOnes(stage: DashboardStage) {
  const [token] = await ask(stage, 200, 'GET', '/world/tokens?network=base&limit=1')
  const buy = { network: 'base', wallet: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', side: 'buy', usd: 100 }
  await ask(stage, 200, 'POST', '/world/trade', { ...buy, token: token.address })
  return { token: token.address as string, wallet: buy.wallet }
}

describe('webhooks', () => {
  test('R60, R76 are made for an account, listed without their secret, and REST knows them', async () => {
    await using stage = await start()
    const made = await ask(stage, 201, 'POST', '/webhooks', { url, events: ['*'] })
    const { secret, ...shown } = made
    expect(secret).toMatch(/^whsec_[\w-]{32}$/)
    expect(shown).toEqual({
      webhookId: expect.stringMatching(/^wh_/),
      accountId: expect.stringMatching(/^acct_/),
      url,
      events: ['*'],
      createdAt: '2026-01-01T00:00:00.000Z',
    })
    const other = await ask(stage, 201, 'POST', '/webhooks', { account: 'other', url, events: ['token.new_listing'] })
    expect(other.accountId).not.toBe(shown.accountId)
    const all = await ask(stage, 200, 'GET', '/webhooks')
    expect(all).toEqual([shown, { ...other, secret: undefined }])
    expect(JSON.stringify(all)).not.toContain('whsec_')
    const { data } = (await stage.rest('/webhooks')).json
    expect(data).toEqual([expect.objectContaining({ webhook_id: shown.webhookId, url })])
  })

  test('R77 a secret that was supplied is never shown', async () => {
    await using stage = await start()
    const secret = 'a-secret-of-the-test'
    const made = await stage.browser.ask('POST', '/webhooks', { url, events: ['*'], secret })
    const { webhookId } = made.json.data
    const changed = await stage.browser.ask('PATCH', `/webhooks/${webhookId}`, { secret: 'another-of-the-test' })
    const listed = await stage.browser.ask('GET', '/webhooks')
    expect(changed.status).toBe(200)
    for (const { text } of [made, changed, listed]) expect(text).not.toMatch(/of-the-test"|"secret"/)
    expect(stage.emulator.accounts.endpoint(webhookId)).toMatchObject({ secret: 'another-of-the-test' })
  })

  test('A22 are changed member by member, and deleted', async () => {
    await using stage = await start()
    const { secret: _secret, ...made } = await ask(stage, 201, 'POST', '/webhooks', {
      account: 'other',
      url,
      events: ['*'],
    })
    const path = `/webhooks/${made.webhookId}`
    const moved = `${url}/2`
    expect(await ask(stage, 200, 'PATCH', path, { url: moved })).toEqual({ ...made, url: moved })
    const events = ['wallet.large_trade', 'pump.graduation']
    expect(await ask(stage, 200, 'PATCH', path, { events })).toEqual({ ...made, url: moved, events })
    expect(await ask(stage, 200, 'DELETE', path)).toEqual({ webhookId: made.webhookId, deleted: true })
    expect(await ask(stage, 200, 'GET', '/webhooks')).toEqual([])
    await ask(stage, 404, 'PATCH', path, { url })
    await ask(stage, 404, 'DELETE', path)
  })
})

describe('alerts', () => {
  test('R30, R57 are made, listed and deleted, here as in REST', async () => {
    await using stage = await start()
    const { token } = await findOnes(stage)
    const alert = { type: 'price_above', address: token, network: 'base', threshold: 5, webhookUrl: url, label: 'five' }
    const made = await ask(stage, 201, 'POST', '/alerts', { ...alert, address: token.toLowerCase() })
    const createdAt = '2026-01-01T00:00:00.000Z'
    expect(made).toEqual({ ...alert, alertId: expect.stringMatching(/^alrt_/), status: 'active', createdAt })
    const bare = { ...alert, label: undefined, account: 'other' }
    const other = await ask(stage, 201, 'POST', '/alerts', bare)
    expect(other.label).toBeNull()
    expect(await ask(stage, 200, 'GET', '/alerts')).toEqual([made, other])
    const { data } = (await stage.rest('/alerts')).json
    expect(data).toEqual([expect.objectContaining({ alert_id: made.alertId, address: token, label: 'five' })])
    for (const { alertId } of [made, other]) {
      expect(await ask(stage, 200, 'DELETE', `/alerts/${alertId}`)).toEqual({ alertId, deleted: true })
      await ask(stage, 404, 'DELETE', `/alerts/${alertId}`)
    }
    expect(await ask(stage, 200, 'GET', '/alerts')).toEqual([])
  })

  test('A41 a new secret of the alerts of an account is shown once and signs from then on', async () => {
    await using stage = await start()
    const { token } = await findOnes(stage)
    const alert = { type: 'price_above', address: token, network: 'base', threshold: 5, webhookUrl: url }
    const secretOf = (alertId: string) => stage.emulator.accounts.endpoint(alertId)?.secret
    const [first, second] = [
      await ask(stage, 201, 'POST', '/alerts', alert),
      await ask(stage, 201, 'POST', '/alerts', { ...alert, account: 'other' }),
    ]
    const before = secretOf(second.alertId)
    const { alertSecret } = await ask(stage, 201, 'POST', '/alert-secret', {})
    expect(alertSecret).toMatch(/^whsec_[\w-]{32}$/)
    expect([secretOf(first.alertId), secretOf(second.alertId)]).toEqual([alertSecret, before])
    const ofOther = await ask(stage, 201, 'POST', '/alert-secret', { account: 'other' })
    expect(secretOf(second.alertId)).toBe(ofOther.alertSecret)
    for (const path of ['/accounts', '/alerts', '/webhooks'])
      expect((await stage.browser.ask('GET', path)).text).not.toContain('whsec_')
    await ask(stage, 404, 'POST', '/alert-secret', { account: 'none' })
  })
})
