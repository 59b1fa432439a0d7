import type { Database } from 'better-sqlite3'
import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { maxHeaderSets } from '../limits.ts'
import { createRouteKeys } from '../route-key.ts'
import {
  type AcceptResult,
  type IncomingDelivery,
  type AuditRecord,
  type ClaimRequest,
  type HandlerRoute,
  type NewEvent,
  type NewQuarantined,
  type StateEntry,
  type StateQuery,
  type SourceKey,
  sourceOf,
  uidOf,
} from '../port.ts'
import { createGaps } from './gaps.ts'
import { HandlerTable } from './handlers.ts'
import { Leases, type WaitingClaim } from './leases.ts'
import { Undo, type WriterCounters } from './writer-counters.ts'
import { createPruning } from './pruning.ts'
import { createReplays } from './replays.ts'
import { createRuns, live } from './runs.ts'
import { createStateTable } from './state.ts'
import { runState } from '../run-sql.ts'
import { prepareStatements, type Statements } from './statements.ts'
import { hourMs, keptTallyMinutes, minuteMs, prunedMinutes } from '../tally.ts'

/** A clock this far behind the latest time was set back. Smaller steps are normal adjustments. */
const setBackMs = 1_000
/** Precision of `seen_at`, the time of the last write, in the file. */
const noteMs = 1_000

/**
 * The SQLite store: synchronous, with one connection. Call every method inside `transact`. Leases live in memory, because they end with
 * the process: at the next start, every run with the state `running` was in flight when the process died.
 */
export type SqliteStore = ReturnType<typeof createSqliteStore>

export function createSqliteStore(db: Database, options: { clock: Clock; firstSeq: number }) {
  const { clock } = options
  const sql = prepareStatements(db)
  const seenAt = sql.meta.get('seen_at')?.value ?? 0
  const counters: WriterCounters = {
    nextSeq: options.firstSeq,
    nextRunId: Math.max(sql.maxRunId.get()?.id ?? 0, sql.meta.get('last_run_id')?.value ?? 0) + 1,
    bodyBytes: sql.lastBody.get()?.total ?? 0,
    claimable: sql.claimableCount.get()?.count ?? 0,
    held: sql.heldCount.get()?.count ?? 0,
    latest: seenAt,
    noted: seenAt,
  }
  const undo = new Undo()
  const handlers = new HandlerTable(sql, undo)
  const headerSets = createHeaderSets(sql, undo)
  const states = createStateTable(sql, clock)
  let waiting: readonly WaitingClaim[] = []
  const woken = new Set<number>()
  const leases = new Leases((step) => undo.note(step))
  const context = { db, sql, clock, counters, handlers }
  const runs = createRuns(context, { leases, states, claims: () => waiting, woken })
  const replays = createReplays(context, runs)
  const pruning = createPruning(context)
  const gaps = createGaps(sql, clock)
  const tallies = createTallies(sql)
  const deadAtStart = transact([], () => {
    const dead = runs.reapDeadProcess()
    gaps.opened()
    return dead
  })

  /**
   * Runs `work` in one durable transaction, and leases runs that became claimable to `claims` in the same one. If it throws, nothing has
   * changed, neither in the database nor in memory.
   */
  function transact<T>(claims: readonly WaitingClaim[], work: () => T): T {
    const countersBefore = { ...counters }
    waiting = claims
    woken.clear()
    undo.begin()
    sql.begin.run()
    try {
      detectClockSetBack()
      const result = work()
      for (const claim of claims) {
        for (const name of claim.handlers) {
          const handlerId = handlers.idOf(name)
          if (handlerId !== undefined && woken.has(handlerId)) runs.fill(claim, handlerId, name)
        }
      }
      tallies.flush()
      sql.commit.run()
      return result
    } catch (error) {
      if (db.inTransaction) sql.rollback.run()
      Object.assign(counters, countersBefore)
      undo.rollBack()
      gaps.forget()
      tallies.forget()
      for (const claim of claims) {
        claim.leases.length = 0
        claim.bytes = 0
      }
      throw error
    } finally {
      waiting = []
    }
  }

  /** If the clock was set back, moves due times back with it, so that no run waits for the old time. */
  function detectClockSetBack(): void {
    const now = clock.now()
    if (wasSetBack(now)) sql.shiftOpenRuns.run(counters.latest - now)
    counters.latest = now
    if (Math.abs(now - counters.noted) < noteMs) return
    sql.setMeta.run('seen_at', now)
    counters.noted = now
  }

  function wasSetBack(now: number): boolean {
    return now < counters.latest - setBackMs
  }

  function accept(batch: readonly IncomingDelivery[]): AcceptResult[] {
    const results = batch.map((delivery) =>
      delivery.kind === 'event' ? acceptEvent(delivery) : acceptQuarantined(delivery),
    )
    gaps.flush()
    return results
  }

  function acceptEvent(event: NewEvent): AcceptResult {
    const key = event.key === event.id ? null : event.key
    const headerSet = headerSets.knownId(event.headers)
    const { changes } = sql.insertEvent.run(
      counters.nextSeq,
      event.id,
      event.type,
      event.createdAt,
      event.receivedAt,
      key,
      event.secretLabel,
      counters.latest - event.receivedAt,
      headerSet,
      event.trace ?? null,
      event.stableDigest ?? null,
    )
    if (changes === 0) return acceptKnown(event)
    const seq = counters.nextSeq++
    if (headerSet === null) addHeaders(seq, event.headers)
    counters.bodyBytes += event.raw.length
    sql.insertBody.run(seq, counters.bodyBytes, event.raw)
    gaps.arrived(event)
    tallies.add(seq, event)
    const keyFor = createRouteKeys(event, () => event.raw)
    for (const route of handlers.routesOf(event)) runs.insertRun(event, seq, route, keyFor(route))
    return 'accepted'
  }

  /** For new events only: repeated deliveries with changing headers would use up the stored sets. */
  function addHeaders(seq: number, headers: string | null | undefined): void {
    const added = headerSets.add(headers)
    if (added !== null) sql.setHeaderSet.run(added, seq)
  }

  /** Counts a duplicate, or records a conflict if the body differs. */
  function acceptKnown(event: NewEvent): AcceptResult {
    const first = sql.bodyOf.get(event.id)
    if (first === undefined) throw new Error(`event ${event.id} is neither new nor stored`)
    if (first.raw !== null && !first.raw.equals(event.raw) && !hasSameDigest(first, event)) {
      const digest = createHash('sha256').update(event.raw).digest('hex')
      sql.countConflict.run(event.id, digest, event.receivedAt, event.raw)
      return 'conflict'
    }
    sql.countRedelivery.run(first.seq, event.receivedAt)
    return 'duplicate'
  }

  function acceptQuarantined(body: NewQuarantined): AcceptResult {
    const total = (sql.lastQuarantined.get()?.total ?? 0) + body.raw.length
    sql.insertQuarantined.run(body.id, body.reason, body.receivedAt, body.secretLabel, total, body.raw)
    return 'quarantined'
  }

  /** When the next run of a handler, live or of a replay, is due; null if none is. */
  function nextDueOf(handlerId: number, from: number): number | null {
    let earliest: number | null = null
    let replayId: number | undefined = live
    while (replayId !== undefined) {
      const at = sql.nextDue.get(from, handlerId, replayId)?.dueAt
      if (at !== undefined && (earliest === null || at < earliest)) earliest = at
      replayId = sql.nextReplay.get(from, handlerId, replayId)?.replayId
    }
    return earliest
  }

  /** Pauses or resumes a handler; null means all. Returns false if the handler was never registered. */
  function setPaused(name: string | null, paused: boolean): boolean {
    if (name === null) {
      handlers.pauseAll(paused)
      for (const id of handlers.ids()) woken.add(id)
      return true
    }
    const id = handlers.idOf(name)
    if (id === undefined) return false
    handlers.pause(id, paused)
    woken.add(id)
    return true
  }

  return {
    settle: runs.settle,
    release: runs.release,
    releaseOthers: runs.releaseOthers,
    reap: runs.reap,
    deadAfter: runs.deadAfter,
    requeueDead: runs.requeueDead,
    dropDead: runs.dropDead,
    dropOpen: runs.dropOpen,
    /** Runs that became dead letters because an earlier process died. */
    deadAtStart,
    transact,
    accept,
    register(routes: readonly HandlerRoute[]): Record<string, number> {
      handlers.register(routes)
      return Object.fromEntries(sql.concurrencies.all().map(({ name, concurrency }) => [name, concurrency]))
    },
    setPaused,
    setConcurrency(handler: string, concurrency: number | null): boolean {
      const id = handlers.idOf(handler)
      return id !== undefined && sql.setConcurrency.run(concurrency, id).changes === 1
    },
    retryQuarantined(id: string, event: NewEvent): AcceptResult | null {
      if (sql.deleteQuarantined.run(id).changes === 0) return null
      const result = acceptEvent(event)
      gaps.flush()
      return result
    },
    dropQuarantined: (id: string) => sql.deleteQuarantined.run(id).changes === 1,
    note(action: AuditRecord['action'], detail: AuditRecord['detail'], by?: string): number {
      return Number(sql.insertAudit.run(clock.now(), action, JSON.stringify(detail), by ?? null).lastInsertRowid)
    },
    updateNote(id: number, detail: AuditRecord['detail']): void {
      sql.setAuditDetail.run(JSON.stringify(detail), id)
    },
    replays,
    pruning,
    gaps,
    sourceKeys: (source: string): readonly SourceKey[] => sql.sourceKeys.all(source),
    storeSourceKeys(source: string, keys: readonly SourceKey[]): void {
      sql.deleteSourceKeys.run(source)
      for (const { id, spki } of keys) sql.insertSourceKey.run(source, id, spki)
    },
    /** Returns nothing for an unknown handler. Outside a transaction, reads committed data. */
    readState(handler: string, query: StateQuery): StateEntry[] {
      const id = handlers.idOf(handler)
      return id === undefined ? [] : states.read(id, query)
    },
    /** Makes this transaction look for claimable runs of the claim's handlers. */
    wake(claim: ClaimRequest): void {
      for (const name of claim.handlers) {
        const id = handlers.idOf(name)
        if (id !== undefined) woken.add(id)
      }
    },
    /** True if any run is ready (even if not due yet) or suspect. */
    hasClaimable: () => counters.claimable > 0,
    /** When the next run for this claim is due; null if none is. */
    nextDueAt(claim: ClaimRequest): number | null {
      let earliest: number | null = null
      if (counters.claimable === 0) return earliest
      for (const name of claim.handlers) {
        const id = handlers.idOf(name)
        if (id === undefined || handlers.isPaused(id)) continue
        const at = nextDueOf(id, claim.suspects ? runState.suspect : runState.ready)
        if (at !== null && (earliest === null || at < earliest)) earliest = at
      }
      return earliest
    },
    /** True if the clock was set back since the last check. */
    clockWasSetBack(): boolean {
      const now = clock.now()
      if (wasSetBack(now)) return true
      counters.latest = now
      return false
    },
    /** Records that a check of the whole file succeeded. */
    recordIntegrityOk(): void {
      sql.setMeta.run('check_due', 0)
    },
    /** Writes a value, to test whether commits succeed. */
    probe(): void {
      sql.setMeta.run('probed_at', clock.now())
    },
    lastSeq: () => counters.nextSeq - 1,
  }
}

/** True if two bodies of an event differ only in parts that change between attempts. */
function hasSameDigest(first: { readonly stableDigest: string | null }, { stableDigest = null }: NewEvent): boolean {
  return stableDigest !== null && stableDigest === first.stableDigest
}

/** Sets of delivery headers, each stored once. Call inside a transaction. */
function createHeaderSets(sql: Pick<Statements, 'headerSets' | 'insertHeaderSet'>, undo: Undo) {
  const ids = new Map(sql.headerSets.all().map(({ id, headers }) => [headers, id]))
  return {
    /** Id of a stored set; null for no headers or an unknown set. */
    knownId: (headers: string | null | undefined): number | null => ids.get(headers ?? '') ?? null,
    /** Stores a new set and returns its id; null for no headers, or if too many sets are stored. */
    add(headers: string | null | undefined): number | null {
      if (headers === null || headers === undefined || ids.size >= maxHeaderSets) return null
      const id = Number(sql.insertHeaderSet.run(headers).lastInsertRowid)
      ids.set(headers, id)
      undo.note(() => ids.delete(headers))
      return id
    },
  }
}

/** Counts new events per minute, type and network, per hour and per secret. Each transaction writes its counts at its end. */
function createTallies(sql: Statements) {
  const minutes = new Map<string, { minute: number; type: string; network: string; count: number }>()
  const hours = new Map<number, { first: number; last: number }>()
  const secrets = new Map<string, { firstAt: number; lastAt: number; count: number }>()
  let newestHour = -Infinity

  function forget(): void {
    minutes.clear()
    hours.clear()
    secrets.clear()
  }

  return {
    add(seq: number, { type, key, id, receivedAt, secretLabel }: NewEvent): void {
      const minute = Math.floor(receivedAt / minuteMs)
      const network = key === id ? '' : key.slice(0, Math.max(0, key.indexOf(':')))
      const typeOfSource = uidOf(sourceOf({ secretLabel }), type)
      const name = `${minute} ${network} ${typeOfSource}`
      const tally = minutes.get(name)
      if (tally === undefined) minutes.set(name, { minute, type: typeOfSource, network, count: 1 })
      else tally.count++
      const hour = Math.floor(receivedAt / hourMs)
      const span = hours.get(hour)
      if (span === undefined) hours.set(hour, { first: seq, last: seq })
      else span.last = seq
      const use = secrets.get(secretLabel)
      if (use === undefined) secrets.set(secretLabel, { firstAt: receivedAt, lastAt: receivedAt, count: 1 })
      else {
        use.lastAt = Math.max(use.lastAt, receivedAt)
        use.count++
      }
    },
    /** Writes the counts since the last call. Prunes old minutes when an hour begins. */
    flush(): void {
      if (minutes.size === 0) return
      for (const { minute, type, network, count } of minutes.values()) sql.addTally.run(minute, type, network, count)
      for (const [hour, { first, last }] of hours) {
        sql.addHour.run(hour, first, last)
        if (hour <= newestHour) continue
        newestHour = hour
        sql.pruneTallies.run(hour * 60 - keptTallyMinutes, prunedMinutes)
      }
      for (const [label, { firstAt, lastAt, count }] of secrets) sql.addSecretUse.run(label, firstAt, lastAt, count)
      forget()
    },
    /** Resets the counts after a rollback. */
    forget,
  }
}
