import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { route } from './route.ts'
import { components, count, time, toWire } from './wire.ts'

/** Requests that were not authentic, of one reason and source: the newest 200 groups since the start, in memory. */
const rejectGroup = z
  .object({
    id: z.string(),
    reason: z.string().describe('a stable code, such as signature_mismatch or body_too_large'),
    source: z.string().describe('the address it came from'),
    count: z.int().min(1),
    first_at: time,
    last_at: time,
    method: z.string(),
    path: z.string(),
    size_bytes: count.nullable().describe('of the newest sample; null: the body was not read'),
    explainable: z.boolean().describe('whether a sample is kept that the signature explainer can read'),
  })
  .register(components, { id: 'RejectGroup' })
const rejectList = z
  .object({
    data: z.array(rejectGroup),
    dropped_groups: count.describe('groups that were dropped for newer ones'),
  })
  .register(components, { id: 'RejectList' })

/** What the signature explainer finds in the newest sample. No field ever holds a secret or a signature. */
const rejectExplanation = z
  .object({
    id: z.string(),
    code: z.string().describe('such as wrong_secret, missing, malformed, body_reserialized'),
    matched_label: z.string().nullable(),
    message: z.string().describe('what happened and what to do'),
    headers: z.record(z.string(), z.string()).describe('of the request, without secret ones'),
    preview: z.string().describe('the first bytes of the body as text, safe to show anywhere'),
  })
  .register(components, { id: 'RejectExplanation' })

export type RejectGroupJson = z.output<typeof rejectGroup>
export type RejectListJson = z.output<typeof rejectList>
export type RejectExplanationJson = z.output<typeof rejectExplanation>

export const rejectRoutes = {
  listRejects: route({
    at: 'GET /rejects',
    summary: 'List rejected requests by reason and address, latest first',
    gives: rejectList,
    answer({ rejects }) {
      const { groups, droppedGroups } = rejects?.list() ?? { groups: [], droppedGroups: 0 }
      const data = groups.map(({ isExplainable, ...group }) => ({ ...toWire(group), explainable: isExplainable }))
      return { data, dropped_groups: droppedGroups }
    },
  }),
  explainReject: route({
    at: 'GET /rejects/:id',
    param: { name: 'id', description: 'The id of the group, as the list gives it.' },
    summary: 'Explain the signature of the newest request of a group',
    gives: rejectExplanation,
    answer({ rejects }, { id }) {
      const found = rejects?.explain(id) ?? null
      if (found === null) {
        throw new InboxError('not_found', 'there is no group of rejected requests with this id, or its sample is gone')
      }
      const { code, matchedLabel, message, headers, preview } = found
      return { id, code, matched_label: matchedLabel, message, headers: { ...headers }, preview }
    },
  }),
}
