// What the control routes of an emulator give, as far as commands look at it. Times are ISO strings of world time.

export interface ClockJson {
  readonly mode: 'real' | 'scaled' | 'manual'
  readonly speed: number
  readonly now: string
}

export interface CountsJson {
  readonly pending: number
  readonly inFlight: number
  readonly acknowledged: number
  readonly undelivered: number
  readonly cancelled: number
  readonly attempts: number
}

export interface DeliveryJson {
  readonly deliveryId: string
  readonly eventId: string
  readonly eventType: string
  readonly endpointId: string
  readonly url: string
  readonly isReplay: boolean
  readonly state: 'pending' | 'acknowledged' | 'undelivered' | 'cancelled'
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly lastStatus: number | null
  readonly lastFailure: string | null
}

export interface TriggeredJson {
  readonly type: string
  readonly count: number
  /** Those that arose at once; the id is null of a listing that is still to be told. */
  readonly events: readonly { readonly eventId: string | null; readonly token?: string }[]
  readonly isRaw: boolean
}

export interface EventJson {
  readonly seq: number
  readonly event: {
    readonly id: string
    readonly type: string
    readonly created_at: string
    readonly data: Readonly<Record<string, unknown>>
  }
}

export interface AttemptJson {
  readonly eventId: string
  readonly eventType: string
  readonly attempt: number
  readonly isExtra: boolean
  readonly at: string
  readonly nextAttemptAt: string | null
}

export interface TriggerBody {
  readonly type: string
  readonly count: number
  /** Per second of world time. */
  readonly rate?: number
  readonly set?: Readonly<Record<string, unknown>>
}

export interface FaultJson {
  readonly fault: { readonly kind: string }
}

/** Which deliveries are listed. */
export interface DeliveriesQuery {
  readonly type?: string
  readonly endpoint?: string
  /** Those older than this one. */
  readonly after?: string
  readonly limit: number
}

export interface ReplayBody {
  readonly since: string
  readonly endpoint?: string
  readonly type?: string
  readonly dryRun?: boolean
}
