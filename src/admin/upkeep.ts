import { z } from 'zod'
import { route } from './route.ts'
import { components, count } from './wire.ts'

const pruned = z
  .object({
    events: count,
    quarantined: count.describe('bodies in quarantine'),
    too_large: z.boolean().describe('it is still larger than requested, and nothing is left to prune'),
  })
  .register(components, { id: 'Pruned' })

/** Missing events, and times out of service with lost events, that there had been. */
const acknowledged = z
  .object({ missing_sequence_numbers: count, gaps: count })
  .register(components, { id: 'Acknowledged' })

export type AcknowledgedJson = z.output<typeof acknowledged>

const pruneBody = z
  .strictObject({
    older_than_days: z.number().min(0).max(36_500).nullable().default(null),
    max_bytes: z.int().min(1).nullable().default(null),
  })
  .refine(({ older_than_days, max_bytes }) => older_than_days !== null || max_bytes !== null)
  .meta({ minProperties: 1 })
  .describe('{"older_than_days": 30}, {"max_bytes": 20000000000}, or both')

const dayMs = 24 * 3_600_000

export const upkeepRoutes = {
  prune: route({
    group: 'upkeep',
    at: 'POST /prune',
    summary: 'Prune ended events by age, size or both',
    body: pruneBody,
    gives: pruned,
    logged: 'old events were pruned by the admin API',
    async answer({ inbox, now }, { body: { older_than_days: days, max_bytes: maxBytes }, by }) {
      const receivedBefore = days === null ? null : now() - days * dayMs
      const { isTooLarge, events, quarantined } = await inbox.prune({ receivedBefore, maxBytes }, 'noted', by)
      return { events, quarantined, too_large: isTooLarge }
    },
  }),
  acknowledgeGaps: route({
    group: 'upkeep',
    at: 'POST /gaps/acknowledge',
    summary: 'Acknowledge missing and lost events, so that they warn no more',
    gives: acknowledged,
    logged: 'missing and lost events were acknowledged by the admin API',
    async answer({ inbox }, { by }) {
      const { missingSeqs, gaps } = await inbox.acknowledgeGaps(by)
      return { missing_sequence_numbers: missingSeqs, gaps }
    },
  }),
}
