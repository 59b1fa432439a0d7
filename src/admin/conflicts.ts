import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { pageParameters } from './parse.ts'
import { route } from './route.ts'
import { component, count, listOf, time, toBuffer, toPage, toWire } from './wire.ts'

const conflict = component('Conflict', {
  event_id: z.string(),
  type: z.string(),
  digest: z.string().describe('SHA-256 of the different body in hex'),
  received_at: time,
  count: z.int().min(1),
  size_bytes: count,
})
const conflictList = listOf('ConflictList', conflict)
const conflictDetail = component('ConflictDetail', {
  ...conflict.shape,
  raw_base64: z.string().describe('the different body; empty if pruned'),
  kept_raw_base64: z.string().describe('the stored body'),
})

export type ConflictJson = z.output<typeof conflict>
export type ConflictDetailJson = z.output<typeof conflictDetail>

export const conflictRoutes = {
  listConflicts: route({
    at: 'GET /conflicts',
    summary: 'List deliveries of known ids with different bodies, newest first',
    query: pageParameters,
    gives: conflictList,
    answer: async ({ inbox }, { query }) => toPage(await inbox.conflicts(query), (row): ConflictJson => toWire(row)),
  }),
  getConflict: route({
    at: 'GET /conflicts/:id',
    param: { name: 'id', description: "The sender's id of the event." },
    summary: 'Show the different and the stored body',
    query: z.strictObject({
      digest: z
        .string()
        .regex(/^[0-9a-f]{64}$/)
        .describe('the digest of the different body from the list, 64 lower-case hex digits'),
    }),
    gives: conflictDetail,
    async answer({ inbox }, { id, query: { digest } }) {
      const stored = await inbox.conflict(id, digest)
      if (stored === null) throw new InboxError('not_found', 'this event has no different body with this digest')
      const { raw, keptRaw, ...row } = stored
      const base64 = (bytes: Uint8Array) => toBuffer(bytes).toString('base64')
      return { ...toWire(row), raw_base64: base64(raw), kept_raw_base64: base64(keptRaw) }
    },
  }),
}
