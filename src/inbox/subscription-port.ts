/**
 * `begun` before the service is asked, so that a process that dies in between leaves a trace: such a one may or may not be there.
 * Then `registered`, or `failed` if it is certain that it is not.
 */
export const subscriptionStates = ['begun', 'registered', 'failed'] as const
export type SubscriptionState = (typeof subscriptionStates)[number]

/** A registration of the receiver with the service. */
export interface Subscription {
  /** 1, 2, 3 … in the order in which they were begun. */
  readonly id: number
  /** Of url, events and label of the secret: equal if these are. */
  readonly digest: string
  readonly url: string
  readonly events: readonly string[]
  readonly secretLabel: string
  readonly state: SubscriptionState
  /** When it was begun: milliseconds since 1970. */
  readonly at: number
  /** What the service answered, as text, without anything secret; null if nothing was understood of it. */
  readonly answer: string | null
}

export type NewSubscription = Omit<Subscription, 'id' | 'state' | 'answer'>

export interface SubscriptionEnd {
  readonly state: Exclude<SubscriptionState, 'begun'>
  readonly answer: string | null
}

/** What registering the receiver needs: of all who try at the same time one may, whatever process it is in. */
export interface SubscriptionPort {
  /** The newest that has not failed. */
  subscription(): Promise<Subscription | null>
  /**
   * Begins one, durably, if the newest that has not failed is the one with the id `replaces`, or there is none and it is null.
   * Else nothing is done, and it gives null: somebody else was first. Not idempotent.
   */
  beginSubscription(next: NewSubscription, replaces: number | null, by?: string): Promise<Subscription | null>
  /** Says how one that was begun has ended. Of one that has ended, or never was, nothing is changed. Idempotent. */
  endSubscription(id: number, result: SubscriptionEnd, by?: string): Promise<void>
}
