import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import {
  KeyTaken,
  LimitReached,
  type Account,
  type Accounts,
  type AccountsState,
  type Alert,
  type AccountsChange,
  type ApiKey,
  type Caller,
  type StoredKey,
} from './port.ts'
import { drawId, drawSecret, type RandomBytes } from '../random.ts'
import type { WorldCommand } from '../world/port.ts'

/** A26 */
const maxAlerts = 100
const maxWebhooks = 20

export interface AccountsOptions {
  /** World time. */
  readonly clock: Pick<Clock, 'now'>
  readonly randomBytes: RandomBytes
  /** Makes a state durable. If it throws, nothing changes. Default: nothing is stored. */
  readonly save?: (state: AccountsState) => void
  /** Makes the state and a world command durable together, then applies the command. Default: the world has no alerts. */
  readonly execute?: (command: WorldCommand, change: AccountsChange) => void
  /** True if alerts fire only once (A17). Default: false. */
  readonly isOneShot?: boolean
  /** Called after a webhook or an alert is deleted. */
  readonly onEndpointGone?: () => void
}

/** The accounts, with snapshot and restore. */
export interface AccountStore extends Accounts {
  state(): AccountsState
  /** Replaces everything. Stores nothing and leaves the world as it is. */
  restore(state: AccountsState): void
}

/** Keeps accounts in memory; `save` persists them. */
export function createAccounts(options: AccountsOptions): AccountStore {
  const { clock, randomBytes, isOneShot = false } = options
  const { save = () => {}, execute = () => {}, onEndpointGone = () => {} } = options
  let state: AccountsState = { accounts: [], keys: [], webhooks: [], alerts: [] }
  /** Callers by key digest: lookup time reveals nothing about a key. */
  let callers: ReadonlyMap<string, Caller> = new Map()

  function load(loaded: AccountsState): void {
    state = loaded
    callers = new Map(
      state.keys
        .filter(({ revokedAt }) => revokedAt === null)
        .map(({ digest, keyId, accountId, scopes }) => {
          return [digest, { accountId, keyId, plan: find(accountId).plan, scopes }]
        }),
    )
  }

  function commit(change: Partial<AccountsState>): void {
    const changed = { ...state, ...change }
    save(changed)
    load(changed)
  }

  /** Applies the change before the command, so that events within the command see it. */
  function commitWith(command: WorldCommand, alerts: readonly Alert[]): void {
    const before = state
    state = { ...state, alerts }
    try {
      execute(command, { before, after: state })
    } catch (error) {
      state = before
      throw error
    }
  }

  function find(accountId: string): Account {
    const account = state.accounts.find((one) => one.accountId === accountId)
    if (account === undefined) throw new RangeError(`unknown account ${accountId}`)
    return account
  }

  return {
    authenticate: (key) => callers.get(digestOf(key)) ?? null,

    accounts: () => state.accounts,
    putAccount(name, plan) {
      const known = state.accounts.find((account) => account.name === name)
      const account = known
        ? { ...known, plan }
        : { accountId: drawId('acct', randomBytes), name, plan, alertSecret: drawSecret('whsec', randomBytes) }
      commit({ accounts: put(state.accounts, known, account) })
      return account
    },
    setAlertSecret(accountId, alertSecret) {
      const known = find(accountId)
      const account = { ...known, alertSecret }
      commit({ accounts: put(state.accounts, known, account) })
      return account
    },

    keys: (accountId) => of(state.keys, accountId).map(withoutDigest),
    addKey(accountId, { name, scopes, value = drawSecret('sk', randomBytes) }) {
      find(accountId)
      const digest = digestOf(value)
      if (state.keys.some((key) => key.digest === digest)) {
        throw new KeyTaken(
          'this value is or was the value of another key; choose another, or omit it to have one generated',
        )
      }
      const keyId = drawId('key', randomBytes)
      const key = { keyId, accountId, name, scopes: [...scopes], createdAt: clock.now(), revokedAt: null }
      commit({ keys: [...state.keys, { ...key, digest }] })
      return { ...key, value }
    },
    revokeKey(keyId) {
      const key = state.keys.find((one) => one.keyId === keyId)
      if (key === undefined) return null
      if (key.revokedAt !== null) return withoutDigest(key)
      const revoked = { ...key, revokedAt: clock.now() }
      commit({ keys: put(state.keys, key, revoked) })
      return withoutDigest(revoked)
    },

    allWebhooks: () => state.webhooks,
    webhooks: (accountId) => of(state.webhooks, accountId),
    addWebhook(accountId, { url, events, secret }) {
      find(accountId)
      refuseMore(of(state.webhooks, accountId).length, maxWebhooks, 'webhooks')
      const webhook = {
        webhookId: drawId('wh', randomBytes),
        accountId,
        url,
        events: [...events],
        secret: secret ?? drawSecret('whsec', randomBytes),
        createdAt: clock.now(),
      }
      commit({ webhooks: [...state.webhooks, webhook] })
      return { webhook, isGenerated: secret === undefined }
    },
    updateWebhook(accountId, webhookId, change) {
      const webhook = of(state.webhooks, accountId).find((one) => one.webhookId === webhookId)
      if (webhook === undefined) return null
      const { url = webhook.url, events = webhook.events, secret = webhook.secret } = change
      const changed = { ...webhook, url, events, secret }
      commit({ webhooks: put(state.webhooks, webhook, changed) })
      return changed
    },
    removeWebhook(accountId, webhookId) {
      const webhook = of(state.webhooks, accountId).find((one) => one.webhookId === webhookId)
      if (webhook === undefined) return false
      commit({ webhooks: state.webhooks.filter((one) => one !== webhook) })
      onEndpointGone()
      return true
    },

    alerts: (accountId) => of(state.alerts, accountId),
    alert: (accountId, alertId) => of(state.alerts, accountId).find((alert) => alert.alertId === alertId) ?? null,
    addAlert(accountId, { type, address, network, threshold, webhookUrl, label }) {
      find(accountId)
      refuseMore(of(state.alerts, accountId).length, maxAlerts, 'alerts')
      const watched = { alertId: drawId('alrt', randomBytes), type, address, network, threshold }
      const alert = { ...watched, accountId, webhookUrl, label, status: 'active', createdAt: clock.now() } as const
      commitWith({ kind: 'add-alert', ...watched, ...(isOneShot && { isOneShot }) }, [...state.alerts, alert])
      return alert
    },
    removeAlert(accountId, alertId) {
      const alert = of(state.alerts, accountId).find((one) => one.alertId === alertId)
      if (alert === undefined) return false
      commitWith(
        { kind: 'remove-alert', alertId },
        state.alerts.filter((one) => one !== alert),
      )
      onEndpointGone()
      return true
    },
    anyAlert: (alertId) => state.alerts.find((alert) => alert.alertId === alertId) ?? null,
    setAlertTriggered(alertId) {
      const alert = state.alerts.find((one) => one.alertId === alertId)
      if (alert !== undefined) commit({ alerts: put(state.alerts, alert, { ...alert, status: 'triggered' }) })
    },

    endpoint(endpointId) {
      const webhook = state.webhooks.find((one) => one.webhookId === endpointId)
      if (webhook !== undefined) return { id: endpointId, url: webhook.url, secret: webhook.secret }
      const alert = state.alerts.find((one) => one.alertId === endpointId)
      if (alert === undefined) return null
      return { id: endpointId, url: alert.webhookUrl, secret: find(alert.accountId).alertSecret }
    },

    state: () => state,
    restore: load,
  }
}

function of<T extends { readonly accountId: string }>(all: readonly T[], accountId: string): readonly T[] {
  return all.filter((one) => one.accountId === accountId)
}

/** Returns the list with `known` replaced by `item`, or with `item` appended if `known` is undefined. */
function put<T>(all: readonly T[], known: T | undefined, item: T): readonly T[] {
  return known === undefined ? [...all, item] : all.map((one) => (one === known ? item : one))
}

function digestOf(key: string): string {
  return hash('sha256', key)
}

function withoutDigest({ digest: _digest, ...key }: StoredKey): ApiKey {
  return key
}

function refuseMore(count: number, most: number, what: string): void {
  if (count < most) return
  throw new LimitReached(`an account has at most ${most} ${what}; delete one before you create another`)
}
