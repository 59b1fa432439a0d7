import type { NetworkId } from '../../../schema/index.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { Endpoint } from '../deliveries/port.ts'
import type { Scope } from '../../../schema/rest/scopes.ts'

/** Requests per minute by plan (R110–R113). `unlimited` is for load tests, never a default (A54). */
export const planLimits = { free: 10, standard: 60, pro: 300, elite: 1000, unlimited: null } as const
export type Plan = keyof typeof planLimits

/** A key as it is stored: the SHA-256 of its value in hex, never the value (R68). */
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

/** The accounts before and after an act upon the world that goes with a change of theirs. */
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

/** An API key as it is listed: never its value, which is shown once (R68). */
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

/** Thrown where an account has as many alerts or webhooks as it may (A26). */
export class LimitReached extends Error {
  override name = 'LimitReached'
}

/** Thrown where a key is given a value that another key has, or had. */
export class KeyTaken extends Error {
  override name = 'KeyTaken'
}

/**
 * The accounts of the service and what belongs to them. A change is durable before the call returns, if there is a
 * file; every call is synchronous. Times are milliseconds of world time.
 */
export interface Accounts {
  /** Who the key belongs to; null if it is unknown or revoked. Compares digests, so its time tells nothing. */
  authenticate(key: string): Caller | null

  accounts(): readonly Account[]
  /** The name is its handle: one that exists gets the plan. */
  putAccount(name: string, plan: Plan): Account
  /** Gives an account the secret of its alerts, in place of the one that was drawn. */
  setAlertSecret(accountId: string, alertSecret: string): Account

  keys(accountId: string): readonly ApiKey[]
  /** `value` is given back here and nowhere else (R68); without one it is drawn. Throws `KeyTaken`. */
  addKey(
    accountId: string,
    key: { readonly name: string; readonly scopes: readonly Scope[]; readonly value?: string | undefined },
  ): ApiKey & { readonly value: string }
  /** Null if there is no such key. */
  revokeKey(keyId: string): ApiKey | null

  /** Of all accounts, oldest first. */
  allWebhooks(): readonly Webhook[]
  webhooks(accountId: string): readonly Webhook[]
  /** Throws `LimitReached` beyond 20 (A26). `isGenerated` tells whether the secret was made here. */
  addWebhook(
    accountId: string,
    webhook: { readonly url: string; readonly events: readonly string[]; readonly secret?: string | undefined },
  ): { readonly webhook: Webhook; readonly isGenerated: boolean }
  /** Null if the account has none of this id. Undefined members stay as they are. */
  updateWebhook(
    accountId: string,
    webhookId: string,
    change: { readonly [K in 'url' | 'events' | 'secret']?: Webhook[K] | undefined },
  ): Webhook | null
  removeWebhook(accountId: string, webhookId: string): boolean

  alerts(accountId: string): readonly Alert[]
  alert(accountId: string, alertId: string): Alert | null
  /** Throws `LimitReached` beyond 100 (A26). The world watches for it from now on. */
  addAlert(accountId: string, alert: NewAlert): Alert
  removeAlert(accountId: string, alertId: string): boolean
  /** An alert of whichever account; null if there is none of this id. */
  anyAlert(alertId: string): Alert | null
  /** An alert that fires once only has fired (A17). */
  setAlertTriggered(alertId: string): void

  /** Where a webhook or an alert wants its events, and what signs them; null once it is gone. */
  endpoint(endpointId: string): Endpoint | null
}
