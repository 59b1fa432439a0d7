import { expect, test } from 'vitest'
import { createAccounts, type Accounts } from '../../src/emulator/accounts/accounts.ts'
import { recipientsOf } from '../../src/emulator/event-sender.ts'

const secret = 'whsec_0123456789abcdef'

function setUp() {
  let drawn = 0
  const randomBytes = (size: number) => Buffer.alloc(size, ++drawn)
  const accounts = createAccounts({ clock: { now: () => 0 }, randomBytes })
  const own = accounts.putAccount('own', 'pro').accountId
  const other = accounts.putAccount('other', 'pro').accountId
  return { accounts, own, other }
}

function addWebhook(accounts: Accounts, accountId: string, path: string, events: readonly string[]): string {
  return accounts.addWebhook(accountId, { url: `https://hooks.example/${path}`, events, secret }).webhook.webhookId
}

function addAlert(accounts: Accounts, accountId: string, path: string): string {
  const watched = { type: 'price_above', address: '0x1', network: 'base', threshold: 1, label: null } as const
  return accounts.addAlert(accountId, { ...watched, webhookUrl: `https://hooks.example/${path}` }).alertId
}

const graduation = { type: 'pump.graduation', alertIds: [], audience: 'all' } as const

test('R62 R78 R91 an event goes to the subscribed webhooks of all accounts', () => {
  const { accounts, own, other } = setUp()
  const some = addWebhook(accounts, own, 'some', ['token.price_alert', 'pump.graduation'])
  const all = addWebhook(accounts, own, 'all', ['*'])
  const foreign = addWebhook(accounts, other, 'foreign', ['pump.graduation'])
  addWebhook(accounts, own, 'none', ['wallet.large_trade'])
  expect(recipientsOf(graduation, accounts).map(({ id }) => id)).toEqual([some, all, foreign])
})

test('R91 R127 an unknown type goes to subscribers of all types', () => {
  const { accounts, own } = setUp()
  const all = addWebhook(accounts, own, 'all', ['*'])
  addWebhook(accounts, own, 'some', ['token.price_alert'])
  const unknown = { type: 'token.of_the_future', alertIds: [], audience: 'all' } as const
  expect(recipientsOf(unknown, accounts).map(({ id }) => id)).toEqual([all])
})

test('R91 A45 a changed webhook gets its new types, a deleted one nothing', () => {
  const { accounts, own } = setUp()
  const id = addWebhook(accounts, own, 'hook', ['wallet.large_trade'])
  expect(recipientsOf(graduation, accounts)).toEqual([])
  accounts.updateWebhook(own, id, {
    events: ['pump.graduation'],
    url: 'https://hooks.example/new',
    secret: 'another secret',
  })
  expect(recipientsOf(graduation, accounts)).toEqual([
    { id, url: 'https://hooks.example/new', secret: 'another secret' },
  ])
  accounts.removeWebhook(own, id)
  expect(recipientsOf(graduation, accounts)).toEqual([])
})

test('R104 A41 an event of an alert goes to the alert URL, with its secret, and to webhooks of that account only', () => {
  const { accounts, own, other } = setUp()
  const hook = addWebhook(accounts, own, 'hook', ['*'])
  addWebhook(accounts, other, 'foreign', ['*'])
  const alertId = addAlert(accounts, own, 'alert')
  const event = { type: 'token.price_alert', alertIds: [alertId], audience: 'owners' } as const
  const alertSecret = accounts.accounts()[0]!.alertSecret
  expect(recipientsOf(event, accounts)).toEqual([
    { id: hook, url: 'https://hooks.example/hook', secret },
    { id: alertId, url: 'https://hooks.example/alert', secret: alertSecret },
  ])
})

test('A41 an event for alerts only goes to no webhook and to no deleted alert', () => {
  const { accounts, own } = setUp()
  addWebhook(accounts, own, 'hook', ['*'])
  const alertId = addAlert(accounts, own, 'alert')
  const event = { type: 'wallet.large_trade', alertIds: [alertId, 'alrt_gone'], audience: 'alerts' } as const
  expect(recipientsOf(event, accounts).map(({ id }) => id)).toEqual([alertId])
  accounts.removeAlert(own, alertId)
  expect(recipientsOf(event, accounts)).toEqual([])
})

test('A41 an alert with the URL of a subscribed webhook of its account gets no second delivery', () => {
  const { accounts, own, other } = setUp()
  const hook = addWebhook(accounts, own, 'same', ['*'])
  const [ownAlert, foreignAlert] = [addAlert(accounts, own, 'same'), addAlert(accounts, other, 'same')]
  const event = { type: 'wallet.large_trade', alertIds: [ownAlert, foreignAlert], audience: 'all' } as const
  expect(recipientsOf(event, accounts).map(({ id }) => id)).toEqual([hook, foreignAlert])
})
