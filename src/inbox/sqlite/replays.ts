import { roomFor, type OpenBacklog, type StepResult } from '../jobs.ts'
import { matchesFilter, partsOfKey, replayedRoutes, type ScannedEvent } from '../replays.ts'
import { type HandlerRoute, type NewReplay, type ReplayFilter } from '../port.ts'
import { createRouteKeys } from '../route-key.ts'
import { replayState } from '../run-sql.ts'
import { statusOf } from '../status.ts'
import { live, type Runs } from './runs.ts'
import type { StoreContext } from './context.ts'
import type { ReplayRow } from './statements.ts'

/** Maximum events scanned per step, and events per read. */
const maxScanned = 2_000
const eventsPerRead = 200
/** Maximum runs of a handler that a cancel drops. A replay has fewer open runs. */
const maxDropped = 100_000

/** Replays and backfills: creates runs of stored events, step by step. */
export function createReplays(
  { sql, clock, counters, handlers }: StoreContext,
  runs: Pick<Runs, 'insert' | 'supersedeWaiting' | 'drop'>,
) {
  function start({ filter, perSecond, newKeys }: NewReplay): ReplayRow {
    const lastSeq = counters.nextSeq - 1
    const text = JSON.stringify(filter)
    const { lastInsertRowid: id } = sql.insertReplay.run(text, perSecond, newKeys ? 1 : 0, clock.now(), lastSeq)
    return sql.replayRow.get(Number(id)) as ReplayRow
  }

  /** Creates up to `max` runs of a replay. */
  function step(id: number, max: number): StepResult {
    const row = sql.replayRow.get(id)
    if (row === undefined || row.state !== replayState.running) return { created: 0, next: 'ended' }
    if (row.nextSeq > row.lastSeq) {
      if (backlogOf(handlers.ids(), id).open > 0) return { created: 0, next: 'waits' }
      sql.endReplay.run(replayState.done, clock.now(), id)
      return { created: 0, next: 'ended' }
    }
    const room = roomFor(max, backlogOf(handlers.ids(), id))
    return room <= 0 ? { created: 0, next: 'waits' } : scan(row, room)
  }

  function scan(row: ReplayRow, room: number): StepResult {
    const filter = JSON.parse(row.filter) as ReplayFilter
    let [nextSeq, events, created, skipped] = [row.lastSeq + 1, 0, 0, 0]
    for (const event of candidates(filter, row)) {
      nextSeq = event.seq + 1
      const routes = replayedRoutes(handlers.routesOf(event), filter)
      if (routes === null || !matches(filter, event)) continue
      events++
      if (sql.hasBody.get(event.seq) === undefined) {
        skipped++
        continue
      }
      for (const route of routes) insert(route, event, row.id)
      created += routes.length
      if (created >= room) break
    }
    sql.advanceReplay.run(nextSeq, events, created, skipped, row.id)
    return { created, next: 'more' }
  }

  /** Events to compare with the filter, in accept order. */
  function candidates({ ids }: ReplayFilter, { nextSeq, lastSeq }: ReplayRow): Iterable<ScannedEvent> {
    if (ids === undefined) return eventsFrom(nextSeq, lastSeq)
    const events = [...new Set(ids)].flatMap((id) => sql.eventById.get(id) ?? [])
    return events.filter(({ seq }) => seq >= nextSeq && seq <= lastSeq).toSorted((a, b) => a.seq - b.seq)
  }

  function* eventsFrom(seq: number, lastSeq: number): Generator<ScannedEvent> {
    let from = seq
    for (let scanned = 0; scanned < maxScanned; scanned += eventsPerRead) {
      const events = sql.eventsFrom.all(from, lastSeq, eventsPerRead)
      yield* events
      if (events.length < eventsPerRead) return
      from = (events.at(-1)?.seq ?? lastSeq) + 1
    }
  }

  function matches(filter: ReplayFilter, event: ScannedEvent): boolean {
    const { seq, key, finalStatus } = event
    const status = () => statusOf(finalStatus, finalStatus === null ? sql.progressOf.all(seq) : [])
    return matchesFilter(filter, { ...event, ...partsOfKey(key), status })
  }

  function insert(route: HandlerRoute, event: ScannedEvent, replayId: number): void {
    const { seq, id, key } = event
    const keyFor = createRouteKeys({ ...event, key: key ?? id }, () => sql.rawOf.get(seq)?.raw)
    const queue = { handlerId: handlers.ensure(route.name), replayId, key: keyFor(route) }
    if (replayId === live && route.latestOnly) runs.supersedeWaiting(queue)
    runs.insert(queue, seq)
  }

  function backlogOf(handlerIds: readonly number[], replayId: number): OpenBacklog {
    const sumOf = (countOf: (handlerId: number) => { readonly count: number } | undefined) =>
      handlerIds.reduce((sum, handlerId) => sum + (countOf(handlerId)?.count ?? 0), 0)
    return {
      open: sumOf((handlerId) => sql.openCount.get(handlerId, replayId)),
      ready: sumOf((handlerId) => sql.readyCount.get(handlerId, replayId)),
    }
  }

  function cancel(id: number): boolean {
    if (sql.endReplay.run(replayState.cancelled, clock.now(), id).changes === 0) return false
    for (const handlerId of handlers.ids()) {
      // Outbox items stay: they belong to completed runs.
      for (const run of sql.waitingOfReplay.all(handlerId, id, maxDropped)) runs.drop(run.id)
    }
    return true
  }

  /** Creates up to `max` runs of a new handler for events stored before it. */
  function backfill(handlerId: number, max: number): StepResult {
    const position = sql.backfill.get(handlerId)
    const route = handlers.routeOf(handlerId)
    if (position === undefined || position.nextSeq === null || route === undefined) return { created: 0, next: 'ended' }
    const room = roomFor(max, backlogOf([handlerId], live))
    if (room <= 0) return { created: 0, next: 'waits' }
    const lastSeq = counters.nextSeq - 1
    let [nextSeq, created] = [lastSeq + 1, 0]
    for (const event of eventsFrom(position.nextSeq, lastSeq)) {
      nextSeq = event.seq + 1
      if (event.receivedAt < position.receivedFrom || !handlers.takes(route, event)) continue
      if (sql.hasBody.get(event.seq) === undefined) continue
      insert(route, event, live)
      created++
      if (created >= room) break
    }
    if (nextSeq <= lastSeq) {
      sql.advanceBackfill.run(nextSeq, handlerId)
      return { created, next: 'more' }
    }
    // From the next event on, accept creates its runs.
    handlers.endBackfill(handlerId)
    return { created, next: 'ended' }
  }

  return {
    start,
    cancel,
    /** Backfills and replays in progress; empty until handlers are registered. */
    jobs() {
      if (!handlers.isRegistered) return []
      const backfills = handlers.backfilling().map((id) => {
        return { name: `backfill ${id}`, perSecond: null, step: (max: number) => backfill(id, max) }
      })
      const running = sql.runningReplays.all().map(({ id, perSecond }) => {
        return { name: `replay ${id}`, perSecond, step: (max: number) => step(id, max) }
      })
      return [...backfills, ...running]
    },
  }
}
