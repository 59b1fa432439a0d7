import { Buffer } from 'node:buffer'
import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import { decodeCursor, decodeCursorPair, encodeCursor } from './cursor.ts'
import { MemoryReplays } from './memory-replays.ts'
import { createMemorySubscriptions } from './memory-subscriptions.ts'
import { type MemoryRun, MemoryRuns } from './memory-runs.ts'
import {
  listedBytes,
  type AcceptResult,
  type AuditRecord,
  type DeadLetter,
  type EventDetail,
  type EventQuery,
  type EventStatus,
  type EventSummary,
  type HandlerRoute,
  type HandlerStats,
  type Inbox,
  type NewEvent,
  type NewQuarantined,
  type Page,
  type QuarantinedBody,
  type RunCounts,
  type RunRecord,
  type RunState,
  type StoredEvent,
} from './port.ts'
import { createRouteKeys } from './route-key.ts'
import { createRouteTable } from './routes.ts'
import { deriveEventStatus } from './status.ts'

export interface MemoryInboxOptions {
  readonly clock: Clock
  /** The longest the timer for the next due run sleeps before it looks at the clock again. Default 5,000. */
  readonly rewakeMs?: number
}

interface EventEntry {
  readonly seq: number
  event: NewEvent
  readonly stored: StoredEvent
  readonly runs: MemoryRun[]
  /** Of one that was pruned, which has no bytes and no runs any more. */
  finalStatus: EventStatus | null
  duplicates: number
  conflicts: number
}

interface QuarantineEntry {
  /** 1, 2, 3 … in order of the first arrival. */
  readonly seq: number
  readonly body: NewQuarantined
  count: number
}

/** An inbox that keeps everything in memory: nothing outlives the process, all else is as in a durable one. */
export function createMemoryInbox({ clock, rewakeMs = 5_000 }: MemoryInboxOptions): Inbox {
  const events: EventEntry[] = []
  const eventsById = new Map<string, EventEntry>()
  const quarantined = new Map<string, QuarantineEntry>()
  const runs = new MemoryRuns(clock, rewakeMs, (run) => eventsById.get(run.event.id)?.runs.push(run))
  const replays = new MemoryReplays({
    clock,
    events,
    statusOf: (seq) => statusOf(events[seq - 1] ?? { finalStatus: null, runs: [] }),
    routes: () => routes,
    routesOf: (type) => routesOf(type),
    openRuns: () => runs.open,
    drop: (run) => runs.drop(run),
    createRun({ seq }, route, replay) {
      const entry = events[seq - 1]
      if (entry === undefined) return
      const { id, key, raw } = entry.event
      const runKey = createRouteKeys({ id, key, raw: () => raw })(route)
      entry.runs.push(runs.add(entry.stored, route.name, runKey, replay))
      runs.serve()
    },
  })
  const registered = new Set<string>()
  const concurrencies = new Map<string, number>()
  const audit: AuditRecord[] = []
  const note = (action: AuditRecord['action'], detail: AuditRecord['detail']) =>
    void audit.push({ id: audit.length + 1, at: clock.now(), action, detail })
  const subscriptions = createMemorySubscriptions(note)
  let routes: readonly HandlerRoute[] = []
  let routesOf = createRouteTable(routes)
  let conflicts = 0
  let lastQuarantined = 0
  let closed = false

  function assertOpen(): void {
    if (closed) throw new InboxError('shutting_down', 'The inbox is closed. Send it again once the service is back.')
  }

  function acceptEvent(arrival: NewEvent): AcceptResult {
    const known = eventsById.get(arrival.id)
    if (known && (known.finalStatus !== null || Buffer.compare(known.event.raw, arrival.raw) === 0)) {
      known.duplicates += 1
      return 'duplicate'
    }
    if (known) {
      known.conflicts += 1
      conflicts += 1
      return 'conflict'
    }
    const seq = events.length + 1
    // The bytes are copied: the caller may use its buffer again.
    const event: NewEvent = { ...arrival, raw: new Uint8Array(arrival.raw) }
    const { id, type, createdAt, receivedAt, key, secretLabel, raw } = event
    const stored = { seq, id, type, createdAt, receivedAt, key, secretLabel, raw }
    const keyFor = createRouteKeys({ id, key, raw: () => raw })
    const created = routesOf(type)
      .filter(({ name }) => !replays.isBackfilling(name))
      .map((route) => runs.add(stored, route.name, keyFor(route)))
    const entry: EventEntry = { seq, event, stored, runs: created, finalStatus: null, duplicates: 0, conflicts: 0 }
    events.push(entry)
    eventsById.set(id, entry)
    return 'accepted'
  }

  function acceptQuarantined(arrival: NewQuarantined): AcceptResult {
    const known = quarantined.get(arrival.id)
    if (known) known.count += 1
    else {
      const body = { ...arrival, raw: new Uint8Array(arrival.raw) }
      quarantined.set(arrival.id, { seq: (lastQuarantined += 1), body, count: 1 })
    }
    return 'quarantined'
  }

  function* newestEvents(query: EventQuery): Generator<EventEntry> {
    const before = query.cursor === undefined ? Infinity : decodeCursor(query.cursor)
    for (let seq = Math.min(before - 1, events.length); seq >= 1; seq -= 1) {
      const entry = events[seq - 1]
      if (entry && matches(entry, query)) yield entry
    }
  }

  return {
    async accept(batch) {
      assertOpen()
      const results = batch.map((arrival) =>
        arrival.kind === 'event' ? acceptEvent(arrival) : acceptQuarantined(arrival),
      )
      runs.serve()
      return results
    },
    async register(newRoutes) {
      assertOpen()
      routes = newRoutes
      routesOf = createRouteTable(newRoutes)
      runs.setRoutes(newRoutes)
      for (const { name, from = 'now' } of newRoutes) {
        if (from !== 'now' && !registered.has(name)) replays.startBackfill(name, from)
        registered.add(name)
      }
      replays.poke()
      return Object.fromEntries(concurrencies)
    },
    async claim(request) {
      return closed ? [] : runs.claim(request)
    },
    async readState(handler, query) {
      assertOpen()
      return runs.readState(handler, query)
    },
    async settle(outcomes) {
      assertOpen()
      return runs.settle(outcomes)
    },
    async retire(owner) {
      runs.retire(owner)
    },
    async release(leases) {
      assertOpen()
      runs.release(leases)
    },
    async reap(owner) {
      assertOpen()
      return runs.reap(owner)
    },
    async events(query) {
      assertOpen()
      return toPage(newestEvents(query), query.limit, toSummary)
    },
    async event(id) {
      assertOpen()
      const entry = eventsById.get(id)
      return entry ? toDetail(entry) : null
    },
    async deadLetters({ limit, cursor }) {
      assertOpen()
      const [at, below] = cursor === undefined ? [Infinity, 0] : decodeCursorPair(cursor)
      const found = [...runs.dead.values()]
        .map(toDeadLetter)
        .filter(({ diedAt, runId }) => diedAt < at || (diedAt === at && runId < below))
        .toSorted((a, b) => b.diedAt - a.diedAt || b.runId - a.runId)
      const data = found.slice(0, limit)
      const last = found.length > limit ? data.at(-1) : undefined
      return { data, nextCursor: last === undefined ? null : encodeCursor(last.diedAt, last.runId) }
    },
    async unknownIds(ids) {
      assertOpen()
      return ids.filter((id) => !eventsById.has(id))
    },
    async countReplay(filter) {
      assertOpen()
      return replays.count(filter)
    },
    async startReplay(replay) {
      assertOpen()
      const record = replays.start(replay)
      note('replay.start', { replay: record.id, ...replay })
      return record
    },
    async replays({ limit, cursor }) {
      assertOpen()
      const oldestFirst = replays.all().map((replay) => ({ seq: replay.id, replay }))
      return toPage(newestFirst(oldestFirst, cursor), limit, ({ replay }) => replay)
    },
    async replay(id) {
      assertOpen()
      return replays.all().find((replay) => replay.id === id) ?? null
    },
    async cancelReplay(id) {
      assertOpen()
      const isCancelled = replays.cancel(id)
      if (isCancelled) runs.cancel(id)
      if (isCancelled) note('replay.cancel', { replay: id })
      return isCancelled
    },
    async setPaused(handler, paused) {
      assertOpen()
      const isKnown = handler === null || registered.has(handler)
      if (!isKnown) return false
      runs.setPaused(handler, paused)
      note(paused ? 'handler.pause' : 'handler.resume', { handler })
      return true
    },
    async setConcurrency(handler, concurrency) {
      assertOpen()
      if (!registered.has(handler)) return false
      if (concurrency === null) concurrencies.delete(handler)
      else concurrencies.set(handler, concurrency)
      note('handler.set', { handler, concurrency })
      return true
    },
    async deadLetter(runId) {
      assertOpen()
      const run = runs.dead.get(runId)
      return run ? toDeadLetter(run) : null
    },
    async dropDead(which, reason) {
      assertOpen()
      const ids = which === 'all' ? [...runs.dead.keys()] : which
      const found = ids.flatMap((runId) => runs.dead.get(runId) ?? [])
      for (const run of found) runs.drop(run, reason)
      if (found.length > 0) note('dead.drop', { reason, runs: which })
      runs.serve()
      return found.length
    },
    async dropOpenRuns(handler, reason) {
      assertOpen()
      if (!registered.has(handler)) return null
      replays.endBackfill(handler)
      const found = [...runs.open, ...runs.dead.values()].filter((run) => {
        return run.handler === handler && run.state !== 'running' && run.state !== 'dead'
      })
      for (const run of found) runs.drop(run, reason)
      if (found.length > 0) note('handler.drop', { handler, reason, count: found.length })
      runs.serve()
      return found.length
    },
    async prune({ receivedBefore }, noted) {
      assertOpen()
      const old = events.filter(({ event }) => receivedBefore !== null && event.receivedAt < receivedBefore)
      const first = replays.firstBackfill()
      const ended = old
        .filter(({ seq }) => seq < first)
        .filter(({ finalStatus, runs: own }) => finalStatus === null && own.every(({ state }) => hasEnded(state)))
      for (const entry of ended) {
        entry.finalStatus = deriveStatus(entry.runs)
        entry.event = { ...entry.event, raw: new Uint8Array() }
        entry.runs.length = 0
      }
      const oldBodies = [...quarantined.values()].filter(({ body }) => body.receivedAt < (receivedBefore ?? -Infinity))
      for (const { body } of oldBodies) quarantined.delete(body.id)
      const pruned = { events: ended.length, quarantined: oldBodies.length }
      if (noted !== undefined) note('prune', { receivedBefore, ...pruned })
      return { ...pruned, isTooLarge: false }
    },
    async retryQuarantined(id, event) {
      assertOpen()
      if (!quarantined.delete(id)) return null
      note('quarantine.retry', { id, event: event.id })
      const result = acceptEvent(event)
      runs.serve()
      return result
    },
    async dropQuarantined(id, reason) {
      assertOpen()
      if (!quarantined.delete(id)) return false
      note('quarantine.drop', { id, reason })
      return true
    },
    async startServing() {
      assertOpen()
    },
    gaps: async () => [],
    acknowledgeGaps: async () => ({ missingSeqs: 0, gaps: 0 }),
    async subscription() {
      assertOpen()
      return subscriptions.newest()
    },
    async beginSubscription(next, replaces) {
      assertOpen()
      return subscriptions.begin(next, replaces)
    },
    async endSubscription(id, result) {
      assertOpen()
      subscriptions.end(id, result)
    },
    async audit({ limit, cursor }) {
      assertOpen()
      const oldestFirst = audit.map((record) => ({ seq: record.id, record }))
      return toPage(newestFirst(oldestFirst, cursor), limit, ({ record }) => record)
    },
    async requeueDead(which) {
      assertOpen()
      const count = runs.requeueDead(which)
      if (count > 0) note('dead.requeue', { runs: which })
      return count
    },
    async quarantine({ limit, cursor }) {
      assertOpen()
      return toPage(newestFirst([...quarantined.values()], cursor), limit, (entry) =>
        toQuarantinedBody(entry, listedBytes),
      )
    },
    async quarantined(id) {
      assertOpen()
      const entry = quarantined.get(id)
      return entry ? toQuarantinedBody(entry) : null
    },
    async stats() {
      assertOpen()
      return {
        lastSeq: events.length,
        quarantined: quarantined.size,
        conflicts,
        paused: runs.allPaused,
        handlers: countByHandler(routes, runs, replays, concurrencies),
        oldestOpenAt: runs.open.size === 0 ? null : oldestArrival(runs.open),
        sizeBytes: null,
        missingSeqs: 0,
      }
    },
    health: () => (closed ? { ok: false, reason: 'the inbox is closed' } : { ok: true }),
    onFailure() {},
    async close() {
      if (closed) return
      closed = true
      replays.close()
      runs.close()
    },
  }
}

function hasEnded(state: RunState): boolean {
  return !['waiting', 'ready', 'suspect', 'running', 'held', 'dead'].includes(state)
}

function statusOf({ finalStatus, runs }: Pick<EventEntry, 'finalStatus' | 'runs'>): EventStatus {
  return finalStatus ?? deriveStatus(runs)
}

function deriveStatus(runs: readonly MemoryRun[]): EventStatus {
  return deriveEventStatus(runs.map(({ state, attempt, replay }) => ({ state, attempt, replay: replay?.id ?? null })))
}

function matches(entry: EventEntry, query: EventQuery): boolean {
  const { event } = entry
  return (
    (query.type === undefined || event.type === query.type) &&
    (query.network === undefined || event.network === query.network) &&
    (query.address === undefined || event.address === query.address) &&
    (query.from === undefined || event.receivedAt >= query.from) &&
    (query.to === undefined || event.receivedAt < query.to) &&
    (query.status === undefined || statusOf(entry) === query.status)
  )
}

/** Takes one item more than the page holds, to know whether there is a next page. */
function toPage<T extends { readonly seq: number }, U>(items: Iterable<T>, limit: number, to: (item: T) => U): Page<U> {
  const taken = [...Iterator.from(items).take(limit + 1)]
  const shown = taken.slice(0, limit)
  const last = shown.at(-1)
  return { data: shown.map(to), nextCursor: last && taken.length > limit ? encodeCursor(last.seq) : null }
}

function newestFirst<T extends { readonly seq: number }>(
  items: readonly T[],
  cursor: string | undefined,
): readonly T[] {
  const before = cursor === undefined ? Infinity : decodeCursor(cursor)
  return items.filter(({ seq }) => seq < before).toReversed()
}

function toSummary(entry: EventEntry): EventSummary {
  const { seq, event } = entry
  const { id, type, createdAt, receivedAt, network, address } = event
  return { seq, id, type, createdAt, receivedAt, network, address, status: statusOf(entry) }
}

function toDetail(entry: EventEntry): EventDetail {
  const { event, duplicates, conflicts, runs } = entry
  const { key, secretLabel, raw } = event
  return {
    ...toSummary(entry),
    key,
    secretLabel,
    raw: new Uint8Array(raw),
    pruned: entry.finalStatus !== null,
    duplicates,
    conflicts,
    runs: runs.map(toRunRecord),
  }
}

function toRunRecord(run: MemoryRun): RunRecord {
  const { runId, handler, state, attempt, crashed, runAt, attempts } = run
  const isClaimable = state === 'waiting' || state === 'ready' || state === 'suspect'
  const replay = run.replay?.id ?? null
  return { runId, handler, state, attempt, crashed, runAt: isClaimable ? runAt : null, replay, attempts: [...attempts] }
}

function toDeadLetter({ runId, handler, attempt, crashed, event, state, death }: MemoryRun): DeadLetter {
  if (!death) throw new Error(`run ${runId} is no dead letter`)
  const { id: eventId, type } = event
  const died = { diedAt: death.at, held: state === 'held', error: death.error }
  return { runId, eventId, type, handler, attempt, crashed, ...died }
}

function toQuarantinedBody({ body, count }: QuarantineEntry, shownBytes?: number): QuarantinedBody {
  const { id, reason, receivedAt, secretLabel, raw } = body
  return { id, reason, receivedAt, secretLabel, sizeBytes: raw.length, count, raw: raw.slice(0, shownBytes) }
}

/** One row per handler that is registered or has runs that are not done. */
function countByHandler(
  routes: readonly HandlerRoute[],
  runs: MemoryRuns,
  replays: MemoryReplays,
  concurrencies: ReadonlyMap<string, number>,
): HandlerStats[] {
  type Counts = { -readonly [K in keyof HandlerStats]: HandlerStats[K] }
  const rows = new Map<string, Counts>()
  const rowOf = (handler: string) => {
    const counts = { waiting: 0, ready: 0, suspect: 0, running: 0, held: 0, dead: 0 }
    const superseded = runs.superseded(handler)
    const row = rows.get(handler) ?? {
      handler,
      paused: runs.isPaused(handler),
      concurrency: concurrencies.get(handler) ?? null,
      superseded,
      backfillSeq: replays.backfillSeq(handler),
      ...counts,
    }
    rows.set(handler, row)
    return row
  }
  for (const { name } of routes) rowOf(name)
  for (const { handler, state } of [...runs.open, ...runs.dead.values()]) {
    const row = rowOf(handler)
    if (isCounted(state)) row[state] += 1
  }
  return [...rows.values()]
}

function isCounted(state: RunState): state is keyof RunCounts {
  return ['waiting', 'ready', 'suspect', 'running', 'held', 'dead'].includes(state)
}

function oldestArrival(open: Iterable<MemoryRun>): number {
  let oldest: MemoryRun | null = null
  for (const run of open) if (!oldest || run.event.seq < oldest.event.seq) oldest = run
  return oldest?.event.receivedAt ?? 0
}
