import { Buffer } from 'node:buffer'
import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { createMemoryConflicts } from './memory-conflicts.ts'
import { createMemoryDead } from './memory-dead.ts'
import { createMemoryIndex } from './memory-index.ts'
import { MemoryReplays } from './memory-replays.ts'
import { createMemorySubscriptions } from './memory-subscriptions.ts'
import { type MemoryRun, MemoryRuns } from './memory-runs.ts'
import {
  listedBytes,
  type AcceptResult,
  type AuditRecord,
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
  type QuarantineGroup,
  type RunCounts,
  type RunRecord,
  type RunState,
  type StoredEvent,
} from './port.ts'
import { addToGroups } from './quarantine-groups.ts'
import { createRouteKeys } from './route-key.ts'
import { createRouteTable } from './routes.ts'
import { deriveEventStatus } from './status.ts'

/** What the audit says of the runs of an act: of so few all of them, of more how many there were, and so many of them at the most. */
const fewRuns = 500
const mostNotedRuns = 1_000

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
  readonly storedAt: number
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
  const index = createMemoryIndex(events)
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
  const note = (action: AuditRecord['action'], detail: AuditRecord['detail'], by?: string) =>
    void audit.push({ id: audit.length + 1, at: clock.now(), action, detail, by: by ?? null })
  const subscriptions = createMemorySubscriptions(note)
  let routes: readonly HandlerRoute[] = []
  let routesOf = createRouteTable(routes)
  const conflicts = createMemoryConflicts()
  const dead = createMemoryDead(runs.dead)
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
      conflicts.add(known, arrival)
      return 'conflict'
    }
    const seq = events.length + 1
    // The bytes are copied: the caller may use its buffer again.
    const event: NewEvent = { ...arrival, raw: new Uint8Array(arrival.raw) }
    const { id, type, createdAt, receivedAt, key, secretLabel, raw, trace = null } = event
    const stored = { seq, id, type, createdAt, receivedAt, key, secretLabel, raw, trace }
    const keyFor = createRouteKeys({ id, key, raw: () => raw })
    const created = routesOf(type)
      .filter(({ name }) => !replays.isBackfilling(name))
      .map((route) => runs.add(stored, route.name, keyFor(route)))
    const counted = { duplicates: 0, conflicts: 0, storedAt: clock.now() }
    const entry: EventEntry = { seq, event, stored, runs: created, finalStatus: null, ...counted }
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
      if (!entry || !matches(entry, query)) continue
      if (query.q === undefined || index.isFound(entry, query.q)) yield entry
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
      const found = toPage(newestEvents(query), query.limit, toSummary)
      const last = found.nextCursor === null ? events[0]?.event : found.data.at(-1)
      return { ...found, searchedTo: last?.receivedAt ?? null }
    },
    async indexStatus() {
      assertOpen()
      return index.indexStatus()
    },
    async activity(query) {
      assertOpen()
      return index.activity(query)
    },
    async cadences() {
      assertOpen()
      return index.cadences()
    },
    async drift() {
      assertOpen()
      return index.drift()
    },
    async secretUses() {
      assertOpen()
      return index.secretUses()
    },
    async knownWallets() {
      assertOpen()
      return index.knownWallets()
    },
    async rebuildIndex(by) {
      assertOpen()
      note('index.rebuild', {}, by)
      index.rebuild()
    },
    async event(id) {
      assertOpen()
      const entry = eventsById.get(id)
      return entry ? toDetail(entry, (run) => runs.stateKeysOf(run)) : null
    },
    async deadLetters(query) {
      assertOpen()
      return dead.page(query)
    },
    async unknownIds(ids) {
      assertOpen()
      return ids.filter((id) => !eventsById.has(id))
    },
    async countReplay(filter) {
      assertOpen()
      return replays.count(filter)
    },
    async startReplay(replay, by) {
      assertOpen()
      const record = replays.start(replay)
      note('replay.start', { replay: record.id, ...replay }, by)
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
    async cancelReplay(id, by) {
      assertOpen()
      const isCancelled = replays.cancel(id)
      if (isCancelled) runs.cancel(id)
      if (isCancelled) note('replay.cancel', { replay: id }, by)
      return isCancelled
    },
    async setPaused(handler, paused, by) {
      assertOpen()
      const isKnown = handler === null || registered.has(handler)
      if (!isKnown) return false
      runs.setPaused(handler, paused)
      note(paused ? 'handler.pause' : 'handler.resume', { handler }, by)
      return true
    },
    async setConcurrency(handler, concurrency, by) {
      assertOpen()
      if (!registered.has(handler)) return false
      if (concurrency === null) concurrencies.delete(handler)
      else concurrencies.set(handler, concurrency)
      note('handler.set', { handler, concurrency }, by)
      return true
    },
    async deadLetter(runId) {
      assertOpen()
      return dead.one(runId)
    },
    async deadGroups(filter) {
      assertOpen()
      return { groups: dead.groups(filter), isComplete: true }
    },
    async deadRunIds(filter) {
      assertOpen()
      return dead.runIds(filter)
    },
    async conflicts(query) {
      assertOpen()
      return conflicts.page(query)
    },
    async conflict(eventId, digest) {
      assertOpen()
      const entry = eventsById.get(eventId)
      return entry ? conflicts.one(entry.seq, digest, entry.event.raw) : null
    },
    async quarantineGroups() {
      assertOpen()
      return groupQuarantine(quarantined.values())
    },
    async note(action, detail, by) {
      assertOpen()
      note(action, detail, by)
    },
    async dropDead(which, reason, by) {
      assertOpen()
      const ids = which === 'all' ? [...runs.dead.keys()] : which
      const found = ids.flatMap((runId) => runs.dead.get(runId) ?? [])
      for (const run of found) runs.drop(run, reason)
      if (found.length > 0) note('dead.drop', { reason, ...noted(which, found.length) }, by)
      runs.serve()
      return found.length
    },
    async dropOpenRuns(handler, reason, by) {
      assertOpen()
      if (!registered.has(handler)) return null
      replays.endBackfill(handler)
      const found = [...runs.open, ...runs.dead.values()].filter((run) => {
        return run.handler === handler && run.state !== 'running' && run.state !== 'dead'
      })
      for (const run of found) runs.drop(run, reason)
      if (found.length > 0) note('handler.drop', { handler, reason, count: found.length }, by)
      runs.serve()
      return found.length
    },
    async prune({ receivedBefore }, noted, by) {
      assertOpen()
      index.bringUp()
      const old = events.filter(({ event }) => receivedBefore !== null && event.receivedAt < receivedBefore)
      const first = replays.firstBackfill()
      const ended = old
        .filter(({ seq }) => seq < first)
        .filter(({ finalStatus, runs: own }) => finalStatus === null && own.every(({ state }) => hasEnded(state)))
      for (const entry of ended) {
        entry.finalStatus = deriveStatus(entry.runs)
        entry.event = { ...entry.event, raw: new Uint8Array() }
        entry.runs.length = 0
        conflicts.empty(entry.seq)
      }
      const oldBodies = [...quarantined.values()].filter(({ body }) => body.receivedAt < (receivedBefore ?? -Infinity))
      for (const { body } of oldBodies) quarantined.delete(body.id)
      const pruned = { events: ended.length, quarantined: oldBodies.length }
      if (noted !== undefined) note('prune', { receivedBefore, ...pruned }, by)
      return { ...pruned, isTooLarge: false }
    },
    async retryQuarantined(id, event, by) {
      assertOpen()
      if (!quarantined.delete(id)) return null
      note('quarantine.retry', { id, event: event.id }, by)
      const result = acceptEvent(event)
      runs.serve()
      return result
    },
    async dropQuarantined(id, reason, by) {
      assertOpen()
      if (!quarantined.delete(id)) return false
      note('quarantine.drop', { id, reason }, by)
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
    async beginSubscription(next, replaces, by) {
      assertOpen()
      return subscriptions.begin(next, replaces, by)
    },
    async endSubscription(id, result, by) {
      assertOpen()
      subscriptions.end(id, result, by)
    },
    async audit({ limit, cursor }) {
      assertOpen()
      const oldestFirst = audit.map((record) => ({ seq: record.id, record }))
      return toPage(newestFirst(oldestFirst, cursor), limit, ({ record }) => record)
    },
    async requeueDead(which, by) {
      assertOpen()
      const count = runs.requeueDead(which)
      if (count > 0) note('dead.requeue', noted(which, count), by)
      return count
    },
    async quarantine({ limit, cursor, reason }) {
      assertOpen()
      const found = [...quarantined.values()].filter(({ body }) => reason === undefined || body.reason === reason)
      return toPage(newestFirst(found, cursor), limit, (entry) => toQuarantinedBody(entry, listedBytes))
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
        conflicts: conflicts.size,
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

/** The audit has the run ids of an act, but of very many only the first, and how many there were. */
function noted(which: 'all' | readonly number[], count: number): { runs: typeof which; count?: number } {
  if (which === 'all') return { runs: which, count }
  const runs = which.toSorted((a, b) => a - b)
  return runs.length <= fewRuns ? { runs } : { runs: runs.slice(0, mostNotedRuns), count }
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

function toDetail(entry: EventEntry, stateKeysOf: (run: MemoryRun) => readonly string[]): EventDetail {
  const { event, duplicates, conflicts, runs, storedAt } = entry
  const { key, secretLabel, raw, headers = null, trace = null } = event
  return {
    ...toSummary(entry),
    key,
    secretLabel,
    raw: new Uint8Array(raw),
    pruned: entry.finalStatus !== null,
    duplicates,
    conflicts,
    storedAt,
    headers,
    trace,
    runs: runs.map((run) => toRunRecord(run, stateKeysOf(run))),
  }
}

function toRunRecord(run: MemoryRun, stateKeys: readonly string[]): RunRecord {
  const { runId, handler, state, attempt, crashed, runAt, attempts, item, startedAt, endedAt } = run
  const isClaimable = state === 'waiting' || state === 'ready' || state === 'suspect'
  const replay = run.replay?.id ?? null
  return {
    runId,
    handler,
    state,
    attempt,
    crashed,
    runAt: isClaimable ? runAt : null,
    replay,
    item,
    // One that was given back was not taken up.
    startedAt: attempt === 0 ? null : startedAt,
    endedAt,
    stateKeys,
    attempts: [...attempts],
  }
}

function groupQuarantine(entries: Iterable<QuarantineEntry>): QuarantineGroup[] {
  const groups = new Map<string, QuarantineGroup>()
  for (const { body } of entries) {
    const { reason, secretLabel, raw, receivedAt: at } = body
    addToGroups(groups, { reason, secretLabel, count: 1, sizeBytes: raw.length, firstAt: at, lastAt: at })
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt)
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
