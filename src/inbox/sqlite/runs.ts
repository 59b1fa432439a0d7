import { errorGroupOf } from '../error-group.ts'
import { toLease } from '../lease-row.ts'
import { bodyMissing, maxClaimBytes, maxSuperseded, storedError } from '../limits.ts'
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
import { replayState, runState as state } from '../run-sql.ts'
import type { LeaseEntry, Leases, RunQueue, WaitingClaim } from './leases.ts'
import type { StateTable } from './state.ts'
import type { StoreContext } from './context.ts'

/*
 * The life of a run, in the column `state`:
 *
 *   waiting → ready              it is the first open run of its key
 *   ready, suspect → running     a claim leased it
 *   running → ready              retried, postponed or released
 *   running → suspect            its owner died
 *   running → done, expired, unmatched; or dead, held (blocks its key) after too many failures or crashes
 *   any but running → superseded (`latestOnly`), dropped (by an operator, or with its replay)
 *   dead, held → ready, waiting  requeued
 *
 * Invariant: of the open runs of a key, only the oldest can be ready, suspect or running, and none is while a dead letter is held. So every
 * function that ends or blocks a run calls `promote`, and a new run waits if `isBusy`.
 */

export interface RunsOptions {
  readonly leases: Leases
  readonly states: StateTable
  /** Claims that wait for work during the current transaction. */
  readonly claims: () => readonly WaitingClaim[]
  /** Handlers for which a run may have become claimable in this transaction. */
  readonly woken: Set<number>
}

/** The replay id of live runs. */
export const live = 0

/** Maximum reads of claimable runs per claim and transaction. More than one only if a body is missing, or for a large claim. */
const maxFillRounds = 100
/** Maximum runs per read. */
const fillCount = 32

export type Runs = ReturnType<typeof createRuns>

/** Runs: their states, order and leases. Call every method inside a transaction. */
export function createRuns(
  { sql, clock, counters, handlers }: StoreContext,
  { leases, states, claims, woken }: RunsOptions,
) {
  const replays = new Map<number, LeasedReplay>()

  /** The replay of a lease. */
  function replayOf(id: number): LeasedReplay {
    const cached = replays.get(id)
    if (cached !== undefined) return cached
    const replay = { id, newKeys: sql.replayRow.get(id)?.newKeys === 1 }
    replays.set(id, replay)
    return replay
  }

  /** Creates the live run of a new event for a handler. */
  function insertRun(event: NewEvent, seq: number, route: HandlerRoute, key: string | null): void {
    const handlerId = handlers.idOf(route.name)
    if (handlerId === undefined || handlers.isBackfilling(handlerId)) return
    const queue = { handlerId, replayId: live, key }
    if (route.latestOnly) supersedeWaiting(queue)
    const isBehind = isBusy(queue)
    const claim = isBehind ? undefined : waitingClaim(handlerId, route.name)
    if (claim === undefined) {
      insert(queue, seq, isBehind)
      return
    }
    const { id, type, createdAt, receivedAt, secretLabel, raw, trace = null } = event
    const stored = { seq, id, type, createdAt, receivedAt, key: event.key, secretLabel, raw, trace }
    leaseDirectly(claim, queue, { handler: route.name, event: stored, item: null })
  }

  /** Leases a new run to a waiting claim. One commit stores both the run and its attempt. Returns its id. */
  function leaseDirectly(
    claim: WaitingClaim,
    queue: RunQueue,
    work: Pick<Lease, 'handler' | 'event' | 'item'>,
  ): number {
    const runId = counters.nextRunId++
    const now = clock.now()
    const { handlerId, replayId, key } = queue
    sql.insertRun.run(runId, work.event.seq, handlerId, replayId, key, state.running, now, 1, 1, now)
    const [token, attempt, crashed] = [1, 1, 0]
    const { owner } = claim
    leases.add({ ...queue, runId, token, owner, event: work.event, attempt, crashed, mayHaveFollowers: false })
    addLease(claim, { ...work, runId, token, attempt, failed: 0, crashed, key, replay: null })
    return runId
  }

  function waitingClaim(handlerId: number, handler: string): WaitingClaim | undefined {
    if (handlers.isPaused(handlerId)) return undefined
    return claims().find((claim) => {
      return !claim.suspects && !isFull(claim) && claim.handlers.includes(handler)
    })
  }

  /** Creates a run without a lease: ready, or waiting behind open runs of its key. Returns its id. */
  function insert(queue: RunQueue, seq: number, isBehind = isBusy(queue)): number {
    const runId = counters.nextRunId++
    const { handlerId, replayId, key } = queue
    const to = isBehind ? state.waiting : state.ready
    sql.insertRun.run(runId, seq, handlerId, replayId, key, to, clock.now(), 0, 0, null)
    if (!isBehind) noteClaimable(handlerId)
    return runId
  }

  /** Supersedes the runs of a key that are not running. */
  function supersedeWaiting(queue: RunQueue): void {
    const { handlerId, replayId, key } = queue
    if (key === null || !isBusy(queue)) return
    let count = 0
    const older = sql.openOfKey.all(handlerId, replayId, key, maxSuperseded)
    for (const { id, state: oldState } of older) {
      if (oldState !== state.waiting && oldState !== state.ready) continue
      // If some runs are left for the next time, the first one stays, because the others wait behind it.
      if (oldState === state.ready && older.length === maxSuperseded) continue
      sql.endRun.run(state.superseded, 0, clock.now(), id)
      if (oldState === state.ready) counters.claimable--
      count++
    }
    if (count > 0) sql.countSuperseded.run(count, handlerId)
  }

  /** Creates a run of the sink for an item, in the replay (or live) of the run that left it. */
  function insertItem({ event, replayId }: LeaseEntry, { sink, key, payload, idempotencyKey }: NewItem): void {
    const queue = { handlerId: handlers.ensure(sink), replayId, key }
    const isBehind = isBusy(queue)
    // Live runs go first, so a run of a replay is not leased directly.
    const claim = isBehind || replayId !== live ? undefined : waitingClaim(queue.handlerId, sink)
    const runId =
      claim === undefined
        ? insert(queue, event.seq, isBehind)
        : leaseDirectly(claim, queue, { handler: sink, event, item: { payload, idempotencyKey } })
    sql.insertItem.run(runId, payload, idempotencyKey)
  }

  /** True if an older run of the key is open. The caller's new run waits behind it then. */
  function isBusy({ handlerId, replayId, key }: RunQueue): boolean {
    if (key === null) return false
    const leased = leases.ofKey(handlerId, replayId, key)
    if (leased !== undefined) {
      leased.mayHaveFollowers = true
      return true
    }
    return counters.claimable + counters.held > 0 && sql.openOfKey.get(handlerId, replayId, key, 1) !== undefined
  }

  /** Leases claimable runs to the claim: live runs first, then replays, oldest first. */
  function fill(claim: WaitingClaim, handlerId: number, handler: string): void {
    if (handlers.isPaused(handlerId)) return
    const from = claim.suspects ? state.suspect : state.ready
    let replayId: number | undefined = live
    while (replayId !== undefined && !isFull(claim)) {
      // Runs without a body become dead letters and free the next run. The limit leaves very many to a later transaction.
      const queue = { handlerId, replayId, from }
      for (let round = 0; round < maxFillRounds && fillOnce(claim, queue, handler); round++);
      replayId = sql.nextReplay.get(from, handlerId, replayId)?.replayId
    }
  }

  /** Leases up to `fillCount` runs. Returns true if there may be more. */
  function fillOnce(
    claim: WaitingClaim,
    { handlerId, replayId, from }: Omit<RunQueue, 'key'> & { readonly from: number },
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
      const queue = { handlerId, replayId, key: row.key }
      if (row.raw === null) {
        const ended = { runId: row.runId, attempt, startedAt: now, endedAt: now }
        record(ended, 'dead', bodyMissing)
        if (makeDeadLetter(ended, queue, bodyMissing) !== state.held) promote(queue)
        mayBeMore = true
        continue
      }
      const { owner } = claim
      const { crashed } = row
      const replay = replayId === live ? null : replayOf(replayId)
      const lease = toLease({ ...row, handler, attempt, token, replay }, row, row.raw)
      leases.add({
        ...queue,
        runId: row.runId,
        token,
        owner,
        event: lease.event,
        attempt,
        crashed,
        mayHaveFollowers: true,
      })
      addLease(claim, lease)
    }
    return mayBeMore
  }

  function settle(outcomes: readonly Outcome[]): SettleResult[] {
    return outcomes.map((outcome) => {
      const entry = leases.get(outcome.runId, outcome.token)
      if (entry === undefined) return 'stale'
      leases.remove(entry)
      switch (outcome.kind) {
        case 'done':
          if (!states.areUnchanged(entry.handlerId, outcome.effects?.reads ?? [])) {
            restore(entry)
            return 'conflict'
          }
          states.write(entry.handlerId, versionOf(outcome), outcome.effects?.writes ?? [])
          sql.finishRun.run(outcome.startedAt, outcome.endedAt, outcome.runId)
          if (entry.mayHaveFollowers) promote(entry)
          for (const item of outcome.effects?.items ?? []) insertItem(entry, item)
          break
        case 'dead':
          record({ ...outcome, attempt: entry.attempt }, 'dead', outcome.error)
          if (makeDeadLetter(outcome, entry, outcome.error) !== state.held && entry.mayHaveFollowers) promote(entry)
          break
        case 'retry':
          record({ ...outcome, attempt: entry.attempt }, 'retry', outcome.error)
          postpone(outcome, entry, 1)
          break
        case 'snooze':
          postpone(outcome, entry, 0)
          break
        case 'expired':
        case 'unmatched':
          sql.endRun.run(state[outcome.kind], 1, outcome.endedAt, outcome.runId)
          if (entry.mayHaveFollowers) promote(entry)
          break
      }
      return 'applied'
    })
  }

  /** Notes that a run became ready or suspect. */
  function noteClaimable(handlerId: number): void {
    counters.claimable++
    woken.add(handlerId)
  }

  /** State of a new dead letter. While one is held, no run of its key is promoted, not even an older one that was requeued. */
  function deadState({ handlerId, key }: RunQueue): number {
    if (key === null || !handlers.holds(handlerId)) return state.dead
    counters.held++
    return state.held
  }

  /** True if a newer run of its key supersedes this run instead of a retry. */
  function isOutdated({ runId, handlerId, replayId, key, mayHaveFollowers }: LeaseEntry): boolean {
    if (key === null || !mayHaveFollowers || replayId !== live || !handlers.isLatestOnly(handlerId)) return false
    const newest = sql.newestOfKey.get(handlerId, replayId, key)
    return newest !== undefined && newest.id > runId
  }

  /** True for a run of a cancelled replay. Outbox items continue: they belong to completed runs. */
  function isOfCancelled(runId: number, replayId: number): boolean {
    if (replayId === live || sql.replayRow.get(replayId)?.state !== replayState.cancelled) return false
    return sql.isItem.get(runId) === undefined
  }

  /** Ends a run that must not be tried again: it is superseded, or its replay was cancelled. Returns false for other runs. */
  function endInstead(entry: LeaseEntry, uncharged: 0 | 1): boolean {
    const { runId } = entry
    if (isOfCancelled(runId, entry.replayId)) sql.endRun.run(state.dropped, uncharged, clock.now(), runId)
    else if (isOutdated(entry)) {
      sql.endRun.run(state.superseded, uncharged, clock.now(), runId)
      sql.countSuperseded.run(1, entry.handlerId)
    } else return false
    promote(entry)
    return true
  }

  /** Makes a run ready at a later time. Its attempt counts if it has failed. */
  function postpone(outcome: Extract<Outcome, { at: number }>, entry: LeaseEntry, failed: 0 | 1): void {
    const uncharged = failed === 1 ? 0 : 1
    if (endInstead(entry, uncharged)) return
    sql.postponeRun.run(failed, uncharged, dueAt(outcome, clock.now()), outcome.runId)
    noteClaimable(entry.handlerId)
  }

  /** Makes a run a dead letter and returns its state. */
  function makeDeadLetter({ runId, startedAt, endedAt }: Times, queue: RunQueue, error: RunError, crashed = 0): number {
    const to = deadState(queue)
    sql.makeDeadLetter.run(to, crashed, startedAt, endedAt, errorGroupOf(error), runId)
    return to
  }

  /** Makes the oldest waiting run of a key ready, unless another open run is ahead of it. */
  function promote({ handlerId, replayId, key }: RunQueue): void {
    if (key === null) return
    const next = sql.openOfKey.get(handlerId, replayId, key, 1)
    if (next === undefined || next.state !== state.waiting) return
    sql.readyRun.run(next.id)
    noteClaimable(handlerId)
  }

  function record(
    { runId, attempt, startedAt, endedAt }: Times & { readonly attempt: number },
    outcome: 'retry' | 'dead' | 'crashed' | 'dropped',
    error: RunError,
  ): void {
    const { name, message, stack } = storedError(error)
    sql.insertAttempt.run(runId, attempt, startedAt, endedAt, outcome, name, message, stack)
  }

  function release(released: readonly Pick<Lease, 'runId' | 'token'>[]): void {
    for (const { runId, token } of released) {
      const entry = leases.get(runId, token)
      if (entry === undefined) continue
      leases.remove(entry)
      restore(entry)
    }
  }

  /** Releases all leases of an owner, except for the runs in `running`. */
  function releaseOthers(owner: string, running: readonly number[]): void {
    const others = leases.ofOwner(owner).filter(({ runId }) => !running.includes(runId))
    release(others)
  }

  /** Restores the state before the claim, unless the run was superseded or dropped in the meantime. */
  function restore(entry: LeaseEntry): void {
    if (endInstead(entry, 1)) return
    sql.releaseRun.run(entry.crashed > 0 ? state.suspect : state.ready, entry.runId)
    noteClaimable(entry.handlerId)
  }

  function reap(owner: string): ReapResult {
    const owned = leases.ofOwner(owner)
    const dead = owned.flatMap((entry) => {
      leases.remove(entry)
      return crash(entry) ?? []
    })
    return { runs: owned.length, dead }
  }

  /** Reaps the runs that were in flight when an earlier process died. Returns new dead letters. */
  function reapDeadProcess(): CrashedRun[] {
    return sql.running.all().flatMap((run) => crash(run) ?? [])
  }

  /** Counts a crash. Returns the run if it became a dead letter, else null. */
  function crash(run: RunQueue & Pick<LeaseEntry, 'runId' | 'attempt' | 'crashed'>): CrashedRun | null {
    const { runId } = run
    const now = clock.now()
    const ended = { runId, startedAt: sql.startOf.get(runId)?.startedAt ?? now, endedAt: now }
    const crashed = run.crashed + 1
    const error: RunError = {
      name: 'handler_crashed',
      message: `the process or thread that ran it died before a verdict (crash ${crashed} of ${maxCrashes})`,
    }
    record({ ...ended, attempt: run.attempt }, 'crashed', error)
    if (isOfCancelled(runId, run.replayId)) {
      sql.endRun.run(state.dropped, 0, now, runId)
      promote(run)
      return null
    }
    if (crashed < maxCrashes) {
      sql.suspectRun.run(crashed, now, runId)
      noteClaimable(run.handlerId)
      return null
    }
    if (makeDeadLetter(ended, run, error, crashed) !== state.held) promote(run)
    const handler = handlers.nameOf(run.handlerId)
    return { handler, eventId: sql.eventIdOf.get(runId)?.id ?? '', attempt: run.attempt, error }
  }

  /** Up to `limit` dead letters with run ids above `after`, in order. */
  function deadAfter(after: number, limit: number): number[] {
    return sql.deadAfter.all(after, limit).map((row) => row.id)
  }

  /** Makes dead letters claimable again. Ignores other runs. Returns how many were requeued. */
  function requeueDead(runIds: readonly number[]): number {
    return runIds.filter(requeueOne).length
  }

  function requeueOne(runId: number): boolean {
    const run = sql.runOf.get(runId)
    if (run === undefined || !isDeadLetter(run)) return false
    if (run.state === state.held) counters.held--
    // Older dead letters of its key may have been requeued while it was held. They go first.
    const isBehind = run.state === state.held || isBusy(run)
    sql.requeueRun.run(isBehind ? state.waiting : state.ready, clock.now(), runId)
    if (run.state === state.held) promote(run)
    else if (!isBehind) noteClaimable(run.handlerId)
    return true
  }

  /** Drops a run and promotes the next one of its key. Returns false if the run is running or has ended. */
  function drop(runId: number, reason?: string): boolean {
    const run = sql.runOf.get(runId)
    if (run === undefined || run.state === state.running || run.state > state.dead) return false
    const now = clock.now()
    sql.endRun.run(state.dropped, 0, now, runId)
    if (reason !== undefined) {
      record({ runId, attempt: run.attempt, startedAt: now, endedAt: now }, 'dropped', {
        name: 'dropped',
        message: reason,
      })
    }
    if (run.state === state.held) counters.held--
    else if (run.state === state.ready || run.state === state.suspect) counters.claimable--
    if (run.state !== state.waiting && run.state !== state.dead) promote(run)
    return true
  }

  /** Drops dead letters. Ignores other runs. Returns how many were dropped. */
  function dropDead(runIds: readonly number[], reason: string): number {
    return runIds.filter((runId) => {
      const run = sql.runOf.get(runId)
      return run !== undefined && isDeadLetter(run) && drop(runId, reason)
    }).length
  }

  /** Drops up to `limit` runs of a handler that are not running, and ends its backfill. Null if it was never registered. */
  function dropOpen(handler: string, limit: number, reason: string) {
    const handlerId = handlers.idOf(handler)
    if (handlerId === undefined) return null
    if (handlers.isBackfilling(handlerId)) handlers.endBackfill(handlerId)
    const runs = sql.openOfHandler.all(handlerId, limit)
    for (const { id } of runs) drop(id, reason)
    return { dropped: runs.length, isRemoved: false }
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
    requeueDead,
    dropDead,
    dropOpen,
  }
}

/** When an attempt started and ended: milliseconds since 1970. */
type Times = Pick<Outcome, 'runId' | 'startedAt' | 'endedAt'>

function isDeadLetter(run: { readonly state: number }): boolean {
  return run.state === state.held || run.state === state.dead
}

function isFull({ leases, max, bytes }: WaitingClaim): boolean {
  return leases.length >= max || bytes >= maxClaimBytes
}

function addLease(claim: WaitingClaim, lease: Lease): void {
  claim.leases.push(lease)
  claim.bytes += lease.event.raw.length + (lease.item?.payload.length ?? 0)
}
