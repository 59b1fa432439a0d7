import type { NetworkId } from '../../../schema/index.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { Endpoint } from '../deliveries/port.ts'
import type { Scope } from '../../../schema/rest/scopes.ts'

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

/** Accounts before and after a change that goes with a world command. */
export interface AccountsChange {
  readonly before: AccountsState
  readonly after: AccountsState
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

/** Thrown if an account is at its limit of alerts or webhooks (A26). */
export class LimitReached extends Error {
  override name = 'LimitReached'
}

/** Thrown if another key has, or had, the given value. */
export class KeyTaken extends Error {
  override name = 'KeyTaken'
}

/**
 * The accounts of the service, with their keys, webhooks and alerts. All calls are synchronous; with a data file,
 * changes are durable on return. Times are milliseconds of world time.
 */
export interface Accounts {
  /** Owner of the key; null if unknown or revoked. Compares digests, so timing reveals nothing. */
  authenticate(key: string): Caller | null

  accounts(): readonly Account[]
  /** Creates an account, or sets the plan of an existing one with this name. */
  putAccount(name: string, plan: Plan): Account
  /** Replaces the generated secret of an account's alerts. */
  setAlertSecret(accountId: string, alertSecret: string): Account

  keys(accountId: string): readonly ApiKey[]
  /** Creates a key and returns its value, only here (R68). Without `value` one is generated. Throws `KeyTaken`. */
  addKey(
    accountId: string,
    key: { readonly name: string; readonly scopes: readonly Scope[]; readonly value?: string | undefined },
  ): ApiKey & { readonly value: string }
  /** Null if the key is unknown. */
  revokeKey(keyId: string): ApiKey | null

  /** Webhooks of all accounts, oldest first. */
  allWebhooks(): readonly Webhook[]
  webhooks(accountId: string): readonly Webhook[]
  /** Throws `LimitReached` beyond 20 (A26). `isGenerated` is true if the secret was generated. */
  addWebhook(
    accountId: string,
    webhook: { readonly url: string; readonly events: readonly string[]; readonly secret?: string | undefined },
  ): { readonly webhook: Webhook; readonly isGenerated: boolean }
  /** Null if the account has no such webhook. Undefined members stay unchanged. */
  updateWebhook(
    accountId: string,
    webhookId: string,
    change: { readonly [K in 'url' | 'events' | 'secret']?: Webhook[K] | undefined },
  ): Webhook | null
  removeWebhook(accountId: string, webhookId: string): boolean

  alerts(accountId: string): readonly Alert[]
  alert(accountId: string, alertId: string): Alert | null
  /** Throws `LimitReached` beyond 100 (A26). The world watches the alert from now on. */
  addAlert(accountId: string, alert: NewAlert): Alert
  removeAlert(accountId: string, alertId: string): boolean
  /** An alert of any account; null if there is none of this id. */
  anyAlert(alertId: string): Alert | null
  /** Marks a one-shot alert as fired (A17). */
  setAlertTriggered(alertId: string): void

  /** URL and secret of a webhook or alert; null once it is deleted. */
  endpoint(endpointId: string): Endpoint | null
}
