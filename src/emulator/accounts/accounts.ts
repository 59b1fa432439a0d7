import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { drawId, drawSecret, type RandomBytes } from './ids.ts'
import {
  KeyTaken,
  LimitReached,
  type Account,
  type Accounts,
  type Alert,
  type ApiKey,
  type Caller,
  type Webhook,
} from './port.ts'
import { emptyAccounts, type AccountsState, type ActAlongside, type SaveChange, type StoredKey } from './state.ts'

/** A26 */
const mostAlerts = 100
const mostWebhooks = 20

export interface AccountsOptions {
  /** World time. */
  readonly clock: Pick<Clock, 'now'>
  readonly randomBytes: RandomBytes
  /** What there is at the beginning. Default: nothing. */
  readonly initial?: AccountsState
  /** Default: nothing is kept. */
  readonly save?: SaveChange
  /** How the world comes to know of an alert, and of its end. Default: it does not. */
  readonly act?: ActAlongside
  /** Whether alerts fire once only (A17). Default: they do not. */
  readonly isOneShot?: boolean
  /** Called after a webhook or an alert has gone. */
  readonly onEndpointGone?: () => void
}

/** The accounts, and how all of them are taken out and put back. */
export interface AccountStore extends Accounts {
  state(): AccountsState
  /** Forgets everything and begins with `state`. Nothing is made durable, the world is told nothing. */
  restore(state: AccountsState): void
}

/** Keeps accounts in memory, and by `save` wherever it puts them. */
export function createAccounts(options: AccountsOptions): AccountStore {
  const {
    clock,
    randomBytes,
    initial = emptyAccounts,
    save = () => {},
    act = () => {},
    isOneShot = false,
    onEndpointGone = () => {},
  } = options
  const accounts = new Map<string, Account>()
  const keys = new Map<string, StoredKey>()
  const webhooks = new Map<string, Webhook>()
  const alerts = new Map<string, Alert>()
  /** By the digest of their keys: a look-up that ends early tells about a digest, not about a key. */
  const callers = new Map<string, Caller>()

  function load(state: AccountsState): void {
    for (const all of [accounts, keys, webhooks, alerts, callers]) all.clear()
    for (const account of state.accounts) accounts.set(account.accountId, account)
    for (const key of state.keys) keys.set(key.keyId, key)
    for (const webhook of state.webhooks) webhooks.set(webhook.webhookId, webhook)
    for (const alert of state.alerts) alerts.set(alert.alertId, alert)
    for (const key of keys.values()) admit(key)
  }

  function admit({ digest, keyId, accountId, scopes, revokedAt }: StoredKey): void {
    if (revokedAt === null) callers.set(digest, { accountId, keyId, plan: find(accountId).plan, scopes })
    else callers.delete(digest)
  }

  function find(accountId: string): Account {
    const account = accounts.get(accountId)
    if (account === undefined) throw new RangeError(`there is no account ${accountId}`)
    return account
  }

  function ofAccount<T extends { readonly accountId: string }>(all: ReadonlyMap<string, T>, accountId: string): T[] {
    return [...all.values()].filter((one) => one.accountId === accountId)
  }

  function putWebhook(webhook: Webhook): void {
    save({ kind: 'webhook', value: webhook })
    webhooks.set(webhook.webhookId, webhook)
  }

  load(initial)

  return {
    authenticate: (key) => callers.get(digestOf(key)) ?? null,

    accounts: () => [...accounts.values()],
    putAccount(name, plan) {
      const known = [...accounts.values()].find((account) => account.name === name)
      const account = known
        ? { ...known, plan }
        : { accountId: drawId('acct', randomBytes), name, plan, alertSecret: drawSecret('whsec', randomBytes) }
      save({ kind: 'account', value: account })
      accounts.set(account.accountId, account)
      for (const key of ofAccount(keys, account.accountId)) admit(key)
      return account
    },
    setAlertSecret(accountId, alertSecret) {
      const account = { ...find(accountId), alertSecret }
      save({ kind: 'account', value: account })
      accounts.set(accountId, account)
      return account
    },

    keys: (accountId) => ofAccount(keys, accountId).map(withoutDigest),
    addKey(accountId, { name, scopes, value = drawSecret('sk', randomBytes) }) {
      find(accountId)
      const digest = digestOf(value)
      if ([...keys.values()].some((key) => key.digest === digest)) {
        throw new KeyTaken('this value is, or was, the value of another key; choose another, or have one drawn')
      }
      const keyId = drawId('key', randomBytes)
      const key = { keyId, accountId, name, scopes: [...scopes], createdAt: clock.now(), revokedAt: null }
      save({ kind: 'key', value: { ...key, digest } })
      keys.set(keyId, { ...key, digest })
      admit({ ...key, digest })
      return { ...key, value }
    },
    revokeKey(keyId) {
      const key = keys.get(keyId)
      if (key === undefined) return null
      if (key.revokedAt !== null) return withoutDigest(key)
      const revoked = { ...key, revokedAt: clock.now() }
      save({ kind: 'key', value: revoked })
      keys.set(keyId, revoked)
      admit(revoked)
      return withoutDigest(revoked)
    },

    allWebhooks: () => [...webhooks.values()],
    webhooks: (accountId) => ofAccount(webhooks, accountId),
    addWebhook(accountId, { url, events, secret }) {
      find(accountId)
      refuseMore(ofAccount(webhooks, accountId).length, mostWebhooks, 'webhooks')
      const webhook = {
        webhookId: drawId('wh', randomBytes),
        accountId,
        url,
        events: [...events],
        secret: secret ?? drawSecret('whsec', randomBytes),
        createdAt: clock.now(),
      }
      putWebhook(webhook)
      return { webhook, isGenerated: secret === undefined }
    },
    updateWebhook(accountId, webhookId, change) {
      const webhook = webhooks.get(webhookId)
      if (webhook?.accountId !== accountId) return null
      const changed = { ...webhook, ...withoutUndefined(change) }
      putWebhook(changed)
      return changed
    },
    removeWebhook(accountId, webhookId) {
      if (webhooks.get(webhookId)?.accountId !== accountId) return false
      save({ kind: 'webhook-removed', webhookId })
      webhooks.delete(webhookId)
      onEndpointGone()
      return true
    },

    alerts: (accountId) => ofAccount(alerts, accountId),
    alert(accountId, alertId) {
      const alert = alerts.get(alertId)
      return alert?.accountId === accountId ? alert : null
    },
    addAlert(accountId, { type, address, network, threshold, webhookUrl, label }) {
      find(accountId)
      refuseMore(ofAccount(alerts, accountId).length, mostAlerts, 'alerts')
      const watched = { alertId: drawId('alrt', randomBytes), type, address, network, threshold }
      const alert = { ...watched, accountId, webhookUrl, label, status: 'active', createdAt: clock.now() } as const
      const undo = { kind: 'alert-removed', alertId: alert.alertId } as const
      act(
        { kind: 'add-alert', ...watched, ...(isOneShot && { isOneShot }) },
        { change: { kind: 'alert', value: alert }, undo },
      )
      alerts.set(alert.alertId, alert)
      return alert
    },
    removeAlert(accountId, alertId) {
      const alert = alerts.get(alertId)
      if (alert?.accountId !== accountId) return false
      const change = { kind: 'alert-removed', alertId } as const
      act({ kind: 'remove-alert', alertId }, { change, undo: { kind: 'alert', value: alert } })
      alerts.delete(alertId)
      onEndpointGone()
      return true
    },
    anyAlert: (alertId) => alerts.get(alertId) ?? null,
    setAlertTriggered(alertId) {
      const alert = alerts.get(alertId)
      if (alert === undefined) return
      const triggered = { ...alert, status: 'triggered' } as const
      save({ kind: 'alert', value: triggered })
      alerts.set(alertId, triggered)
    },

    endpoint(endpointId) {
      const webhook = webhooks.get(endpointId)
      if (webhook !== undefined) return { id: endpointId, url: webhook.url, secret: webhook.secret }
      const alert = alerts.get(endpointId)
      if (alert === undefined) return null
      return { id: endpointId, url: alert.webhookUrl, secret: find(alert.accountId).alertSecret }
    },

    state: () => ({
      accounts: [...accounts.values()],
      keys: [...keys.values()],
      webhooks: [...webhooks.values()],
      alerts: [...alerts.values()],
    }),
    restore(state) {
      load(state)
    },
  }
}

function digestOf(key: string): string {
  return hash('sha256', key)
}

function withoutDigest({ digest: _digest, ...key }: StoredKey): ApiKey {
  return key
}

function withoutUndefined<T extends object>(change: T): T {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as T
}

function refuseMore(count: number, most: number, what: string): void {
  if (count < most) return
  throw new LimitReached(`an account has at most ${most} ${what}; delete one before you create another`)
}
