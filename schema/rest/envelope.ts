import { z } from 'zod'
import { errorObject } from './error.ts'
import { assumed } from '../fields.ts'
import { exampleTime } from './examples.ts'
import { count, network, resource, timestamp } from './fields.ts'
import { pageLimits } from './parameters.ts'

const time = { timestamp: timestamp.describe('Time of the response, UTC.') }
const latency = count.describe('Processing time in milliseconds.')

/** The three kinds of `meta` (R11–R14, R53): plain, about one network, and of a page. */
export const metas = {
  plain: resource('About the response.', { ...time, latency_ms: latency }, { timestamp: exampleTime, latency_ms: 4 }),
  network: resource(
    'About a response for one network.',
    { ...time, network: network.describe('Network that the query was resolved against.'), latency_ms: latency },
    { timestamp: exampleTime, network: 'ethereum', latency_ms: 4 },
  ),
  page: resource(
    'About a page of a list.',
    {
      ...time,
      next_cursor: assumed(z.string().nullable().optional(), 'A61').describe(
        'Pass it as `cursor` for the next page; null or absent on the last page.',
      ),
      limit: z.int().min(pageLimits.min).max(pageLimits.max).describe('Items per page.'),
      total: assumed(count, 'A60').describe('Number of items at the time of the request.'),
      latency_ms: assumed(latency, 'A1').optional(),
    },
    { timestamp: exampleTime, next_cursor: null, limit: 20, total: 1, latency_ms: 4 },
  ),
} as const
export type MetaKind = keyof typeof metas

/** A successful response (R8, R9). */
export function successEnvelope<D extends z.ZodType>(data: D, meta: MetaKind) {
  return z.object({ success: z.literal(true), data, meta: metas[meta] })
}

/** An error response: `error` in place of `data` (R10, R106). */
export const errorEnvelope = z
  .object({ success: z.literal(false), error: errorObject, meta: assumed(metas.plain, 'A53') })
  .describe('An error response.')
