import type { Shut } from '../dispatch/gate.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import {
  listedBytes,
  type AttemptRecord,
  type AuditRecord,
  type DeadLetter,
  type EventDetail,
  type EventSummary,
  type GapRecord,
  type HandlerStats,
  type Page,
  type QuarantinedBody,
  type ReplayRecord,
  type RunError,
  type RunRecord,
  type Subscription,
} from '../inbox/port.ts'
import { safeText } from '../log.ts'
import { parseExactJson } from './exact-json.ts'

/** A page of a list as the admin API gives it: `next_cursor` is null on the last one. */
export interface ListJson<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
}

export type EventSummaryJson = ReturnType<typeof toEventSummaryJson>
export type EventDetailJson = ReturnType<typeof toEventDetailJson>
export type AttemptJson = ReturnType<typeof toAttemptJson>
export type DeadLetterJson = ReturnType<typeof toDeadLetterJson>

export function toListJson<T, U>(page: Page<T>, to: (item: T) => U): ListJson<U> {
  return { data: page.data.map(to), next_cursor: page.nextCursor }
}

export function toEventSummaryJson(event: EventSummary) {
  const { seq, id, type, createdAt, receivedAt, network, address, status } = event
  return { seq, id, type, created_at: createdAt, received_at: isoTime(receivedAt), network, address, status }
}

/** `envelope` is null where the body is no longer kept; `pruned`: nor are its runs. `timeline` has the attempts of all runs, oldest first. */
export function toEventDetailJson(event: EventDetail) {
  const { raw, runs } = event
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
      secret_label: event.secretLabel,
      size_bytes: raw.length,
      duplicates: event.duplicates,
      conflicts: event.conflicts,
    },
    runs: runs.map(toRunJson),
    timeline: timeline.map(({ run, attempt }) => toAttemptJson(run, attempt)),
  }
}

function toRunJson({ runId, handler, state, attempt, crashed, runAt, replay }: RunRecord) {
  return { run_id: runId, handler, state, attempt, crashed, run_at: runAt === null ? null : isoTime(runAt), replay }
}

function toAttemptJson(run: RunRecord, { attempt, startedAt, endedAt, outcome, error }: AttemptRecord) {
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

export function toDeadLetterJson(letter: DeadLetter) {
  const { runId, eventId, type, handler, attempt, crashed, diedAt, held, error } = letter
  return {
    run_id: runId,
    event_id: eventId,
    type,
    handler,
    attempt,
    crashed,
    died_at: isoTime(diedAt),
    held,
    error: toErrorJson(error),
  }
}

function toErrorJson({ name, message, stack }: RunError) {
  return { name, message, stack: stack ?? null }
}

const previewLength = 200

/** `preview` is the begin of the bytes as text of at most 200 characters, safe to show anywhere. */
export function toQuarantinedJson(body: QuarantinedBody) {
  return {
    id: body.id,
    reason: body.reason,
    received_at: isoTime(body.receivedAt),
    secret_label: body.secretLabel,
    size_bytes: body.sizeBytes,
    count: body.count,
    preview: safeText(toBuffer(body.raw).subarray(0, listedBytes).toString(), previewLength - 1),
  }
}

/** `raw_base64` are the exact bytes. */
export function toQuarantinedDetailJson(body: QuarantinedBody) {
  return { ...toQuarantinedJson(body), raw_base64: toBuffer(body.raw).toString('base64') }
}

export type ReplayJson = ReturnType<typeof toReplayJson>

/** `progress`: how much of the accept sequence it has looked at, from 0 to 1. */
export function toReplayJson(replay: ReplayRecord) {
  const { from, to, ...filter } = replay.filter
  return {
    id: replay.id,
    state: replay.state,
    filter: {
      ...filter,
      ...(from !== undefined && { from: isoTime(from) }),
      ...(to !== undefined && { to: isoTime(to) }),
    },
    per_second: replay.perSecond,
    new_keys: replay.newKeys,
    created_at: isoTime(replay.createdAt),
    ended_at: isoTimeOrNull(replay.endedAt),
    progress: replay.lastSeq === 0 ? 1 : replay.scannedSeq / replay.lastSeq,
    events: replay.events,
    runs: replay.runs,
    skipped: replay.skipped,
    open_runs: replay.openRuns,
  }
}

export type GapJson = ReturnType<typeof toGapJson>

/** A time in which nothing was received, with what the sender makes of it. `lost`: what needs a replay by hand. */
export function toGapJson(gap: GapRecord) {
  return {
    from: isoTime(gap.from),
    to: isoTime(gap.to),
    kind: gap.kind,
    clean_stop: gap.kind === 'stopped',
    retried_until: isoTimeOrNull(gap.retriedUntil),
    lost: gap.lost && { from: isoTime(gap.lost.from), to: isoTime(gap.lost.to) },
    arrived: gap.arrived,
    arrived_lost: gap.arrivedLost,
    last_arrival_at: isoTimeOrNull(gap.lastArrivalAt),
    acknowledged_at: isoTimeOrNull(gap.acknowledgedAt),
  }
}

export type AuditJson = ReturnType<typeof toAuditJson>

export function toAuditJson({ id, at, action, detail }: AuditRecord) {
  return { id, at: isoTime(at), action, detail }
}

export type SubscriptionJson = ReturnType<typeof toSubscriptionJson>

/** A registration with the service. `at`: when it was begun; `answer`: the text of what the service said, without anything secret. */
export function toSubscriptionJson({ id, digest, url, events, secretLabel, state, at, answer }: Subscription) {
  return { id, digest, url, events, secret_label: secretLabel, state, at: isoTime(at), answer }
}

export type QuarantinedJson = ReturnType<typeof toQuarantinedJson>
export type QuarantinedDetailJson = ReturnType<typeof toQuarantinedDetailJson>
export type HandlerJson = ReturnType<typeof toHandlerJson>

/**
 * A handler with its open runs and dead letters; one that is not loaded has only those. `retry` is null where a function decides.
 * `backfill`: how much of what was stored before it has been handed to it, from 0 to 1; null where nothing is left of that.
 * `set_concurrency`: what somebody set; null: as it says itself. `shut`: why a sink is left alone; null: it is not.
 */
export function toHandlerJson(
  name: string,
  info: HandlerInfo | undefined,
  stats: HandlerStats | undefined,
  lastSeq: number,
  shut?: Shut,
) {
  const { waiting = 0, ready = 0, suspect = 0, running = 0, held = 0, dead = 0, superseded = 0 } = stats ?? {}
  const settings = info && {
    types: info.types,
    order: info.order,
    key: info.keyPaths ?? null,
    concurrency: stats?.concurrency ?? info.concurrency,
    rate: info.rate ?? null,
    priority: info.priority,
    timeout_ms: info.timeoutMs,
    on_dead: info.onDead,
    latest_only: info.latestOnly,
    isolate: info.isolate,
    max_age_ms: info.maxAgeMs ?? null,
    retry: info.retry && { attempts: info.retry.attempts, base_ms: info.retry.baseMs, cap_ms: info.retry.capMs },
    file: info.file,
  }
  const paused = stats?.paused ?? false
  const backfillSeq = stats?.backfillSeq ?? null
  return {
    name,
    kind: info?.kind ?? null,
    loaded: info !== undefined,
    paused,
    settings: settings ?? null,
    set_concurrency: stats?.concurrency ?? null,
    shut: shut === undefined ? null : toShutJson(shut),
    backfill: backfillSeq === null ? null : (backfillSeq - 1) / Math.max(lastSeq, 1),
    waiting,
    ready,
    suspect,
    running,
    held,
    dead,
    superseded,
  }
}

export type ShutJson = ReturnType<typeof toShutJson>

/** Since when and why a sink is left alone. `until`: when something is sent again, or one item is tried. `failures`: sends in a row. */
export function toShutJson({ since, until, reason, failures, error }: Shut) {
  return { since: isoTime(since), until: isoTime(until), reason, failures, error }
}

export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}

function isoTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : isoTime(ms)
}
