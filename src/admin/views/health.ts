import type { Shut } from '../../dispatch/gate.ts'
import type { HandlerPace } from '../../dispatch/pace.ts'
import type { HandlerInfo } from '../../dispatch/runner-protocol.ts'
import type { HealthWatch, Meter, Reconciler } from '../../health/port.ts'
import { leftBehind, openRunsOf, type InboxStats, type SubscriptionPort, type ViewPort } from '../../inbox/port.ts'
import type { FoundSubscriptionJson } from '../answers/acts.ts'
import type { ListJson } from '../answers/common.ts'
import type { HandlerListJson } from '../answers/handlers.ts'
import type { AuditJson, HealthJson } from '../answers/health.ts'
import { toFoundJson } from '../acts/upkeep.ts'
import { isoTimeOrNull, toListJson } from '../json/common.ts'
import { toHandlerJson, toShutJson } from '../json/handlers.ts'
import {
  toAuditJson,
  toGapJson,
  toIndexJson,
  toReconcileJson,
  toSenderJson,
  toSilenceJson,
  toWarningJson,
} from '../json/health.ts'
import { pageParameters, parseParameters } from '../parameters.ts'
import type { Query } from './events.ts'

/** How it is. Throws `bad_request`. */
export interface HealthViews {
  /** All handlers that are loaded, and those that are gone but left runs behind. */
  listHandlers(): Promise<HandlerListJson>
  listAudit(query: Query): Promise<ListJson<AuditJson>>
  showHealth(): Promise<HealthJson>
  /** The newest registration with the service that has not failed. */
  showSubscription(): Promise<FoundSubscriptionJson>
}

/** Where it is known from. All but the inbox are missing where no sidecar runs. */
export interface HealthSources {
  readonly inbox: ViewPort & SubscriptionPort
  /** The handlers that are loaded at the moment. */
  readonly handlers?: () => readonly HandlerInfo[]
  /** Which of them are sinks that are left alone, by name. */
  readonly shut?: () => ReadonlyMap<string, Shut>
  /** How attempts went lately, by handler. */
  readonly paces?: () => ReadonlyMap<string, HandlerPace>
  readonly meter?: Meter
  readonly watch?: HealthWatch
  readonly reconciler?: Reconciler
}

export const senderWindowMs = 3_600_000

const noAttempts: HandlerPace = { perSecond: 0, failuresPerSecond: 0, p50Ms: null, p95Ms: null, p99Ms: null }

export function createHealthViews(sources: HealthSources): HealthViews {
  const { inbox } = sources
  return {
    listHandlers: () => listHandlers(sources),
    showHealth: () => showHealth(sources),
    showSubscription: async () => toFoundJson(await inbox.subscription()),
    listAudit: async (query) => toListJson(await inbox.audit(parseParameters(pageParameters, query)), toAuditJson),
  }
}

/** Runs that were given up, of all handlers. */
export function deadLettersOf({ handlers }: InboxStats): number {
  return handlers.reduce((sum, { dead, held }) => sum + dead + held, 0)
}

async function showHealth(sources: HealthSources): Promise<HealthJson> {
  const { inbox, handlers, shut, meter, watch, reconciler } = sources
  const [stats, gaps, found, index] = await Promise.all([
    inbox.stats(),
    inbox.gaps(),
    inbox.subscription(),
    inbox.indexStatus(),
  ])
  const loaded = handlers?.()
  const reconcile = reconciler?.current() ?? null
  return {
    missing_sequence_numbers: stats.missingSeqs,
    dead_letters: deadLettersOf(stats),
    quarantined: stats.quarantined,
    oldest_open_at: isoTimeOrNull(stats.oldestOpenAt),
    paused: stats.paused,
    paused_handlers: stats.handlers.filter(({ paused }) => paused).map(({ handler }) => handler),
    shut_sinks: [...(shut?.() ?? [])].map(([handler, state]) => {
      const row = stats.handlers.find((candidate) => candidate.handler === handler)
      return { handler, ...toShutJson(state), open_runs: row === undefined ? 0 : openRunsOf(row) }
    }),
    not_loaded:
      loaded === undefined
        ? null
        : leftBehind(stats.handlers, loaded).map(({ handler, openRuns }) => ({ handler, open_runs: openRuns })),
    gaps: gaps.map(toGapJson),
    ...toFoundJson(found),
    warnings: (watch?.warnings() ?? []).map(toWarningJson),
    sender: meter === undefined ? null : toSenderJson(meter.summary(senderWindowMs)),
    silences: (watch?.silences() ?? []).map(toSilenceJson),
    index: toIndexJson(index),
    reconcile: reconcile && toReconcileJson(reconcile),
    reconcile_configured: reconciler?.isConfigured ?? false,
  }
}

async function listHandlers({ inbox, handlers, shut, paces }: HealthSources): Promise<HandlerListJson> {
  const { paused, lastSeq, handlers: counted } = await inbox.stats()
  const stats = new Map(counted.map((row) => [row.handler, row]))
  const infos = new Map((handlers?.() ?? []).map((info) => [info.name, info]))
  const [shutNow, pacesNow] = [shut?.(), paces?.()]
  const names = [...new Set([...infos.keys(), ...stats.keys()])].toSorted()
  const data = names.map((name) => {
    const info = infos.get(name)
    const pace = info && pacesNow && (pacesNow.get(name) ?? noAttempts)
    return toHandlerJson({ name, info, stats: stats.get(name), shut: shutNow?.get(name), pace }, lastSeq)
  })
  return { paused, data, next_cursor: null }
}
