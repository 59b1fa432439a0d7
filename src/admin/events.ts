import { z } from 'zod'
import { InboxError } from '../base/errors.ts'
import { parseExactJson } from '../base/exact-json.ts'
import {
  defaultSource,
  eventStatuses,
  runStates,
  type AttemptRecord,
  type EventDetail,
  type EventSummary,
  type RunRecord,
} from '../inbox/port.ts'
import { eventQuery, page } from './parse.ts'
import { describeRoute, route, type AdminContext } from './route.ts'
import { component, count, isoTimeOrNull, pageShape, runError, time, toBuffer, toPage, toWire } from './wire.ts'

const summaryFields = {
  seq: z.int().min(1).describe('accept sequence: 1, 2, 3 … without gaps'),
  id: z.string().describe('`<source>/<id>` if the source is not default'),
  source: z.string().describe('`default` or a name of the setting sources'),
  type: z.string(),
  created_at: z.string().describe('as in the envelope'),
  received_at: time,
  network: z.string().nullable(),
  address: z.string().nullable(),
  status: z.enum(eventStatuses),
}
export const eventSummary = component('EventSummary', summaryFields)

const eventRow = component('EventRow', {
  ...summaryFields,
  data: z.unknown().optional().describe('with `details`: the data of the event; null: pruned, or too large for a list'),
  runs: z
    .array(
      z.object({
        handler: z.string(),
        state: z.enum(runStates),
        attempt: count,
        replay: z.int().nullable(),
        error: z.object({ name: z.string(), message: z.string() }).nullable().describe('of the latest failed attempt'),
      }),
    )
    .optional()
    .describe('with `details`: its runs'),
})
const eventList = component('EventList', {
  ...pageShape(eventRow),
  searched_to: time
    .nullable()
    .describe(
      'how far back the search went; older events may match if next_cursor is not null. null: none was searched',
    ),
})

const attempt = component('Attempt', {
  run_id: z.int(),
  handler: z.string(),
  replay: z.int().nullable().describe('id of its replay; null: not a replay'),
  attempt: z.int().min(1),
  started_at: time,
  ended_at: time,
  outcome: z.enum(['done', 'retry', 'dead', 'crashed', 'dropped']),
  error: runError.nullable(),
})

const run = component('Run', {
  run_id: z.int(),
  handler: z.string(),
  state: z.enum(runStates),
  attempt: count,
  crashed: count,
  run_at: time.nullable().describe('when the next attempt may start; null: running or ended'),
  replay: z.int().nullable(),
  started_at: time.nullable(),
  ended_at: time.nullable(),
  item: z
    .object({ payload: z.unknown(), idempotency_key: z.string() })
    .nullable()
    .describe('outbox item that a sink must deliver'),
  state_keys: z.array(z.string()).describe('state keys that this run wrote last'),
})

const eventDetail = component('EventDetail', {
  ...summaryFields,
  key: z.string(),
  pruned: z.boolean().describe('body and runs were deleted'),
  envelope: z.unknown().describe('the parsed body with every digit of its numbers; null: pruned'),
  receipt: z.object({
    received_at: time,
    stored_at: time.nullable().describe('start of the transaction that stored it'),
    secret_label: z.string(),
    size_bytes: count,
    duplicates: count.describe('repeated deliveries of the same body'),
    conflicts: count.describe('deliveries of this id with another body'),
    headers: z.record(z.string(), z.string()).nullable().describe('the stored headers; null: none'),
    traceparent: z.string().nullable(),
  }),
  runs: z.array(run),
  timeline: z.array(attempt).describe('attempts of all runs, oldest first'),
})

export type EventSummaryJson = z.output<typeof eventSummary>
export type EventRowJson = z.output<typeof eventRow>
export type EventListJson = z.output<typeof eventList>
export type EventDetailJson = z.output<typeof eventDetail>
export type RunJson = z.output<typeof run>
export type AttemptJson = z.output<typeof attempt>

const eventId = { name: 'id', description: "The sender's id of the event." }

export const eventRoutes = {
  listEvents: route({
    at: 'GET /events',
    summary: 'List stored events, newest first',
    query: z.strictObject({
      ...eventQuery,
      details: z.enum(['true', 'false']).prefault('false').describe('true or false'),
      ...page,
    }),
    gives: eventList,
    async answer({ inbox }, { query: { details, ...query } }) {
      const events = await inbox.events({ ...query, isDetailed: details === 'true' })
      return { ...toPage(events, toEventRowJson), searched_to: isoTimeOrNull(events.searchedTo) }
    },
  }),
  getEvent: route({
    at: 'GET /events/:id',
    param: eventId,
    summary: 'Show an event: envelope, receipt, runs and attempts',
    gives: eventDetail,
    answer: async (context, { id }) => toEventDetailJson(await findEvent(context, id)),
  }),
}

export const eventBytesRoute = describeRoute({
  at: 'GET /events/:id/raw',
  param: eventId,
  summary: 'Get the exact bytes of an event',
  gives: 'bytes',
})

/** The exact bytes of an event. Throws `not_found`. */
export async function rawEvent(context: AdminContext, id: string): Promise<Buffer> {
  const { raw } = await findEvent(context, id)
  if (raw.length === 0) throw new InboxError('not_found', 'the body of this event was pruned')
  return toBuffer(raw)
}

async function findEvent({ inbox }: AdminContext, id: string): Promise<EventDetail> {
  const event = await inbox.event(id)
  if (event === null) throw new InboxError('not_found', 'there is no event with this id')
  return event
}

export function toEventSummaryJson(event: EventSummary): EventSummaryJson {
  const { seq, id, source, type, createdAt, receivedAt, network, address, status } = event
  return toWire({ seq, id, source, type, createdAt, receivedAt, network, address, status })
}

function toEventRowJson(event: EventSummary): EventRowJson {
  const { detail } = event
  if (detail === undefined) return toEventSummaryJson(event)
  const body = detail.body && (parseExactJson(toBuffer(detail.body).toString()) as { readonly data?: unknown })
  return {
    ...toEventSummaryJson(event),
    data: (event.source === defaultSource ? body?.data : body) ?? null,
    runs: toWire(detail.runs) as EventRowJson['runs'],
  }
}

function toEventDetailJson(event: EventDetail): EventDetailJson {
  const { raw, runs, headers, receivedAt, storedAt, secretLabel, duplicates, conflicts } = event
  const timeline = runs
    .flatMap((ofRun) => ofRun.attempts.map((record) => ({ ofRun, record })))
    .toSorted((a, b) => a.record.startedAt - b.record.startedAt || a.record.endedAt - b.record.endedAt)
  return {
    ...toEventSummaryJson(event),
    key: event.key,
    pruned: event.pruned,
    envelope: raw.length === 0 ? null : parseExactJson(toBuffer(raw).toString()),
    receipt: {
      ...toWire({ receivedAt, storedAt, secretLabel, duplicates, conflicts }),
      size_bytes: raw.length,
      headers: headers === null ? null : (JSON.parse(headers) as Record<string, string>),
      traceparent: event.trace,
    },
    runs: runs.map(toRunJson),
    timeline: timeline.map(({ ofRun, record }) => toAttemptJson(ofRun, record)),
  }
}

function toRunJson({ item, attempts: _attempts, ...record }: RunRecord): RunJson {
  return {
    ...toWire(record),
    item: item && { payload: parseExactJson(item.payload), idempotency_key: item.idempotencyKey },
  }
}

function toAttemptJson({ runId, handler, replay }: RunRecord, { error, ...record }: AttemptRecord): AttemptJson {
  const failure = error && { ...error, stack: error.stack ?? null }
  return { run_id: runId, handler, replay, ...toWire(record), error: failure }
}
