import { beforeEach, expect, test } from 'vitest'
import { createAccounts, type Accounts } from '../../src/emulator/accounts/accounts.ts'
import { recipientsOf } from '../../src/emulator/event-sender.ts'

const secret = 'whsec_0123456789abcdef'
const urlOf = (name: string) => `https://hooks.example/${name}`

/** Two accounts. Webhooks and alerts have the names of their URLs. */
let accounts: Accounts
let own: string
let other: string
/** Names by id. */
let names: Map<string, string>

beforeEach(() => {
  let drawn = 0
  accounts = createAccounts({ clock: { now: () => 0 }, randomBytes: (size) => Buffer.alloc(size, ++drawn) })
  own = accounts.putAccount('own', 'pro').accountId
  other = accounts.putAccount('other', 'pro').accountId
  names = new Map()
})

function addWebhook(account: string, name: string, events: readonly string[]): string {
  const { webhookId } = accounts.addWebhook(account, { url: urlOf(name), events, secret }).webhook
  names.set(webhookId, name)
  return webhookId
}

function addAlert(account: string, name: string): string {
  const watched = { type: 'price_above', address: '0x1', network: 'base', threshold: 1, label: null } as const
  const { alertId } = accounts.addAlert(account, { ...watched, webhookUrl: urlOf(name) })
  names.set(alertId, `alert ${name}`)
  return alertId
}

const recipients = (type: string, audience: 'all' | 'owners' | 'alerts' = 'all', alertIds: readonly string[] = []) =>
  recipientsOf({ type, alertIds, audience }, accounts).map(({ id }) => names.get(id))

test('R62 R78 R91 R127 an event goes to the subscribed webhooks of all accounts, an unknown type to `*` webhooks only', () => {
  addWebhook(own, 'some', ['token.price_alert', 'pump.graduation'])
  addWebhook(own, 'all', ['*'])
  addWebhook(other, 'foreign', ['pump.graduation'])
  expect(recipients('pump.graduation')).toEqual(['some', 'all', 'foreign'])
  expect(recipients('token.of_the_future')).toEqual(['all'])
})

test('R91 A45 an event goes to a webhook with its present URL, types and secret, until it is deleted', () => {
  const id = addWebhook(own, 'hook', ['wallet.large_trade'])
  expect(recipients('pump.graduation')).toEqual([])
  const change = { events: ['pump.graduation'], url: urlOf('new'), secret: 'another secret' }
  accounts.updateWebhook(accounts.webhook(id)!, change)
  const event = { type: 'pump.graduation', alertIds: [], audience: 'all' } as const
  expect(recipientsOf(event, accounts)).toEqual([{ id, url: change.url, secret: change.secret }])
  accounts.removeWebhook(accounts.webhook(id)!)
  expect(recipients('pump.graduation')).toEqual([])
})

test('R104 A41 an event of an alert goes to the alert URL, and by its audience to webhooks of its account', () => {
  addWebhook(own, 'hook', ['*'])
  addWebhook(other, 'foreign', ['*'])
  const alertId = addAlert(own, 'own')
  expect(recipients('token.price_alert', 'owners', [alertId])).toEqual(['hook', 'alert own'])
  expect(recipients('wallet.large_trade', 'alerts', [alertId, 'alrt_gone'])).toEqual(['alert own'])
  const [only] = recipientsOf({ type: 'x', alertIds: [alertId], audience: 'alerts' }, accounts)
  expect(only).toEqual({ id: alertId, url: urlOf('own'), secret: accounts.accounts()[0]!.alertSecret })
  accounts.removeAlert(accounts.alert(alertId)!)
  expect(recipients('wallet.large_trade', 'alerts', [alertId])).toEqual([])
})

test('A41 an event reaches an alert only once if a subscribed webhook of its account has the same URL', () => {
  addWebhook(own, 'same', ['*'])
  const alertIds = [addAlert(own, 'same'), addAlert(other, 'same')]
  expect(recipients('wallet.large_trade', 'all', alertIds)).toEqual(['same', 'alert same'])
})
