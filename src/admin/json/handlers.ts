import type { Shut } from '../../dispatch/gate.ts'
import type { HandlerPace } from '../../dispatch/pace.ts'
import type { HandlerInfo } from '../../dispatch/runner-protocol.ts'
import type { HandlerStats } from '../../inbox/port.ts'
import type { HandlerJson, HandlerPaceJson, ShutJson } from '../answers/handlers.ts'
import { isoTime } from './common.ts'

/** What is known of a handler: of one that is not loaded, its runs only. */
export interface KnownHandler {
  readonly name: string
  readonly info: HandlerInfo | undefined
  readonly stats: HandlerStats | undefined
  readonly shut: Shut | undefined
  readonly pace: HandlerPace | undefined
}

/** `lastSeq`: of the accept sequence, for how far a backfill is. */
export function toHandlerJson({ name, info, stats, shut, pace }: KnownHandler, lastSeq: number): HandlerJson {
  const { waiting = 0, ready = 0, suspect = 0, running = 0, held = 0, dead = 0, superseded = 0 } = stats ?? {}
  const backfillSeq = stats?.backfillSeq ?? null
  return {
    name,
    kind: info?.kind ?? null,
    loaded: info !== undefined,
    paused: stats?.paused ?? false,
    settings: info === undefined ? null : toSettingsJson(info, stats?.concurrency ?? info.concurrency),
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
    pace: pace === undefined ? null : toPaceJson(pace),
  }
}

function toSettingsJson(info: HandlerInfo, concurrency: number): NonNullable<HandlerJson['settings']> {
  return {
    types: [...info.types],
    order: info.order,
    key: info.keyPaths === undefined ? null : [...info.keyPaths],
    concurrency,
    own_concurrency: info.concurrency,
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
}

function toPaceJson({ perSecond, failuresPerSecond, p50Ms, p95Ms, p99Ms }: HandlerPace): HandlerPaceJson {
  return {
    per_second: perSecond,
    failures_per_second: failuresPerSecond,
    p50_ms: p50Ms,
    p95_ms: p95Ms,
    p99_ms: p99Ms,
  }
}

/** Since when and why a sink is left alone. */
export function toShutJson({ since, until, reason, failures, error }: Shut): ShutJson {
  return { since: isoTime(since), until: isoTime(until), reason, failures, error }
}
