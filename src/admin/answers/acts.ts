import { z } from 'zod'
import { count } from './common.ts'
import { foundSubscription, reconcile, subscription } from './health.ts'

export const pruned = z.object({
  events: count,
  quarantined: count.describe('bodies in quarantine'),
  too_large: z.boolean().describe('it is larger than was asked for, and nothing is left that may be pruned'),
})

/** How many missing events, and times out of service with lost ones, there had been. */
export const acknowledged = z.object({ missing_sequence_numbers: count, gaps: count })

/** What is registered now, and which one has ended how. */
export const endedSubscription = foundSubscription.extend({
  ended: subscription.pick({ id: true, state: true }).extend({
    url: z.string().nullable().describe('null where there is a newer one'),
  }),
})

export const foundReconcile = z.object({ reconcile: reconcile.nullable().describe('null: there was none') })

export const signedOut = z.object({ signed_out: z.literal(true) })

export type PrunedJson = z.output<typeof pruned>
export type AcknowledgedJson = z.output<typeof acknowledged>
export type FoundSubscriptionJson = z.output<typeof foundSubscription>
export type EndedSubscriptionJson = z.output<typeof endedSubscription>
export type FoundReconcileJson = z.output<typeof foundReconcile>
