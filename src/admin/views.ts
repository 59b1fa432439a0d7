import type { Shut } from '../dispatch/gate.ts'
import type { HandlerInfo } from '../dispatch/runner-protocol.ts'
import { InboxError } from '../errors.ts'
import {
  leftBehind,
  openRunsOf,
  type EventDetail,
  type PageQuery,
  type SubscriptionPort,
  type ViewPort,
} from '../inbox/port.ts'
import {
  createOperatorActs,
  findReplay,
  toFoundJson,
  type ActOptions,
  type FoundSubscriptionJson,
  type OperatorActs,
} from './acts.ts'
import {
  toAuditJson,
  toBuffer,
  toDeadLetterJson,
  toEventDetailJson,
  toEventSummaryJson,
  toGapJson,
  toHandlerJson,
  toListJson,
  toQuarantinedDetailJson,
  toQuarantinedJson,
  toReplayJson,
  toShutJson,
  type AuditJson,
  type DeadLetterJson,
  type EventDetailJson,
  type EventSummaryJson,
  type GapJson,
  type HandlerJson,
  type ListJson,
  type QuarantinedDetailJson,
  type QuarantinedJson,
  type ReplayJson,
  type ShutJson,
} from './json.ts'
import { eventParameters, pageParameters, parseParameters } from './parameters.ts'

/** Parameters as they came: text by name. */
export type Query = Readonly<Record<string, unknown>>

/** What commands and the admin API do with events. Everything is checked: `bad_request`, `not_found`. */
export interface EventAccess extends OperatorActs {
  listEvents(query: Query): Promise<ListJson<EventSummaryJson>>
  showEvent(id: string): Promise<EventDetailJson>
  /** The exact bytes as they came. */
  rawEvent(id: string): Promise<Buffer>
  /** Has one event handled again. */
  replayEvent(id: string): Promise<object>
  listDead(query: Query): Promise<ListJson<DeadLetterJson>>
  /** By the number of its run. */
  showDead(runId: string): Promise<DeadLetterJson>
  listQuarantine(query: Query): Promise<ListJson<QuarantinedJson>>
  showQuarantined(id: string): Promise<QuarantinedDetailJson>
  listReplays(query: Query): Promise<ListJson<ReplayJson>>
  showReplay(id: string): Promise<ReplayJson>
  /** All handlers that are loaded, and those that are gone but left runs behind. */
  listHandlers(): Promise<HandlersJson>
  listAudit(query: Query): Promise<ListJson<AuditJson>>
  showHealth(): Promise<HealthJson>
  /** The newest registration with the service that has not failed. */
  showSubscription(): Promise<FoundSubscriptionJson>
}

/**
 * What needs looking at. `paused`: whether all handlers are paused together. `gaps`: the last times in which nothing could be
 * received, and all with lost events that nobody acknowledged, newest first. `subscription`: the registration with the service; one
 * that is `begun` still may or may not be there. `shut_sinks`: what is left alone, with how many items wait for it. `not_loaded`:
 * handlers that are gone with their open runs; null where it is not known which are loaded.
 */
export interface HealthJson extends FoundSubscriptionJson {
  readonly missing_sequence_numbers: number
  readonly dead_letters: number
  readonly quarantined: number
  readonly oldest_open_at: string | null
  readonly paused: boolean
  readonly paused_handlers: readonly string[]
  readonly shut_sinks: readonly ShutSinkJson[]
  readonly not_loaded: readonly { readonly handler: string; readonly open_runs: number }[] | null
  readonly gaps: readonly GapJson[]
}

export interface ShutSinkJson extends ShutJson {
  readonly handler: string
  readonly open_runs: number
}

/** `paused`: whether all handlers are paused together. */
export interface HandlersJson extends ListJson<HandlerJson> {
  readonly paused: boolean
}

export interface AccessOptions extends ActOptions {
  /** The handlers that are loaded at the moment. */
  readonly handlers?: () => readonly HandlerInfo[]
  /** Which of them are sinks that are left alone, by name. */
  readonly shut?: () => ReadonlyMap<string, Shut>
}

/** The same over an inbox in this process. */
export function createEventAccess(options: AccessOptions): EventAccess {
  const { inbox, handlers, shut = () => new Map<string, Shut>() } = options

  async function find(id: string): Promise<EventDetail> {
    const event = await inbox.event(id)
    if (event === null) throw new InboxError('not_found', 'there is no event with this id')
    return event
  }

  const acts = createOperatorActs(options)
  return {
    ...acts,
    listEvents: async (query) =>
      toListJson(await inbox.events(parseParameters(eventParameters, query)), toEventSummaryJson),
    showEvent: async (id) => toEventDetailJson(await find(id)),
    async rawEvent(id) {
      const { raw } = await find(id)
      if (raw.length === 0) throw bodyGone()
      return toBuffer(raw)
    },
    async replayEvent(id) {
      if ((await find(id)).raw.length === 0) throw bodyGone()
      return acts.startReplay({ ids: [id] })
    },
    listDead: async (query) => toListJson(await inbox.deadLetters(pageOf(query)), toDeadLetterJson),
    async showDead(runId) {
      const letter = /^\d{1,15}$/.test(runId) ? await inbox.deadLetter(Number(runId)) : null
      if (letter === null) throw new InboxError('not_found', 'there is no dead letter with this number')
      return toDeadLetterJson(letter)
    },
    listQuarantine: async (query) => toListJson(await inbox.quarantine(pageOf(query)), toQuarantinedJson),
    async showQuarantined(id) {
      const body = await inbox.quarantined(id)
      if (body === null) throw new InboxError('not_found', 'there is no body in quarantine with this id')
      return toQuarantinedDetailJson(body)
    },
    listReplays: async (query) => toListJson(await inbox.replays(pageOf(query)), toReplayJson),
    showReplay: async (id) => toReplayJson(await findReplay(inbox, id)),
    listHandlers: () => listHandlers(inbox, handlers?.() ?? [], shut()),
    showHealth: () => showHealth(inbox, handlers?.(), shut()),
    showSubscription: async () => toFoundJson(await inbox.subscription()),
    listAudit: async (query) => toListJson(await inbox.audit(pageOf(query)), toAuditJson),
  }
}

function bodyGone(): InboxError {
  return new InboxError('not_found', 'the body of this event was pruned: its bytes are no longer kept')
}

function pageOf(query: Query): PageQuery {
  return parseParameters(pageParameters, query)
}

async function showHealth(
  inbox: Pick<ViewPort & SubscriptionPort, 'stats' | 'gaps' | 'subscription'>,
  handlers: readonly HandlerInfo[] | undefined,
  shut: ReadonlyMap<string, Shut>,
): Promise<HealthJson> {
  const [stats, gaps, found] = await Promise.all([inbox.stats(), inbox.gaps(), inbox.subscription()])
  return {
    missing_sequence_numbers: stats.missingSeqs,
    dead_letters: stats.handlers.reduce((sum, { dead, held }) => sum + dead + held, 0),
    quarantined: stats.quarantined,
    oldest_open_at: stats.oldestOpenAt === null ? null : new Date(stats.oldestOpenAt).toISOString(),
    paused: stats.paused,
    paused_handlers: stats.handlers.filter(({ paused }) => paused).map(({ handler }) => handler),
    shut_sinks: [...shut].map(([handler, state]) => {
      const row = stats.handlers.find((candidate) => candidate.handler === handler)
      return { handler, ...toShutJson(state), open_runs: row === undefined ? 0 : openRunsOf(row) }
    }),
    not_loaded:
      handlers === undefined
        ? null
        : leftBehind(stats.handlers, handlers).map(({ handler, openRuns }) => ({ handler, open_runs: openRuns })),
    gaps: gaps.map(toGapJson),
    ...toFoundJson(found),
  }
}

async function listHandlers(
  inbox: Pick<ViewPort, 'stats'>,
  handlers: readonly HandlerInfo[],
  shut: ReadonlyMap<string, Shut>,
): Promise<HandlersJson> {
  const { paused, lastSeq, handlers: counted } = await inbox.stats()
  const stats = new Map(counted.map((row) => [row.handler, row]))
  const infos = new Map(handlers.map((info) => [info.name, info]))
  const names = [...new Set([...infos.keys(), ...stats.keys()])].toSorted()
  const data = names.map((name) => toHandlerJson(name, infos.get(name), stats.get(name), lastSeq, shut.get(name)))
  return { paused, data, next_cursor: null }
}
