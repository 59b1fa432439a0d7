import type { WorldAct } from '../world/port.ts'
import type { Account, Alert, ApiKey, Webhook } from './port.ts'

/** A key as it is kept: the SHA-256 of its value in hex, never the value (R68). */
export interface StoredKey extends ApiKey {
  readonly digest: string
}

/** Everything about accounts, as plain data; each list in the order in which it came about. */
export interface AccountsState {
  readonly accounts: readonly Account[]
  readonly keys: readonly StoredKey[]
  readonly webhooks: readonly Webhook[]
  readonly alerts: readonly Alert[]
}

export const emptyAccounts: AccountsState = { accounts: [], keys: [], webhooks: [], alerts: [] }

/** One change of it. What has the identifier of something that is there takes its place. */
export type AccountsChange =
  | { readonly kind: 'account'; readonly value: Account }
  | { readonly kind: 'key'; readonly value: StoredKey }
  | { readonly kind: 'webhook'; readonly value: Webhook }
  | { readonly kind: 'webhook-removed'; readonly webhookId: string }
  | { readonly kind: 'alert'; readonly value: Alert }
  | { readonly kind: 'alert-removed'; readonly alertId: string }

/** Makes a change durable. What it throws, the caller gets, and nothing has changed. */
export type SaveChange = (change: AccountsChange) => void

/** What changes with an act upon the world, and how it is undone if the world refuses the act. */
export interface Alongside {
  readonly change: AccountsChange
  readonly undo: AccountsChange
}

/** Makes a change and an act upon the world durable together, then applies the act. Throws as `WorldActs.apply`. */
export type ActAlongside = (act: WorldAct, alongside: Alongside) => void
