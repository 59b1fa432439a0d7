import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { pageParameters } from './parse.ts'
import { route } from './route.ts'
import { components, count, listOf, time, toBuffer, toPage, toWire } from './wire.ts'

const conflict = z
  .object({
    event_id: z.string(),
    type: z.string(),
    digest: z.string().describe('SHA-256 of the other bytes in hex'),
    received_at: time,
    count: z.int().min(1),
    size_bytes: count,
  })
  .register(components, { id: 'Conflict' })
const conflictList = listOf(conflict).register(components, { id: 'ConflictList' })
const conflictDetail = conflict
  .extend({
    raw_base64: z.string().describe('the bytes that came; empty where they are no longer kept'),
    kept_raw_base64: z.string().describe('the bytes that were kept'),
  })
  .register(components, { id: 'ConflictDetail' })

export type ConflictJson = z.output<typeof conflict>
export type ConflictDetailJson = z.output<typeof conflictDetail>

export const conflictRoutes = {
  listConflicts: route({
    at: 'GET /conflicts',
    summary: 'List deliveries whose id was known with another body, newest first',
    query: pageParameters,
    gives: conflictList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.conflicts(query), (one): ConflictJson => toWire(one)),
  }),
  getConflict: route({
    at: 'GET /conflicts/:id',
    param: { name: 'id', description: "The sender's id of the event." },
    summary: 'Show such a body, with the one that was kept',
    query: z.strictObject({
      digest: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .describe('the digest of the other body, 64 hex digits in lower case, as the list gives it'),
    }),
    gives: conflictDetail,
    async answer({ inbox }, { id, query: { digest } }) {
      const found = await inbox.conflict(id, digest)
      if (found === null) throw new InboxError('not_found', 'no other body with this digest is known for this event')
      const { raw, keptRaw, ...row } = found
      const base64 = (bytes: Uint8Array) => toBuffer(bytes).toString('base64')
      return { ...toWire(row), raw_base64: base64(raw), kept_raw_base64: base64(keptRaw) }
    },
  }),
}
