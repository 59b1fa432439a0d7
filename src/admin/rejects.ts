import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { route } from './route.ts'
import { component, count, time, toFields } from './wire.ts'

const rejectGroup = component('RejectGroup', {
  id: z.string(),
  reason: z.string().describe('stable, such as signature_mismatch or body_too_large'),
  client: z.string().describe('client address'),
  count: z.int().min(1),
  first_at: time,
  last_at: time,
  method: z.string(),
  path: z.string(),
  size_bytes: count.nullable().describe('size of the newest body; null: not read'),
  explainable: z.boolean().describe('true if the newest request can be explained'),
})
const rejectList = component('RejectList', { data: z.array(rejectGroup) })

/** Contains no secret and no signature. */
const rejectExplanation = component('RejectExplanation', {
  id: z.string(),
  code: z.string().describe('such as wrong_secret, missing, malformed, body_json'),
  matched_label: z.string().nullable(),
  message: z.string().describe('cause and advice'),
  headers: z.record(z.string(), z.string()).describe('stored headers of the request'),
  preview: z.string().describe('start of the body as safe text'),
})

export type RejectGroupJson = z.output<typeof rejectGroup>
export type RejectListJson = z.output<typeof rejectList>
export type RejectExplanationJson = z.output<typeof rejectExplanation>

export const rejectRoutes = {
  listRejects: route({
    at: 'GET /rejects',
    summary: 'List rejected requests by reason and address, latest first',
    gives: rejectList,
    answer: ({ rejects }) => ({ data: (rejects?.list() ?? []).map((group) => toFields(rejectGroup, group)) }),
  }),
  explainReject: route({
    at: 'GET /rejects/:id',
    param: { name: 'id', description: 'The id of the group.' },
    summary: 'Explain the signature of the newest request of a group',
    gives: rejectExplanation,
    answer({ rejects }, { id }) {
      const explanation = rejects?.explain(id) ?? null
      if (explanation === null) {
        throw new InboxError('not_found', 'no group of rejects has this id, or its newest request is no longer kept')
      }
      return { ...toFields(rejectExplanation, { ...explanation, id }), headers: { ...explanation.headers } }
    },
  }),
}
