import { z } from 'zod'
import { route } from './route.ts'
import { component, count } from './wire.ts'
import { dayMs } from '../base/clock.ts'

const pruned = component('Pruned', {
  events: count,
  quarantined: count.describe('bodies in quarantine'),
  too_large: z.boolean().describe('still larger than requested; nothing is prunable'),
})

const acknowledged = component('Acknowledged', { missing_sequence_numbers: count, gaps: count })

export type AcknowledgedJson = z.output<typeof acknowledged>

const pruneBody = z
  .strictObject({
    older_than_days: z.number().min(0).max(36_500).nullable().default(null),
    max_bytes: z.int().min(1).nullable().default(null),
  })
  .refine(({ older_than_days, max_bytes }) => older_than_days !== null || max_bytes !== null)
  .meta({ minProperties: 1 })
  .describe('{"older_than_days": 30}, {"max_bytes": 20000000000}, or both')

export const upkeepRoutes = {
  prune: route({
    group: 'upkeep',
    at: 'POST /prune',
    summary: 'Prune ended events by age, size or both',
    body: pruneBody,
    gives: pruned,
    logged: 'old events pruned',
    async answer({ inbox, now }, { body: { older_than_days: days, max_bytes: maxBytes }, by }) {
      const receivedBefore = days === null ? null : now() - days * dayMs
      const { isTooLarge, events, quarantined } = await inbox.prune({ receivedBefore, maxBytes }, 'noted', by)
      return { events, quarantined, too_large: isTooLarge }
    },
  }),
  acknowledgeGaps: route({
    group: 'upkeep',
    at: 'POST /gaps/acknowledge',
    summary: 'Acknowledge missing and lost events, which ends their warnings',
    gives: acknowledged,
    logged: 'lost events acknowledged',
    async answer({ inbox }, { by }) {
      const { missingSeqs, gaps } = await inbox.acknowledgeGaps(by)
      return { missing_sequence_numbers: missingSeqs, gaps }
    },
  }),
}
