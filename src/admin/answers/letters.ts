import { z } from 'zod'
import { mostDeadIds, replayStates } from '../../inbox/port.ts'
import { count, listOf, runError, time } from './common.ts'

export const deadLetter = z.object({
  run_id: z.int(),
  event_id: z.string(),
  type: z.string(),
  handler: z.string(),
  attempt: count,
  crashed: count,
  died_at: time,
  held: z.boolean().describe('whether it holds up its key'),
  error: runError,
})
export const deadLetterList = listOf(deadLetter)

export const deadGroups = z.object({
  data: z.array(
    z.object({
      handler: z.string(),
      group: z.string().describe('the error without numbers and addresses; takes `group` of the list'),
      count,
      held: count,
      first_died_at: time,
      last_died_at: time,
      sample: deadLetter.describe('the newest of them'),
    }),
  ),
  complete: z.boolean().describe('false if only the newest were looked at'),
})

const complete = z
  .boolean()
  .describe(`false: these are the first ${mostDeadIds} that the filter finds, and there are more; ask again`)

/** `dry_run`: nothing was done; the number says how many there are. */
export const requeued = z.object({ requeued: count, complete, dry_run: z.literal(true).optional() })
export const dropped = z.object({ dropped: count, complete, dry_run: z.literal(true).optional() })

export const quarantined = z.object({
  id: z.string().describe('sha256: and the hex digest of the bytes'),
  reason: z.string(),
  received_at: time,
  secret_label: z.string(),
  size_bytes: count,
  count: z.int().min(1).describe('how often the same bytes came'),
  preview: z.string().describe('the begin of the bytes as text of at most 200 characters, safe to show anywhere'),
})
export const quarantineList = listOf(quarantined)
export const quarantinedDetail = quarantined.extend({ raw_base64: z.base64().describe('the exact bytes') })

export const quarantineGroups = z.object({
  data: z.array(
    z.object({
      reason: z.string(),
      secret_label: z.string(),
      count,
      size_bytes: count,
      first_at: time,
      last_at: time,
    }),
  ),
})

/** As for dead letters. */
export const droppedBodies = z.object({ dropped: count, dry_run: z.literal(true).optional() })
export const retried = z.object({
  accepted: count,
  known: count.describe('events that were known already'),
  still_unusable: count,
  unusable: z.array(z.object({ id: z.string(), reason: z.string() })).describe('the first 100 of them'),
  dry_run: z.literal(true).optional(),
})

export const conflict = z.object({
  event_id: z.string(),
  type: z.string(),
  digest: z.string().describe('SHA-256 of the other bytes in hex'),
  received_at: time,
  count: z.int().min(1),
  size_bytes: count,
})
export const conflictList = listOf(conflict)
export const conflictDetail = conflict.extend({
  raw_base64: z.string().describe('the bytes that came; empty where they are no longer kept'),
  kept_raw_base64: z.string().describe('those that were kept'),
})

/** Requests that were not authentic, of one reason and source: kept in memory, the newest 200 groups, since the start. */
export const rejectGroup = z.object({
  id: z.string(),
  reason: z.string().describe('a stable code, such as signature_mismatch or body_too_large'),
  source: z.string().describe('the address it came from'),
  count: z.int().min(1),
  first_at: time,
  last_at: time,
  method: z.string(),
  path: z.string(),
  size_bytes: count.nullable().describe('of the newest sample; null: the body was not read'),
  explainable: z.boolean().describe('whether a sample is kept that the signature explainer can look at'),
})
export const rejectList = z.object({
  data: z.array(rejectGroup),
  dropped_groups: count.describe('groups that had to make room for newer ones'),
})
/** What the signature explainer finds in the newest sample. No field ever holds a secret or a signature. */
export const rejectExplanation = z.object({
  id: z.string(),
  code: z.string().describe('such as wrong_secret, missing, malformed, body_reserialized'),
  matched_label: z.string().nullable(),
  message: z.string().describe('what happened and what to do'),
  headers: z.record(z.string(), z.string()).describe('of the request, without those that are secret'),
  preview: z.string().describe('the begin of the body as text, safe to show anywhere'),
})

export const replay = z.object({
  id: z.int(),
  state: z.enum(replayStates),
  filter: z.record(z.string(), z.unknown()),
  per_second: z.number().nullable(),
  new_keys: z.boolean(),
  created_at: time,
  ended_at: time.nullable(),
  progress: z.number().min(0).max(1).describe('how much of the accept sequence it has looked at'),
  events: count,
  runs: count,
  skipped: count.describe('events whose bodies are no longer kept'),
  open_runs: count,
})
export const replayList = listOf(replay)
export const replayCount = z.object({ dry_run: z.literal(true), events: count, skipped: count })
export const cancelledReplay = replay.extend({ cancelled: z.boolean().describe('whether this call did it') })

export type RequeuedJson = z.output<typeof requeued>
export type DroppedJson = z.output<typeof dropped>
export type DroppedBodiesJson = z.output<typeof droppedBodies>
export type CancelledJson = z.output<typeof cancelledReplay>
export type DeadLetterJson = z.output<typeof deadLetter>
export type DeadGroupsJson = z.output<typeof deadGroups>
export type QuarantinedJson = z.output<typeof quarantined>
export type QuarantinedDetailJson = z.output<typeof quarantinedDetail>
export type QuarantineGroupsJson = z.output<typeof quarantineGroups>
export type RetriedJson = z.output<typeof retried>
export type ConflictJson = z.output<typeof conflict>
export type ConflictDetailJson = z.output<typeof conflictDetail>
export type RejectGroupJson = z.output<typeof rejectGroup>
export type RejectListJson = z.output<typeof rejectList>
export type RejectExplanationJson = z.output<typeof rejectExplanation>
export type ReplayJson = z.output<typeof replay>
export type ReplayCountJson = z.output<typeof replayCount>
