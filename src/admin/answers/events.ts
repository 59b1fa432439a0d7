import { z } from 'zod'
import { eventStatuses, runStates } from '../../inbox/port.ts'
import { count, listOf, runError, time } from './common.ts'

export const eventSummary = z.object({
  seq: z.int().min(1).describe('accept sequence: 1, 2, 3 … without gaps'),
  id: z.string(),
  type: z.string(),
  created_at: z.string().describe('of the envelope, as it came'),
  received_at: time,
  network: z.string().nullable(),
  address: z.string().nullable(),
  status: z.enum(eventStatuses),
})

/** `searched_to`: how far back it has looked; older events may match where `next_cursor` is not null. */
export const eventList = listOf(eventSummary).extend({
  searched_to: time.nullable().describe('when the oldest event that was looked at was received; null: none was'),
})

export const attempt = z.object({
  run_id: z.int(),
  handler: z.string(),
  replay: z.int().nullable().describe('the replay it is of; null: it is live'),
  attempt: z.int().min(1),
  started_at: time,
  ended_at: time,
  outcome: z.enum(['done', 'retry', 'dead', 'crashed', 'dropped']),
  error: runError.nullable(),
})

export const run = z.object({
  run_id: z.int(),
  handler: z.string(),
  state: z.enum(runStates),
  attempt: count,
  crashed: count,
  run_at: time.nullable().describe('when it may be tried next; null where it is running or has ended'),
  replay: z.int().nullable(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  item: z
    .object({ payload: z.unknown(), idempotency_key: z.string() })
    .nullable()
    .describe('what a sink is to deliver, where another run left it in the outbox'),
  state_keys: z.array(z.string()).describe('keys of its state that it wrote last'),
})

export const eventDetail = eventSummary.extend({
  key: z.string(),
  pruned: z.boolean().describe('whether its body and its runs are gone'),
  envelope: z.unknown().describe('the parsed body, every digit of its numbers kept; null where it is no longer kept'),
  receipt: z.object({
    received_at: time,
    stored_at: time.nullable().describe('when the transaction that stored it began'),
    secret_label: z.string(),
    size_bytes: count,
    duplicates: count.describe('how often the same body came again'),
    conflicts: count.describe('how often another body came with this id'),
    headers: z.record(z.string(), z.string()).nullable().describe('without those that are secret; null: not kept'),
    traceparent: z.string().nullable(),
  }),
  runs: z.array(run),
  timeline: z.array(attempt).describe('the attempts of all runs, oldest first'),
})

export type EventSummaryJson = z.output<typeof eventSummary>
export type EventListJson = z.output<typeof eventList>
export type EventDetailJson = z.output<typeof eventDetail>
export type RunJson = z.output<typeof run>
export type AttemptJson = z.output<typeof attempt>
