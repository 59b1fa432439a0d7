import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createAccounts, type AccountsOptions } from '../../src/emulator/accounts/accounts.ts'
import { scopeNames as scopes } from '../../schema/rest/routes.ts'
import { KeyTaken } from '../../src/emulator/accounts/accounts.ts'

function setUp(options: Partial<AccountsOptions> = {}) {
  const clock = createTestClock()
  const accounts = createAccounts({ clock, randomBytes, ...options })
  const { accountId } = accounts.putAccount('desk', 'pro')
  return { clock, accounts, accountId }
}

const address = '0x6982508145454Ce325dDbE47a25d4ec3d2311933'
const alert = { type: 'price_above', address, network: 'ethereum', threshold: 2, label: null } as const
const newAlert = { ...alert, webhookUrl: 'https://example.com/' }

test('R66 a key authenticates its account and scopes; unknown and revoked keys fail', async () => {
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

test('R68 the value of a key is returned once and stored nowhere', () => {
  const { accounts, accountId } = setUp()
  const drawn = accounts.addKey(accountId, { name: 'drawn', scopes })
  const given = accounts.addKey(accountId, { name: 'given', scopes, value: 'sk_given-by-the-user' })
  expect(given.value).toBe('sk_given-by-the-user')
  expect(drawn.value).toMatch(/^sk_[\w-]{32}$/)
  for (const { value } of [drawn, given]) {
    expect(JSON.stringify([accounts.state(), accounts.keys(accountId), accounts.accounts()])).not.toContain(value)
  }
  expect(accounts.keys(accountId)).toHaveLength(2)
})

test('rejects the value of another key, even of a revoked one', () => {
  const { accounts, accountId } = setUp()
  const { keyId, value } = accounts.addKey(accountId, { name: 'one', scopes })
  accounts.revokeKey(keyId)
  expect(() => accounts.addKey(accountId, { name: 'two', scopes, value })).toThrow(KeyTaken)
})

test('R31 identifiers are unique and opaque, with a prefix per kind', () => {
  const { accounts, accountId } = setUp()
  const ids = Array.from({ length: 100 }, () => accounts.addAlert(accountId, newAlert).alertId)
  expect(new Set(ids).size).toBe(100)
  for (const id of ids) expect(id).toMatch(/^alrt_[0-9a-hjkmnp-tv-z]{20}$/)
  expect(accountId).toMatch(/^acct_/)
})
