import { hash } from 'node:crypto'
import type { NetworkId } from '../../../schema/index.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { Scope } from '../../../schema/rest/routes.ts'
import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { drawId, drawSecret, type RandomBytes } from '../random.ts'
import type { WorldCommand } from '../world/port.ts'

/** Requests per minute by plan (R110–R113). `unlimited` is for load tests, never a default (A54). */
export const planLimits = { free: 10, standard: 60, pro: 300, elite: 1000, unlimited: null } as const
export type Plan = keyof typeof planLimits

/** A stored key: the SHA-256 of its value in hex, never the value (R68). */
export interface StoredKey extends ApiKey {
  readonly digest: string
}

/** Everything about accounts, as plain data; each list oldest first. */
export interface AccountsState {
  readonly accounts: readonly Account[]
  readonly keys: readonly StoredKey[]
  readonly webhooks: readonly Webhook[]
  readonly alerts: readonly Alert[]
}

/** URL that gets events, signed with its own secret: a webhook (R62, R63), or the `webhook_url` of an alert (A41). */
export interface Endpoint {
  /** Unique, even among endpoints with the same URL (A24). */
  readonly id: string
  readonly url: string
  readonly secret: string
}

/** The sender of a request. */
export interface Caller {
  readonly accountId: string
  readonly keyId: string
  readonly plan: Plan
  readonly scopes: readonly Scope[]
}

/** An API key without its value, which is shown once (R68). */
export interface ApiKey {
  readonly keyId: string
  readonly accountId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly revokedAt: number | null
}

export interface Webhook {
  readonly webhookId: string
  readonly accountId: string
  readonly url: string
  /** Type names, or the single `*`. */
  readonly events: readonly string[]
  readonly secret: string
  readonly createdAt: number
  /** True for a webhook that a start added for one of its endpoints. Absent in older data files. */
  readonly isFromStart?: boolean
}

export interface Alert {
  readonly alertId: string
  readonly accountId: string
  readonly type: AlertType
  readonly address: string
  readonly network: NetworkId
  readonly threshold: number
  readonly webhookUrl: string
  readonly label: string | null
  readonly status: 'active' | 'triggered'
  readonly createdAt: number
}

export type NewAlert = Pick<Alert, 'type' | 'address' | 'network' | 'threshold' | 'webhookUrl' | 'label'>

export interface Account {
  readonly accountId: string
  readonly name: string
  readonly plan: Plan
  /** Signs what alerts send (A41). */
  readonly alertSecret: string
}

/** Thrown beyond a limit: of alerts or webhooks of an account (A26), or of fault rules. */
export class LimitReached extends InboxError {
  override name = 'LimitReached'
}

/** Thrown if another key has, or had, the same value. */
export class KeyTaken extends Error {
  override name = 'KeyTaken'
}

/** A26 */
const maxAlerts = 100
const maxWebhooks = 20

export interface AccountsOptions {
  /** World time. */
  readonly clock: Pick<Clock, 'now'>
  readonly randomBytes: RandomBytes
  /** Applies a command to the world. Default: the world has no alerts. */
  readonly execute?: (command: WorldCommand) => void
  /** True if alerts fire only once (A17). Default: false. */
  readonly isOneShot?: boolean
  /** Called after a webhook or an alert is deleted. */
  readonly onEndpointDeleted?: () => void
}

export type Accounts = ReturnType<typeof createAccounts>

/** The accounts of the service, with their keys, webhooks and alerts; each list oldest first. */
export function createAccounts(options: AccountsOptions) {
  const { clock, randomBytes, isOneShot = false, execute = () => {}, onEndpointDeleted = () => {} } = options
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

  const update = (change: Partial<AccountsState>) => load({ ...state, ...change })

  /** Changes the alerts before the world applies the command, so that events within the command see them. */
  function changeAlerts(alerts: readonly Alert[], command: WorldCommand): void {
    const before = state
    update({ alerts })
    try {
      execute(command)
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

  const webhookOf = (id: string) => state.webhooks.find(({ webhookId }) => webhookId === id)
  const alertOf = (id: string) => state.alerts.find(({ alertId }) => alertId === id)

  return {
    /** Owner of the key; null if unknown or revoked. Compares digests, so timing reveals nothing. */
    authenticate: (key: string) => callers.get(digestOf(key)) ?? null,

    accounts: () => state.accounts,
    /** Creates an account, or sets the plan of an existing one with this name. */
    putAccount(name: string, plan: Plan): Account {
      const existing = state.accounts.find((account) => account.name === name)
      if (existing === undefined) {
        const accountId = drawId('acct', randomBytes)
        const account = { accountId, name, plan, alertSecret: drawSecret('whsec', randomBytes) }
        update({ accounts: [...state.accounts, account] })
        return account
      }
      const account = { ...existing, plan }
      update({ accounts: replaced(state.accounts, existing, account) })
      return account
    },
    /** Replaces the secret that signs what the account's alerts send. */
    setAlertSecret(accountId: string, alertSecret: string): void {
      const existing = find(accountId)
      update({ accounts: replaced(state.accounts, existing, { ...existing, alertSecret }) })
    },

    keys: (accountId: string): readonly ApiKey[] => ownedBy(state.keys, accountId).map(withoutDigest),
    /** Creates a key and returns its value, only here (R68). Without `value` one is generated. Throws `KeyTaken`. */
    addKey(
      accountId: string,
      key: { readonly name: string; readonly scopes: readonly Scope[]; readonly value?: string | undefined },
    ): ApiKey & { readonly value: string } {
      find(accountId)
      const { name, scopes, value = drawSecret('sk', randomBytes) } = key
      const digest = digestOf(value)
      if (state.keys.some((other) => other.digest === digest)) {
        throw new KeyTaken(
          'this value is or was the value of another key; choose another, or omit it to have one generated',
        )
      }
      const keyId = drawId('key', randomBytes)
      const added = { keyId, accountId, name, scopes: [...scopes], createdAt: clock.now(), revokedAt: null }
      update({ keys: [...state.keys, { ...added, digest }] })
      return { ...added, value }
    },
    /** Idempotent. Null if the key is unknown. */
    revokeKey(keyId: string): ApiKey | null {
      const key = state.keys.find((one) => one.keyId === keyId)
      if (key === undefined) return null
      const revoked = { ...key, revokedAt: key.revokedAt ?? clock.now() }
      update({ keys: replaced(state.keys, key, revoked) })
      return withoutDigest(revoked)
    },

    /** Webhooks of an account, or of all. */
    webhooks: (accountId?: string) => ownedBy(state.webhooks, accountId),
    /** Undefined if there is none of this id. */
    webhook: webhookOf,
    /** Throws `LimitReached` beyond 20 (A26). `isGenerated` is true if the secret was generated. */
    addWebhook(
      accountId: string,
      given: Pick<Webhook, 'url' | 'events' | 'isFromStart'> & { readonly secret?: string | undefined },
    ): { readonly webhook: Webhook; readonly isGenerated: boolean } {
      const { url, events, secret, isFromStart = false } = given
      find(accountId)
      expectRoom(ownedBy(state.webhooks, accountId).length, maxWebhooks, 'webhooks')
      const webhook = {
        webhookId: drawId('wh', randomBytes),
        accountId,
        url,
        events: [...events],
        secret: secret ?? drawSecret('whsec', randomBytes),
        createdAt: clock.now(),
        isFromStart,
      }
      update({ webhooks: [...state.webhooks, webhook] })
      return { webhook, isGenerated: secret === undefined }
    },
    /** Undefined members stay unchanged. */
    updateWebhook(
      webhook: Webhook,
      change: { readonly [K in 'url' | 'events' | 'secret']?: Webhook[K] | undefined },
    ): Webhook {
      const { url = webhook.url, events = webhook.events, secret = webhook.secret } = change
      const changed = { ...webhook, url, events, secret }
      update({ webhooks: replaced(state.webhooks, webhook, changed) })
      return changed
    },
    removeWebhook(webhook: Webhook): void {
      update({ webhooks: state.webhooks.filter(({ webhookId }) => webhookId !== webhook.webhookId) })
      onEndpointDeleted()
    },

    /** Alerts of an account, or of all. */
    alerts: (accountId?: string) => ownedBy(state.alerts, accountId),
    /** Undefined if there is none of this id. */
    alert: alertOf,
    /** Throws `LimitReached` beyond 100 (A26). The world watches the alert from now on. */
    addAlert(accountId: string, { type, address, network, threshold, webhookUrl, label }: NewAlert): Alert {
      find(accountId)
      expectRoom(ownedBy(state.alerts, accountId).length, maxAlerts, 'alerts')
      const watched = { alertId: drawId('alrt', randomBytes), type, address, network, threshold }
      const alert = { ...watched, accountId, webhookUrl, label, status: 'active', createdAt: clock.now() } as const
      changeAlerts([...state.alerts, alert], { kind: 'add-alert', ...watched, ...(isOneShot && { isOneShot }) })
      return alert
    },
    removeAlert({ alertId }: Alert): void {
      const others = state.alerts.filter((alert) => alert.alertId !== alertId)
      changeAlerts(others, { kind: 'remove-alert', alertId })
      onEndpointDeleted()
    },
    /** The account's alerts that post to `from` post to `to` instead. */
    moveAlerts(accountId: string, from: string, to: string): void {
      const isMoved = (alert: Alert) => alert.accountId === accountId && alert.webhookUrl === from
      update({ alerts: state.alerts.map((alert) => (isMoved(alert) ? { ...alert, webhookUrl: to } : alert)) })
    },
    /** Marks a one-shot alert as fired (A17). */
    setAlertTriggered(alertId: string): void {
      const alert = alertOf(alertId)
      if (alert !== undefined) update({ alerts: replaced(state.alerts, alert, { ...alert, status: 'triggered' }) })
    },

    /** URL and secret of a webhook or alert; null once it is deleted. */
    endpoint(endpointId: string): Endpoint | null {
      const webhook = webhookOf(endpointId)
      if (webhook !== undefined) return { id: endpointId, url: webhook.url, secret: webhook.secret }
      const alert = alertOf(endpointId)
      if (alert === undefined) return null
      return { id: endpointId, url: alert.webhookUrl, secret: find(alert.accountId).alertSecret }
    },

    state: () => state,
    /** Replaces everything. Leaves the world as it is. */
    restore: load,
  }
}

function ownedBy<T extends { readonly accountId: string }>(all: readonly T[], accountId?: string): readonly T[] {
  return accountId === undefined ? all : all.filter((item) => item.accountId === accountId)
}

function replaced<T>(all: readonly T[], existing: T, item: T): readonly T[] {
  return all.map((one) => (one === existing ? item : one))
}

function digestOf(key: string): string {
  return hash('sha256', key)
}

function withoutDigest({ digest: _digest, ...key }: StoredKey): ApiKey {
  return key
}

function expectRoom(count: number, max: number, items: string): void {
  if (count < max) return
  throw new LimitReached(
    'config_invalid',
    `an account has at most ${max} ${items}; delete one before you create another`,
  )
}
