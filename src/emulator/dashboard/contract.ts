import type { EventType, KnownEvent, NetworkId } from '../../../schema/index.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { Scope } from '../../../schema/rest/scopes.ts'

// What the emulator answers below /_emulator, as far as the dashboard shows it. Times are ISO strings of world time.

export interface Session {
  readonly signedIn: boolean
  readonly user: string | null
  /** The published login of the demo, where it is in force. */
  readonly demo: { readonly user: string; readonly password: string } | null
}

export interface WorldClock {
  readonly mode: ClockMode
  readonly speed: number
  readonly now: string
}
export type ClockMode = 'real' | 'scaled' | 'manual'

export type DeliveryState = 'pending' | 'acknowledged' | 'undelivered' | 'cancelled'

export interface Delivery {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  /** `wh_…` or `alrt_…`. */
  readonly endpointId: string
  readonly url: string
  readonly state: DeliveryState
  /** How many were made. */
  readonly attempts: number
  readonly createdAt: string
  readonly nextAttemptAt: string | null
  readonly isReplay: boolean
  readonly lastStatus: number | null
  readonly lastFailure: string | null
}

export interface Attempt {
  /** 1 to 6. */
  readonly attempt: number
  readonly at: string
  readonly status: number | null
  readonly failure: string | null
  readonly latencyMs: number
  readonly isExtra: boolean
  readonly faults: readonly string[]
  readonly requestHeaders: Readonly<Record<string, string | readonly string[]>>
  readonly responseHeaders: Readonly<Record<string, string | readonly string[]>>
  readonly responseExcerpt: string
  readonly nextAttemptAt: string | null
}

export interface DeliveryDetail extends Delivery {
  /** The exact bytes as text. */
  readonly body: string
  /** Oldest first. */
  readonly log: readonly Attempt[]
}

/** An attempt as the stream tells it. */
export interface AttemptNews extends Attempt {
  readonly deliveryId: string
  readonly outcome: 'acknowledged' | 'failed' | 'undelivered' | 'cancelled'
}

export interface DeliveryCounts {
  readonly pending: number
  readonly inFlight: number
  readonly acknowledged: number
  readonly undelivered: number
  readonly cancelled: number
  readonly attempts: number
}

export interface WorldEvent {
  readonly seq: number
  readonly cause: string
  readonly event: KnownEvent
}

export interface World {
  readonly counts: { readonly tokens: number; readonly wallets: number }
  readonly trackedWallets: readonly { readonly network: NetworkId; readonly address: string }[]
}

export interface ApiKey {
  readonly keyId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: string
  readonly revokedAt: string | null
}

export interface Account {
  readonly accountId: string
  readonly name: string
  readonly plan: string
  readonly keys: readonly ApiKey[]
}

export interface Webhook {
  readonly webhookId: string
  readonly accountId: string
  readonly url: string
  readonly events: readonly (EventType | '*')[]
  readonly createdAt: string
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
  readonly status: string
  readonly createdAt: string
}

export interface Thresholds {
  readonly largeTradeUsd: number
  readonly milestonesUsd: readonly number[]
  readonly riskSensitivity: number
}
