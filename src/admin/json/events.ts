import type { AttemptRecord, EventDetail, EventPage, EventSummary, RunRecord } from '../../inbox/port.ts'
import type { AttemptJson, EventDetailJson, EventListJson, EventSummaryJson, RunJson } from '../answers/events.ts'
import { parseExactJson } from '../exact-json.ts'
import { isoTime, isoTimeOrNull, toBuffer, toErrorJson, toListJson } from './common.ts'

export function toEventListJson(page: EventPage): EventListJson {
  return { ...toListJson(page, toEventSummaryJson), searched_to: isoTimeOrNull(page.searchedTo) }
}

export function toEventSummaryJson(event: EventSummary): EventSummaryJson {
  const { seq, id, type, createdAt, receivedAt, network, address, status } = event
  return { seq, id, type, created_at: createdAt, received_at: isoTime(receivedAt), network, address, status }
}

export function toEventDetailJson(event: EventDetail): EventDetailJson {
  const { raw, runs, headers } = event
  const timeline = runs
    .flatMap((run) => run.attempts.map((attempt) => ({ run, attempt })))
    .toSorted((a, b) => a.attempt.startedAt - b.attempt.startedAt || a.attempt.endedAt - b.attempt.endedAt)
  return {
    ...toEventSummaryJson(event),
    key: event.key,
    pruned: event.pruned,
    envelope: raw.length === 0 ? null : parseExactJson(toBuffer(raw).toString()),
    receipt: {
      received_at: isoTime(event.receivedAt),
      stored_at: isoTimeOrNull(event.storedAt),
      secret_label: event.secretLabel,
      size_bytes: raw.length,
      duplicates: event.duplicates,
      conflicts: event.conflicts,
      headers: headers === null ? null : (JSON.parse(headers) as Record<string, string>),
      traceparent: event.trace,
    },
    runs: runs.map(toRunJson),
    timeline: timeline.map(({ run, attempt }) => toAttemptJson(run, attempt)),
  }
}

function toRunJson(run: RunRecord): RunJson {
  const { runId, handler, state, attempt, crashed, replay, item } = run
  return {
    run_id: runId,
    handler,
    state,
    attempt,
    crashed,
    run_at: isoTimeOrNull(run.runAt),
    replay,
    started_at: isoTimeOrNull(run.startedAt),
    ended_at: isoTimeOrNull(run.endedAt),
    item: item && { payload: parseExactJson(item.payload), idempotency_key: item.idempotencyKey },
    state_keys: [...run.stateKeys],
  }
}

function toAttemptJson(run: RunRecord, { attempt, startedAt, endedAt, outcome, error }: AttemptRecord): AttemptJson {
  return {
    run_id: run.runId,
    handler: run.handler,
    replay: run.replay,
    attempt,
    started_at: isoTime(startedAt),
    ended_at: isoTime(endedAt),
    outcome,
    error: error === null ? null : toErrorJson(error),
  }
}
