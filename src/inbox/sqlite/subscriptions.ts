import {
  subscriptionStates,
  type NewSubscription,
  type Subscription,
  type SubscriptionEnd,
  type SubscriptionState,
} from '../port.ts'
import type { Statements, SubscriptionRow } from './statements.ts'

/** Registrations with the service, each method to be called inside a transaction. */
export function createSubscriptions(sql: Statements) {
  const newest = () => toSubscription(sql.newestSubscription.get())
  return {
    newest,
    begin(next: NewSubscription, replaces: number | null): Subscription | null {
      if ((newest()?.id ?? null) !== replaces) return null
      sql.insertSubscription.run(next.digest, next.url, JSON.stringify(next.events), next.secretLabel, next.at)
      return newest()
    },
    /** Whether anything was changed. */
    end: (id: number, { state, answer }: SubscriptionEnd): boolean =>
      sql.endSubscription.run(subscriptionStates.indexOf(state), answer, id).changes === 1,
  }
}

function toSubscription(row: SubscriptionRow | undefined): Subscription | null {
  if (row === undefined) return null
  const state = subscriptionStates[row.state] as SubscriptionState
  return { ...row, state, events: JSON.parse(row.events) as readonly string[] }
}
