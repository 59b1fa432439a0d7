import type { Clock } from '../../base/clock.ts'
import { errorGroupOf } from '../error-group.ts'
import {
  dueAt,
  maxCrashes,
  versionOf,
  type CrashedRun,
  type HandlerRoute,
  type Lease,
  type LeasedReplay,
  type NewEvent,
  type NewItem,
  type Outcome,
  type ReapResult,
  type RunError,
  type SettleResult,
} from '../port.ts'
import type { HandlerTable } from './handlers.ts'
import type { LeaseEntry, Leases, Place } from './leases.ts'
import type { WriterCounters } from './writer-counters.ts'
import type { StateTable } from './state.ts'
import { state, type ClaimRow, type Statements } from './statements.ts'
import type { WaitingClaim } from './leases.ts'

export interface RunsOptions {
  readonly sql: Statements
  readonly clock: Clock
  readonly counters: WriterCounters
  readonly handlers: HandlerTable
  readonly leases: Leases
  readonly states: StateTable
  /** Claims that wait for work during the current transaction. */
  readonly claims: () => readonly WaitingClaim[]
  readonly replayOf: (id: number) => LeasedReplay | null
  readonly isCancelled: (replayId: number) => boolean
  /** Handlers for which a run may have become claimable in this transaction. */
  readonly woken: Set<number>
}

/** The replay id of live runs. */
export const live = 0

const bodyMissing: RunError = {
  name: 'body_missing',
  message: 'the event or its body is missing in the database: the file was damaged or changed by hand',
}
const maxFillRounds = 100
/** Maximum runs per read for a claim. */
const fillCount = 32
/** A claim with this many bytes of bodies gets no more runs. */
const maxClaimBytes = 4 * 1024 * 1024
/** Maximum runs superseded at once. Usually one; more only if a handler became `latestOnly` with a backlog. */
const maxSuperseded = 500
const maxErrorMessage = 2_000
const maxErrorStack = 8_000

export type Runs = ReturnType<typeof createRuns>

/** Runs: their states, order and leases. Call every method inside a transaction. */
export function createRuns(options: RunsOptions) {
  const { sql, clock, counters, handlers, leases, states, claims, replayOf, isCancelled, woken } = options

  /** Creates the live run of a new event for a handler. */
  function insertRun(event: NewEvent, seq: number, route: HandlerRoute, key: string | null): void {
    const handlerId = handlers.idOf(route.name)
    if (handlerId === undefined || handlers.isBackfilling(handlerId)) return
    const place = { handlerId, replayId: live, key }
    if (route.latestOnly) supersedeWaiting(place)
    const isBehind = isBusy(place)
    const claim = isBehind ? undefined : waitingClaim(handlerId, route.name)
    if (claim === undefined) {
      insert(place, seq, isBehind)
      return
    }
    const { id, type, createdAt, receivedAt, secretLabel, raw, trace = null } = event
    const stored = { seq, id, type, createdAt, receivedAt, key: event.key, secretLabel, raw, trace }
    handOver(claim, place, { handler: route.name, event: stored, item: null })
  }

  /** Leases a new run to a waiting claim. One commit stores both the run and its attempt. Returns its id. */
  function handOver(claim: WaitingClaim, place: Place, given: Pick<Lease, 'handler' | 'event' | 'item'>): number {
    const runId = counters.nextRunId++
    const now = clock.now()
    const { handlerId, replayId, key } = place
    const { seq } = given.event
    sql.insertRun.run(runId, seq, handlerId, replayId, key, state.running, now, 1, 1, now)
    const [token, attempt, crashed] = [1, 1, 0]
    const { owner } = claim
    leases.hold(runId, { ...place, token, owner, event: given.event, attempt, crashed, mayHaveFollowers: false })
    give(claim, { ...given, runId, token, attempt, failed: 0, crashed, key, replay: null })
    return runId
  }

  function waitingClaim(handlerId: number, handler: string): WaitingClaim | undefined {
    if (handlers.isPaused(handlerId)) return undefined
    return claims().find((claim) => {
      return !claim.suspects && !isFull(claim) && claim.handlers.includes(handler)
    })
  }

  /** Creates a run without a lease: ready, or waiting behind open runs of its key. Returns its id. */
  function insert(place: Place, seq: number, isBehind = isBusy(place)): number {
    const runId = counters.nextRunId++
    const { handlerId, replayId, key } = place
    const to = isBehind ? state.waiting : state.ready
    sql.insertRun.run(runId, seq, handlerId, replayId, key, to, clock.now(), 0, 0, null)
    if (!isBehind) open(handlerId)
    return runId
  }

  /** Supersedes the runs of a key that are not running. */
  function supersedeWaiting(place: Place): void {
    const { handlerId, replayId, key } = place
    if (key === null || !isBusy(place)) return
    let count = 0
    const older = sql.allOpenOfKey.all(handlerId, replayId, key, maxSuperseded)
    for (const { id, state: now } of older) {
      if (now !== state.waiting && now !== state.ready) continue
      // If some runs are left for the next time, the first one stays, because the others wait behind it.
      if (now === state.ready && older.length === maxSuperseded) continue
      sql.supersede.run(clock.now(), id)
      if (now === state.ready) counters.claimable--
      count++
    }
    if (count > 0) sql.countSuperseded.run(count, handlerId)
  }

  /** Creates a run of the sink for an item, in the replay (or live) of the run that left it. */
  function insertItem({ event, replayId }: LeaseEntry, { sink, key, payload, idempotencyKey }: NewItem): void {
    const place = { handlerId: handlers.ensure(sink), replayId, key }
    const isBehind = isBusy(place)
    // Live runs go first, so a run of a replay is not leased directly.
    const claim = isBehind || replayId !== live ? undefined : waitingClaim(place.handlerId, sink)
    const runId =
      claim === undefined
        ? insert(place, event.seq, isBehind)
        : handOver(claim, place, { handler: sink, event, item: { payload, idempotencyKey } })
    sql.insertItem.run(runId, payload, idempotencyKey)
  }

  /** True if an older run of the key is open. The caller's new run waits behind it then. */
  function isBusy({ handlerId, replayId, key }: Place): boolean {
    if (key === null) return false
    const leased = leases.ofKey(handlerId, replayId, key)
    if (leased !== undefined) {
      leased.mayHaveFollowers = true
      return true
    }
    return counters.claimable + counters.held > 0 && sql.openOfKey.get(handlerId, replayId, key) !== undefined
  }

  /** Leases claimable runs to the claim: live runs first, then replays, oldest first. */
  function fill(claim: WaitingClaim, handlerId: number, handler: string): void {
    if (handlers.isPaused(handlerId)) return
    const from = claim.suspects ? state.suspect : state.ready
    let generation: number | undefined = live
    while (generation !== undefined && !isFull(claim)) {
      // Runs without a body become dead letters and free the next run. The limit leaves very many to a later transaction.
      const place = { handlerId, replayId: generation, from }
      for (let round = 0; round < maxFillRounds && fillOnce(claim, place, handler); round++);
      generation = sql.nextGeneration.get(from, handlerId, generation)?.replay_id
    }
  }

  /** Leases up to `fillCount` runs. Returns true if there may be more. */
  function fillOnce(
    claim: WaitingClaim,
    { handlerId, replayId, from }: Omit<Place, 'key'> & { readonly from: number },
    handler: string,
  ): boolean {
    if (isFull(claim)) return false
    const limit = Math.min(fillCount, claim.max - claim.leases.length)
    const now = clock.now()
    const rows = sql.claimable.all(from, handlerId, replayId, now, limit)
    let mayBeMore = rows.length === limit
    for (const row of rows) {
      if (isFull(claim)) return false
      sql.claimRun.run(now, row.runId)
      const attempt = row.attempt + 1
      const token = row.token + 1
      counters.claimable--
      const place = { handlerId, replayId, key: row.runKey }
      if (row.raw === null) {
        record(row.runId, attempt, now, now, 'dead', bodyMissing)
        const to = deadState(place)
        sql.dieRun.run(to, now, now, errorGroupOf(bodyMissing), row.runId)
        if (to !== state.held) promote(place)
        mayBeMore = true
        continue
      }
      const { owner } = claim
      const { crashed } = row
      const replay = replayId === live ? null : replayOf(replayId)
      const lease = toLease({ ...row, raw: row.raw }, { handler, attempt, token, replay })
      leases.hold(row.runId, { ...place, token, owner, event: lease.event, attempt, crashed, mayHaveFollowers: true })
      give(claim, lease)
    }
    return mayBeMore
  }

  function settle(outcomes: readonly Outcome[]): SettleResult[] {
    return outcomes.map((outcome) => {
      const entry = leases.get(outcome.runId, outcome.token)
      if (entry === undefined) return 'stale'
      leases.letGo(outcome.runId, entry)
      switch (outcome.kind) {
        case 'done':
          if (!states.areUnchanged(entry.handlerId, outcome.effects?.reads ?? [])) {
            giveBack(outcome.runId, entry)
            return 'conflict'
          }
          states.write(entry.handlerId, versionOf(outcome), outcome.effects?.writes ?? [])
          finish(outcome, entry)
          for (const item of outcome.effects?.items ?? []) insertItem(entry, item)
          break
        case 'dead':
          record(outcome.runId, entry.attempt, outcome.startedAt, outcome.endedAt, 'dead', outcome.error)
          die(outcome, entry, outcome.error)
          break
        case 'retry':
          record(outcome.runId, entry.attempt, outcome.startedAt, outcome.endedAt, 'retry', outcome.error)
          if (isOutdated(outcome.runId, entry)) replace(outcome.runId, entry, sql.supersede)
          else if (!dropCancelled(outcome.runId, entry)) {
            sql.retryRun.run(dueAt(outcome, clock.now()), outcome.runId)
            open(entry.handlerId)
          }
          break
        case 'snooze':
          if (isOutdated(outcome.runId, entry)) replace(outcome.runId, entry, sql.supersedeUntried)
          else if (!dropCancelled(outcome.runId, entry, sql.dropUntried)) {
            sql.snoozeRun.run(dueAt(outcome, clock.now()), outcome.runId)
            open(entry.handlerId)
          }
          break
        case 'expired':
        case 'unmatched':
          sql.endUntried.run(state[outcome.kind], outcome.endedAt, outcome.runId)
          if (entry.mayHaveFollowers) promote(entry)
          break
      }
      return 'applied'
    })
  }

  /** Notes that a run became ready or suspect. */
  function open(handlerId: number): void {
    counters.claimable++
    woken.add(handlerId)
  }

  /** State of a new dead letter. While one is held, no run of its key is promoted, not even an older one that was requeued. */
  function deadState({ handlerId, key }: Place): number {
    if (key === null || !handlers.holds(handlerId)) return state.dead
    counters.held++
    return state.held
  }

  /** True if a newer run of its key supersedes this run instead of a retry. */
  function isOutdated(runId: number, { handlerId, replayId, key, mayHaveFollowers }: LeaseEntry): boolean {
    if (key === null || !mayHaveFollowers || replayId !== live || !handlers.isLatestOnly(handlerId)) return false
    const newest = sql.newestOfKey.get(handlerId, replayId, key)
    return newest !== undefined && newest.id > runId
  }

  /**
   * Drops a run of a cancelled replay instead of retrying it. Returns false for other runs. Outbox items continue: they belong to
   * completed runs.
   */
  function dropCancelled(runId: number, place: Place, drop = sql.dropRun): boolean {
    if (place.replayId === live || !isCancelled(place.replayId) || sql.isItem.get(runId) !== undefined) return false
    drop.run(clock.now(), runId)
    promote(place)
    return true
  }

  /** Supersedes a run and promotes the next run of its key. */
  function replace(runId: number, entry: LeaseEntry, supersede: Statements['supersede']): void {
    supersede.run(clock.now(), runId)
    sql.countSuperseded.run(1, entry.handlerId)
    promote(entry)
  }

  function finish({ runId, startedAt, endedAt }: Outcome, entry: LeaseEntry): void {
    sql.finishRun.run(state.done, startedAt, endedAt, runId)
    if (entry.mayHaveFollowers) promote(entry)
  }

  function die({ runId, startedAt, endedAt }: Outcome, entry: LeaseEntry, error: RunError): void {
    const to = deadState(entry)
    sql.dieRun.run(to, startedAt, endedAt, errorGroupOf(error), runId)
    if (entry.mayHaveFollowers && to !== state.held) promote(entry)
  }

  /** Makes the oldest waiting run of a key ready, unless another open run is ahead of it. */
  function promote({ handlerId, replayId, key }: Place): void {
    if (key === null) return
    const next = sql.openOfKey.get(handlerId, replayId, key)
    if (next === undefined || next.state !== state.waiting) return
    sql.readyRun.run(next.id)
    open(handlerId)
  }

  function record(
    runId: number,
    attempt: number,
    startedAt: number,
    endedAt: number,
    outcome: 'retry' | 'dead' | 'crashed' | 'dropped',
    error: RunError,
  ): void {
    sql.insertAttempt.run(
      runId,
      attempt,
      startedAt,
      endedAt,
      outcome,
      error.name,
      error.message.slice(0, maxErrorMessage),
      error.stack?.slice(0, maxErrorStack) ?? null,
    )
  }

  function release(given: readonly Pick<Lease, 'runId' | 'token'>[]): void {
    for (const { runId, token } of given) {
      const entry = leases.get(runId, token)
      if (entry === undefined) continue
      leases.letGo(runId, entry)
      giveBack(runId, entry)
    }
  }

  /** Releases all leases of an owner, except for the runs in `running`. */
  function releaseOthers(owner: string, running: readonly number[]): void {
    const others = leases.ofOwner(owner).filter(([runId]) => !running.includes(runId))
    release(others.map(([runId, { token }]) => ({ runId, token })))
  }

  /** Restores the state before the claim, unless the run was superseded or dropped in the meantime. */
  function giveBack(runId: number, entry: LeaseEntry): void {
    if (dropCancelled(runId, entry, sql.dropUntried)) return
    if (isOutdated(runId, entry)) return replace(runId, entry, sql.supersedeUntried)
    sql.releaseRun.run(entry.crashed > 0 ? state.suspect : state.ready, runId)
    open(entry.handlerId)
  }

  function reap(owner: string): ReapResult {
    const owned = leases.ofOwner(owner)
    const dead = owned.flatMap(([runId, entry]) => {
      leases.letGo(runId, entry)
      return crash(runId, entry) ?? []
    })
    return { runs: owned.length, dead }
  }

  /** Reaps the runs that were in flight when an earlier process died. Returns new dead letters. */
  function reapDeadProcess(): CrashedRun[] {
    return sql.running.all().flatMap((row) => {
      return crash(row.id, { ...row, handlerId: row.handler_id, replayId: row.replay_id }) ?? []
    })
  }

  /** Counts a crash. Returns the run if it became a dead letter, else null. */
  function crash(runId: number, run: Place & Pick<LeaseEntry, 'attempt' | 'crashed'>): CrashedRun | null {
    const now = clock.now()
    const startedAt = sql.startOf.get(runId)?.started_at ?? now
    const crashed = run.crashed + 1
    const error: RunError = {
      name: 'handler_crashed',
      message: `the process or thread that ran it died before a verdict (crash ${crashed} of ${maxCrashes})`,
    }
    record(runId, run.attempt, startedAt, now, 'crashed', error)
    if (dropCancelled(runId, run)) return null
    if (crashed >= maxCrashes) {
      const to = deadState(run)
      sql.crashedOutRun.run(to, crashed, now, errorGroupOf(error), runId)
      if (to !== state.held) promote(run)
      const handler = handlers.nameOf(run.handlerId)
      return { handler, eventId: sql.eventIdOf.get(runId)?.id ?? '', attempt: run.attempt, error }
    }
    sql.suspectRun.run(crashed, now, runId)
    open(run.handlerId)
    return null
  }

  /** Up to `limit` dead letters with run ids above `after`, in order. */
  function deadAfter(after: number, limit: number): number[] {
    return sql.deadAfter.all(after, limit).map((row) => row.id)
  }

  /** Makes a dead letter claimable again. Returns false if the run is not a dead letter. */
  function requeueOne(runId: number): boolean {
    const run = sql.deadRun.get(runId)
    if (run === undefined) return false
    const place = { handlerId: run.handler_id, replayId: run.replay_id, key: run.key }
    if (run.state !== state.held) {
      const isBehind = isBusy(place)
      sql.requeueRun.run(isBehind ? state.waiting : state.ready, clock.now(), runId)
      if (!isBehind) open(run.handler_id)
      return true
    }
    // It blocked its key, but older dead letters may have been requeued behind it in the meantime.
    counters.held--
    sql.requeueRun.run(state.waiting, clock.now(), runId)
    promote(place)
    return true
  }

  /** Drops a run and promotes the next one of its key. Returns false if the run is running or has ended. */
  function drop(runId: number, reason?: string): boolean {
    const run = sql.place.get(runId)
    if (run === undefined || run.state === state.running || run.state > state.dead) return false
    const now = clock.now()
    sql.dropRun.run(now, runId)
    if (reason !== undefined) record(runId, run.attempt, now, now, 'dropped', { name: 'dropped', message: reason })
    if (run.state === state.held) counters.held--
    else if (run.state === state.ready || run.state === state.suspect) counters.claimable--
    if (run.state !== state.waiting && run.state !== state.dead) promote(run)
    return true
  }

  /** Drops a dead letter. Returns false if the run is not a dead letter. */
  function dropDead(runId: number, reason: string): boolean {
    return sql.deadRun.get(runId) !== undefined && drop(runId, reason)
  }

  /** Drops up to `limit` runs of a handler that are not running. Returns how many. */
  function dropOpen(handlerId: number, limit: number, reason: string): number {
    const ids = sql.openOfHandler.all(handlerId, limit)
    for (const { id } of ids) drop(id, reason)
    return ids.length
  }

  return {
    insertRun,
    insert,
    supersedeWaiting,
    drop,
    fill,
    settle,
    release,
    releaseOthers,
    reap,
    reapDeadProcess,
    deadAfter,
    requeueOne,
    dropDead,
    dropOpen,
  }
}

function toLease(
  row: ClaimRow & { readonly raw: Buffer },
  given: Pick<Lease, 'handler' | 'attempt' | 'token' | 'replay'>,
): Lease {
  return {
    ...given,
    runId: row.runId,
    failed: row.failed,
    crashed: row.crashed,
    event: {
      seq: row.seq,
      id: row.id,
      type: row.type,
      createdAt: row.createdAt,
      receivedAt: row.receivedAt,
      key: row.key ?? row.id,
      secretLabel: row.secretLabel,
      raw: row.raw,
      trace: row.trace,
    },
    key: row.runKey,
    item:
      row.payload === null || row.idempotencyKey === null
        ? null
        : { payload: row.payload, idempotencyKey: row.idempotencyKey },
  }
}

function isFull({ leases, max, bytes }: WaitingClaim): boolean {
  return leases.length >= max || bytes >= maxClaimBytes
}

function give(claim: WaitingClaim, lease: Lease): void {
  claim.leases.push(lease)
  claim.bytes += lease.event.raw.length + (lease.item?.payload.length ?? 0)
}
