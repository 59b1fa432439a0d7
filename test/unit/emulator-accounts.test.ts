import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createAccounts, type AccountsOptions } from '../../src/emulator/accounts/accounts.ts'
import { scopeNames as scopes } from '../../schema/rest/scopes.ts'
import { KeyTaken, LimitReached } from '../../src/emulator/accounts/port.ts'
import { WorldRefusal } from '../../src/emulator/world/port.ts'

function setUp(options: Partial<AccountsOptions> = {}) {
  const clock = createTestClock()
  const accounts = createAccounts({ clock, randomBytes, ...options })
  const { accountId } = accounts.putAccount('desk', 'pro')
  return { clock, accounts, accountId }
}

const address = '0x6982508145454Ce325dDbE47a25d4ec3d2311933'
const alert = { type: 'price_above', address, network: 'ethereum', threshold: 2, label: null } as const
const newAlert = { ...alert, webhookUrl: 'https://example.com/' }
const newWebhook = { url: 'https://example.com/', events: ['*'] }

test('R66 a key opens its account with its scopes; an unknown or revoked key opens none', async () => {
  const { clock, accounts, accountId } = setUp()
  const { keyId, value } = accounts.addKey(accountId, { name: 'reader', scopes: ['read:wallets'] })
  expect(accounts.authenticate(value)).toEqual({ accountId, keyId, plan: 'pro', scopes: ['read:wallets'] })
  expect(accounts.authenticate(`${value}x`)).toBeNull()
  expect(accounts.authenticate('')).toBeNull()
  await clock.advance(5)
  expect(accounts.revokeKey(keyId)).toMatchObject({ keyId, revokedAt: clock.now() })
  expect(accounts.authenticate(value)).toBeNull()
  expect(accounts.revokeKey('key_none')).toBeNull()
})

test('R68 the value of a key is given once and kept nowhere', () => {
  const saved: unknown[] = []
  const { accounts, accountId } = setUp({ save: (change) => saved.push(change) })
  const drawn = accounts.addKey(accountId, { name: 'drawn', scopes })
  const given = accounts.addKey(accountId, { name: 'given', scopes, value: 'sk_given-by-the-user' })
  expect(given.value).toBe('sk_given-by-the-user')
  expect(drawn.value).toMatch(/^sk_[\w-]{32}$/)
  for (const { value } of [drawn, given]) {
    expect(JSON.stringify([saved, accounts.state(), accounts.keys(accountId), accounts.accounts()])).not.toContain(
      value,
    )
  }
  expect(accounts.keys(accountId)).toHaveLength(2)
})

test('the value of another key, also of one that is revoked, is refused', () => {
  const { accounts, accountId } = setUp()
  const { keyId, value } = accounts.addKey(accountId, { name: 'one', scopes })
  accounts.revokeKey(keyId)
  expect(() => accounts.addKey(accountId, { name: 'two', scopes, value })).toThrow(KeyTaken)
})

test('an account that is put again under its name keeps its id, and its keys get the new plan', () => {
  const { accounts, accountId } = setUp()
  const { value } = accounts.addKey(accountId, { name: 'one', scopes })
  expect(accounts.putAccount('desk', 'free').accountId).toBe(accountId)
  expect(accounts.authenticate(value)?.plan).toBe('free')
  expect(accounts.accounts()).toHaveLength(1)
})

test('A26 an account has at most 100 alerts and 20 webhooks, each of which makes room when it goes', () => {
  const { accounts, accountId } = setUp()
  const alerts = Array.from({ length: 100 }, () => accounts.addAlert(accountId, newAlert))
  expect(() => accounts.addAlert(accountId, newAlert)).toThrow(LimitReached)
  expect(accounts.removeAlert(accountId, alerts[0]!.alertId)).toBe(true)
  accounts.addAlert(accountId, newAlert)

  const webhooks = Array.from({ length: 20 }, () => accounts.addWebhook(accountId, newWebhook).webhook)
  expect(() => accounts.addWebhook(accountId, newWebhook)).toThrow(/at most 20 webhooks/)
  expect(accounts.removeWebhook(accountId, webhooks[0]!.webhookId)).toBe(true)
  accounts.addWebhook(accountId, newWebhook)
  const other = accounts.putAccount('other', 'free').accountId
  accounts.addAlert(other, newAlert)
  accounts.addWebhook(other, newWebhook)
})

test('an account can neither see nor change the items of another', () => {
  const { accounts, accountId } = setUp()
  const other = accounts.putAccount('other', 'free').accountId
  const { webhookId } = accounts.addWebhook(accountId, newWebhook).webhook
  const { alertId } = accounts.addAlert(accountId, newAlert)
  expect(accounts.alert(other, alertId)).toBeNull()
  expect(accounts.removeAlert(other, alertId)).toBe(false)
  expect(accounts.updateWebhook(other, webhookId, { url: 'https://evil.example/' })).toBeNull()
  expect(accounts.removeWebhook(other, webhookId)).toBe(false)
  expect([accounts.webhooks(other), accounts.alerts(other)]).toEqual([[], []])
  expect(accounts.anyAlert(alertId)?.accountId).toBe(accountId)
})

test('R77 a secret that is given is kept, one that is not is drawn, and said to be', () => {
  const { accounts, accountId } = setUp()
  const drawn = accounts.addWebhook(accountId, newWebhook)
  expect(drawn).toMatchObject({ isGenerated: true, webhook: { secret: expect.stringMatching(/^whsec_[\w-]{32}$/) } })
  const given = accounts.addWebhook(accountId, { ...newWebhook, secret: 'mine' })
  expect(given).toMatchObject({ isGenerated: false, webhook: { secret: 'mine' } })
  const changed = accounts.updateWebhook(accountId, given.webhook.webhookId, { events: ['pump.graduation'] })
  expect(changed).toEqual({ ...given.webhook, events: ['pump.graduation'] })
})

test('a change that fails to be stored is not applied', () => {
  let isFull = false
  const { accounts, accountId } = setUp({
    save() {
      if (isFull) throw new Error('disk full')
    },
  })
  const { keyId, value } = accounts.addKey(accountId, { name: 'one', scopes })
  const { webhookId } = accounts.addWebhook(accountId, newWebhook).webhook
  const before = accounts.state()
  isFull = true
  expect(() => accounts.putAccount('desk', 'free')).toThrow('disk full')
  expect(() => accounts.addKey(accountId, { name: 'two', scopes })).toThrow('disk full')
  expect(() => accounts.revokeKey(keyId)).toThrow('disk full')
  expect(() => accounts.addWebhook(accountId, newWebhook)).toThrow('disk full')
  expect(() => accounts.removeWebhook(accountId, webhookId)).toThrow('disk full')
  expect(accounts.state()).toEqual(before)
  expect(accounts.authenticate(value)?.plan).toBe('pro')
})

test('an alert that the world refuses is not kept', () => {
  const { accounts, accountId } = setUp({
    execute() {
      throw new WorldRefusal('no such token')
    },
  })
  expect(() => accounts.addAlert(accountId, newAlert)).toThrow(WorldRefusal)
  expect(accounts.alerts(accountId)).toEqual([])
})

test('R31 identifiers are opaque, of their kind, and no two are equal', () => {
  const { accounts, accountId } = setUp()
  const ids = Array.from({ length: 100 }, () => accounts.addAlert(accountId, newAlert).alertId)
  expect(new Set(ids).size).toBe(100)
  for (const id of ids) expect(id).toMatch(/^alrt_[0-9a-hjkmnp-tv-z]{20}$/)
  expect(accountId).toMatch(/^acct_/)
})

test('a state that is taken out and put back gives the same accounts', () => {
  const { accounts, accountId } = setUp()
  const { value } = accounts.addKey(accountId, { name: 'one', scopes })
  accounts.addWebhook(accountId, newWebhook)
  accounts.addAlert(accountId, newAlert)
  const state = structuredClone(accounts.state())
  const { accounts: other } = setUp()
  other.restore(state)
  expect(other.authenticate(value)).toEqual(accounts.authenticate(value))
  accounts.restore({ accounts: [], keys: [], webhooks: [], alerts: [] })
  expect(accounts.authenticate(value)).toBeNull()
  accounts.restore(state)
  expect(accounts.state()).toEqual(state)
})
