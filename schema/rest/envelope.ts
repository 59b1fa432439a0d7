import { z } from 'zod'
import { errorObject } from './error.ts'
import { assumed, count, network, timestamp } from './fields.ts'
import { pageLimits } from './parameters.ts'

const time = { timestamp: timestamp.describe('When the answer was made, UTC.') }
const latency = count.describe('How long the service worked on it, in milliseconds.')

/** The three kinds of `meta` (R11–R14, R53): most answers, those about one network, and pages of lists. */
export const metas = {
  plain: z.object({ ...time, latency_ms: latency }).describe('About the answer.'),
  network: z
    .object({ ...time, network: network.describe('Network that the query was resolved against.'), latency_ms: latency })
    .describe('About an answer that concerns one network.'),
  page: z
    .object({
      ...time,
      next_cursor: assumed(z.string().nullable().optional(), 'A61').describe(
        'To be passed as `cursor` for the next page; null or absent on the last.',
      ),
      limit: z.int().min(pageLimits.min).max(pageLimits.max).describe('Items per page.'),
      total: assumed(count, 'A60').describe('How many items there are at the time of the request.'),
      latency_ms: assumed(latency, 'A1').optional(),
    })
    .describe('About a page of a list.'),
} as const
export type MetaKind = keyof typeof metas

/** A whole answer that is a success (R8, R9). */
export function successEnvelope<D extends z.ZodType>(data: D, meta: MetaKind) {
  return z.object({ success: z.literal(true), data, meta: metas[meta] })
}

/** A whole answer that is a failure: `error` in place of `data` (R10, R106). */
export const errorEnvelope = z
  .object({ success: z.literal(false), error: errorObject, meta: assumed(metas.plain, 'A53') })
  .describe('An answer that is a failure.')
