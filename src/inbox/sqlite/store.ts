import type { Database } from 'better-sqlite3'
import { createHash } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { createRouteKeys } from '../route-key.ts'
import { createRouteTable } from '../routes.ts'
import {
  dueAt,
  maxCrashes,
  versionOf,
  type AcceptResult,
  type Arrival,
  type ClaimRequest,
  type HandlerRoute,
  type Lease,
  type NewEvent,
  type NewItem,
  type NewQuarantined,
  type Outcome,
  type RunError,
  type SettleResult,
  type StateEntry,
  type StateQuery,
} from '../port.ts'
import { Leases, type LeaseEntry } from './leases.ts'
import { createStateTable } from './state.ts'
import { prepareStatements, state, type ClaimRow, type Statements } from './statements.ts'

/** A claim that waits for work. While it waits, fresh runs are given to it in the transaction that creates them. */
export interface WaitingClaim extends ClaimRequest {
  readonly leases: Lease[]
}

/** A clock is set back if it is so much behind the time that was seen before; less is how clocks are kept right. */
const setBackMs = 1_000
const bodyMissing: RunError = {
  name: 'body_missing',
  message: 'its event, or the body of it, is not in the database any more: the file was damaged, or changed by hand',
}
/** How exactly the file says when it was written to last. */
const noteMs = 1_000
const maxFillRounds = 100
/** Usually there is one at most; more only where a handler was made `latestOnly` with a backlog. */
const maxSuperseded = 500
const maxErrorMessage = 2_000
const maxErrorStack = 8_000

/**
 * The SQLite store: synchronous, one connection, every method to be called inside `transact`. Leases live in memory, because
 * they die with the process: at the next start every run that still says `running` was in flight when it died.
 */
export type SqliteStore = ReturnType<typeof createSqliteStore>

export function createSqliteStore(db: Database, options: { clock: Clock; firstSeq: number }) {
  const { clock } = options
  const sql = prepareStatements(db)
  const states = createStateTable(sql, clock)
  /** What a rollback must undo outside the database, newest last. */
  let undo: (() => void)[] = []
  const leases = new Leases((step) => undo.push(step))
  /** How many runs are ready or suspect. While there are none, and none is held, every open head of a key is leased. */
  let claimable = sql.claimableCount.get()?.count ?? 0
  /** How many dead letters hold up their keys. */
  let held = sql.heldCount.get()?.count ?? 0
  const handlerNames = new Map<number, string>()
  const handlerIds = new Map<string, number>()
  const pausedHandlers = new Set<number>()
  /** Whose dead letters hold up their keys. */
  const holdingHandlers = new Set<number>()
  let allPaused = sql.meta.get('paused')?.value === 1
  let latestOnly: ReadonlySet<number> = new Set()
  let routesOf: (type: string) => readonly HandlerRoute[] = () => []

  let nextSeq = options.firstSeq
  let nextRunId = (sql.maxRunId.get()?.id ?? 0) + 1
  /** The latest time seen; the file has it to a second, for a clock that is set back while nobody runs. */
  let latest = sql.meta.get('seen_at')?.value ?? 0
  let noted = latest
  let waiting: readonly WaitingClaim[] = []
  /** Handlers for which a run may have become claimable in this transaction. */
  const woken = new Set<number>()

  for (const row of sql.handlers.all()) {
    rememberHandler(row.id, row.name)
    if (row.paused === 1) pausedHandlers.add(row.id)
    if (row.holds === 1) holdingHandlers.add(row.id)
  }
  transact([], reapDeadProcess)

  function rememberHandler(id: number, name: string): void {
    handlerNames.set(id, name)
    handlerIds.set(name, id)
  }

  /**
   * Runs `work` in one durable transaction, then gives what became claimable to `claims` in the same one. If it throws,
   * nothing has happened, in the database or out of it.
   */
  function transact<T>(claims: readonly WaitingClaim[], work: () => T): T {
    const seqBefore = nextSeq
    const runIdBefore = nextRunId
    const claimableBefore = claimable
    const heldBefore = held
    const latestBefore = latest
    const notedBefore = noted
    waiting = claims
    woken.clear()
    undo = []
    sql.begin.run()
    try {
      heedClock()
      const result = work()
      for (const claim of claims) {
        for (const name of claim.handlers) {
          const handlerId = handlerIds.get(name)
          if (handlerId !== undefined && woken.has(handlerId)) fill(claim, handlerId, name)
        }
      }
      sql.commit.run()
      return result
    } catch (error) {
      if (db.inTransaction) sql.rollback.run()
      nextSeq = seqBefore
      nextRunId = runIdBefore
      claimable = claimableBefore
      held = heldBefore
      latest = latestBefore
      noted = notedBefore
      for (const step of undo.toReversed()) step()
      for (const claim of claims) claim.leases.length = 0
      throw error
    } finally {
      waiting = []
    }
  }

  /** When the clock was set back, what is due goes back with it: nothing waits for the old time to come again. */
  function heedClock(): void {
    const now = clock.now()
    if (wasSetBack(now)) sql.shiftOpenRuns.run(latest - now)
    latest = now
    if (Math.abs(latest - noted) < noteMs) return
    sql.setMeta.run('seen_at', latest)
    noted = latest
  }

  function wasSetBack(now: number): boolean {
    return now < latest - setBackMs
  }

  function accept(batch: readonly Arrival[]): AcceptResult[] {
    return batch.map((arrival) => (arrival.kind === 'event' ? acceptEvent(arrival) : acceptQuarantined(arrival)))
  }

  function acceptEvent(event: NewEvent): AcceptResult {
    const key = event.key === event.id ? null : event.key
    const { changes } = sql.insertEvent.run(
      nextSeq,
      event.id,
      event.type,
      event.createdAt,
      event.receivedAt,
      key,
      event.secretLabel,
    )
    if (changes === 0) return acceptAgain(event)
    const seq = nextSeq++
    sql.insertBody.run(seq, event.raw)
    const keyFor = createRouteKeys(event)
    for (const route of routesOf(event.type)) insertRun(event, seq, route, keyFor(route))
    return 'accepted'
  }

  function acceptAgain(event: NewEvent): AcceptResult {
    const first = sql.bodyOf.get(event.id)
    if (first === undefined) throw new Error(`event ${event.id} is neither new nor stored`)
    if (first.raw !== null && !first.raw.equals(event.raw)) {
      const digest = createHash('sha256').update(event.raw).digest('hex')
      sql.countConflict.run(event.id, digest, event.receivedAt, event.raw)
      return 'conflict'
    }
    sql.countRedelivery.run(first.seq, event.receivedAt)
    return 'duplicate'
  }

  function acceptQuarantined(body: NewQuarantined): AcceptResult {
    sql.insertQuarantined.run(body.id, body.reason, body.receivedAt, body.secretLabel, body.raw)
    return 'quarantined'
  }

  function insertRun(event: NewEvent, seq: number, route: HandlerRoute, key: string | null): void {
    const handlerId = handlerIds.get(route.name)
    if (handlerId === undefined) return
    if (route.latestOnly && key !== null) supersedeWaiting(handlerId, key)
    const runId = nextRunId++
    const now = clock.now()
    if (key !== null && isBusy(handlerId, key)) {
      sql.insertRun.run(runId, seq, handlerId, key, state.waiting, now, 0, 0, null)
      return
    }
    const claim = isPaused(handlerId)
      ? undefined
      : waiting.find((c) => !c.suspects && c.leases.length < c.max && c.handlers.includes(route.name))
    if (claim === undefined) {
      sql.insertRun.run(runId, seq, handlerId, key, state.ready, now, 0, 0, null)
      claimable++
      return
    }
    // A fresh run goes straight to a waiting claim: its attempt is counted by the same commit that makes it durable.
    sql.insertRun.run(runId, seq, handlerId, key, state.running, now, 1, 1, now)
    const { owner } = claim
    const attempt = 1
    leases.hold(runId, { token: 1, owner, handlerId, eventSeq: seq, key, attempt, crashed: 0, mayHaveFollowers: false })
    const { id, type, createdAt, receivedAt, secretLabel, raw } = event
    claim.leases.push({
      runId,
      token: 1,
      handler: route.name,
      attempt,
      failed: 0,
      crashed: 0,
      event: { seq, id, type, createdAt, receivedAt, key: event.key, secretLabel, raw },
      key,
      item: null,
    })
  }

  /** A newer event of the key is there: what was to be done for the older ones, and is not being done, is not done. */
  function supersedeWaiting(handlerId: number, key: string): void {
    if (!isBusy(handlerId, key)) return
    let count = 0
    for (const { id, state: now } of sql.allOpenOfKey.all(handlerId, key, maxSuperseded)) {
      if (now !== state.waiting && now !== state.ready) continue
      sql.supersede.run(clock.now(), id)
      if (now === state.ready) claimable--
      count++
    }
    if (count > 0) sql.countSuperseded.run(count, handlerId)
  }

  /** An item becomes a run of its sink, behind the open ones of its key. */
  function insertItem(eventSeq: number, item: NewItem): void {
    const handlerId = ensureHandler(item.sink)
    const runId = nextRunId++
    const isBehind = item.key !== null && isBusy(handlerId, item.key)
    sql.insertRun.run(
      runId,
      eventSeq,
      handlerId,
      item.key,
      isBehind ? state.waiting : state.ready,
      clock.now(),
      0,
      0,
      null,
    )
    sql.insertItem.run(runId, item.payload, item.idempotencyKey)
    if (!isBehind) open(handlerId)
  }

  /** Whether an older run of the key is open. The new run is then going to wait behind it. */
  function isBusy(handlerId: number, key: string): boolean {
    const leased = leases.ofKey(handlerId, key)
    if (leased !== undefined) {
      leased.mayHaveFollowers = true
      return true
    }
    return claimable + held > 0 && sql.openOfKey.get(handlerId, key) !== undefined
  }

  /** Puts what can be claimed now into the claim's leases. */
  function fill(claim: WaitingClaim, handlerId: number, handler: string): void {
    if (isPaused(handlerId)) return
    // Behind runs that had to be buried there are others. Where there are very many, a later transaction goes on.
    for (let round = 0; round < maxFillRounds && fillOnce(claim, handlerId, handler) > 0; round++);
  }

  /** Gives how many runs had to be buried instead of handed out. */
  function fillOnce(claim: WaitingClaim, handlerId: number, handler: string): number {
    const limit = claim.max - claim.leases.length
    if (limit <= 0) return 0
    const now = clock.now()
    const from = claim.suspects ? state.suspect : state.ready
    let buried = 0
    for (const row of sql.claimable.all(from, handlerId, now, limit)) {
      sql.claimRun.run(now, row.runId)
      const attempt = row.attempt + 1
      const token = row.token + 1
      claimable--
      if (row.raw === null) {
        record(row.runId, attempt, now, now, 'dead', bodyMissing)
        sql.finishRun.run(deadState(handlerId, row.runKey), now, now, row.runId)
        promote(handlerId, row.runKey)
        buried++
        continue
      }
      const { owner } = claim
      const { crashed, runKey: key } = row
      leases.hold(row.runId, {
        token,
        owner,
        handlerId,
        eventSeq: row.seq,
        key,
        attempt,
        crashed,
        mayHaveFollowers: true,
      })
      claim.leases.push(toLease({ ...row, raw: row.raw }, handler, attempt, token))
    }
    return buried
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
          finish(outcome, entry, state.done)
          for (const item of outcome.effects?.items ?? []) insertItem(entry.eventSeq, item)
          break
        case 'dead':
          record(outcome.runId, entry.attempt, outcome.startedAt, outcome.endedAt, 'dead', outcome.error)
          finish(outcome, entry, deadState(entry.handlerId, entry.key))
          break
        case 'retry':
          record(outcome.runId, entry.attempt, outcome.startedAt, outcome.endedAt, 'retry', outcome.error)
          if (isOutdated(outcome.runId, entry)) replace(outcome.runId, entry, sql.supersede)
          else {
            sql.retryRun.run(dueAt(outcome, clock.now()), outcome.runId)
            open(entry.handlerId)
          }
          break
        case 'snooze':
          if (isOutdated(outcome.runId, entry)) replace(outcome.runId, entry, sql.supersedeUntried)
          else {
            sql.snoozeRun.run(dueAt(outcome, clock.now()), outcome.runId)
            open(entry.handlerId)
          }
          break
        case 'expired':
        case 'unmatched':
          sql.endUntried.run(state[outcome.kind], outcome.endedAt, outcome.runId)
          if (entry.mayHaveFollowers) promote(entry.handlerId, entry.key)
          break
      }
      return 'applied'
    })
  }

  /** A run may be claimed, now or later. */
  function open(handlerId: number): void {
    claimable++
    woken.add(handlerId)
  }

  /** What a dead letter is from now on. */
  function deadState(handlerId: number, key: string | null): number {
    if (key === null || !holdingHandlers.has(handlerId)) return state.dead
    held++
    return state.held
  }

  /** Whether a run that would be tried again is superseded by one that waits behind it. */
  function isOutdated(runId: number, { handlerId, key, mayHaveFollowers }: LeaseEntry): boolean {
    if (key === null || !mayHaveFollowers || !latestOnly.has(handlerId)) return false
    return sql.allOpenOfKey.all(handlerId, key, 2).some(({ id }) => id !== runId)
  }

  /** The next run of the key takes the place of one that is superseded. */
  function replace(runId: number, { handlerId, key }: LeaseEntry, supersede: Statements['supersede']): void {
    supersede.run(clock.now(), runId)
    sql.countSuperseded.run(1, handlerId)
    promote(handlerId, key)
  }

  function finish({ runId, startedAt, endedAt }: Outcome, entry: LeaseEntry, to: number): void {
    sql.finishRun.run(to, startedAt, endedAt, runId)
    if (entry.mayHaveFollowers) promote(entry.handlerId, entry.key)
  }

  /** The oldest waiting run of a key becomes ready once no other run of the key is open for work. */
  function promote(handlerId: number, key: string | null): void {
    if (key === null) return
    const next = sql.openOfKey.get(handlerId, key)
    if (next === undefined || next.state !== state.waiting) return
    sql.readyRun.run(next.id)
    open(handlerId)
  }

  function record(
    runId: number,
    attempt: number,
    startedAt: number,
    endedAt: number,
    outcome: 'retry' | 'dead' | 'crashed',
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

  /** As if it had never been claimed. */
  function giveBack(runId: number, entry: LeaseEntry): void {
    sql.releaseRun.run(entry.crashed > 0 ? state.suspect : state.ready, runId)
    open(entry.handlerId)
  }

  function reap(owner: string): number {
    const owned = leases.ofOwner(owner)
    for (const [runId, entry] of owned) {
      leases.letGo(runId, entry)
      crash(runId, entry)
    }
    return owned.length
  }

  /** Runs that were in flight when an earlier process died. */
  function reapDeadProcess(): void {
    for (const row of sql.running.all()) crash(row.id, { ...row, handlerId: row.handler_id })
  }

  function crash(runId: number, run: Pick<LeaseEntry, 'attempt' | 'crashed' | 'handlerId' | 'key'>): void {
    const now = clock.now()
    const startedAt = sql.startOf.get(runId)?.started_at ?? now
    const crashed = run.crashed + 1
    const error: RunError = {
      name: 'handler_crashed',
      message: `the process or thread that ran it died before a verdict (crash ${crashed} of ${maxCrashes})`,
    }
    record(runId, run.attempt, startedAt, now, 'crashed', error)
    if (crashed >= maxCrashes) {
      sql.crashedOutRun.run(deadState(run.handlerId, run.key), crashed, now, runId)
      promote(run.handlerId, run.key)
    } else {
      sql.suspectRun.run(crashed, now, runId)
      open(run.handlerId)
    }
  }

  function register(routes: readonly HandlerRoute[]): void {
    for (const { name, onDead = 'skip' } of routes) setHolds(ensureHandler(name), onDead === 'hold')
    const latestOnlyBefore = latestOnly
    undo.push(() => (latestOnly = latestOnlyBefore))
    latestOnly = new Set(routes.filter((route) => route.latestOnly).map(({ name }) => ensureHandler(name)))
    const before = routesOf
    undo.push(() => (routesOf = before))
    routesOf = createRouteTable(routes)
  }

  /** It is kept in the file, because runs are found to have crashed before the handlers are registered. */
  function setHolds(handlerId: number, holds: boolean): void {
    if (holdingHandlers.has(handlerId) === holds) return
    undo.push(() => void (holds ? holdingHandlers.delete(handlerId) : holdingHandlers.add(handlerId)))
    sql.setHolds.run(holds ? 1 : 0, handlerId)
    if (holds) holdingHandlers.add(handlerId)
    else holdingHandlers.delete(handlerId)
  }

  /** The id of a handler, which it gets when it is first heard of. */
  function ensureHandler(name: string): number {
    const known = handlerIds.get(name)
    if (known !== undefined) return known
    const id = Number(sql.insertHandler.run(name).lastInsertRowid)
    rememberHandler(id, name)
    undo.push(() => {
      handlerIds.delete(name)
      handlerNames.delete(id)
    })
    return id
  }

  function isPaused(handlerId: number): boolean {
    return allPaused || pausedHandlers.has(handlerId)
  }

  /** Pauses a handler, or all together; false if there is no such handler. */
  function setPaused(name: string | null, paused: boolean): boolean {
    if (name === null) {
      const before = allPaused
      undo.push(() => (allPaused = before))
      sql.setMeta.run('paused', paused ? 1 : 0)
      allPaused = paused
      for (const id of handlerNames.keys()) woken.add(id)
      return true
    }
    const id = handlerIds.get(name)
    if (id === undefined) return false
    const was = pausedHandlers.has(id)
    undo.push(() => void (was ? pausedHandlers.add(id) : pausedHandlers.delete(id)))
    sql.pauseHandler.run(paused ? 1 : 0, id)
    if (paused) pausedHandlers.add(id)
    else pausedHandlers.delete(id)
    woken.add(id)
    return true
  }

  /** Requeues up to `limit` dead letters with run ids above `after`; the highest id looked at, or null at the end. */
  function requeueDead(after: number, limit: number): { requeued: number; last: number | null } {
    const ids = sql.deadAfter.all(after, limit).map((row) => row.id)
    for (const id of ids) requeueOne(id)
    return { requeued: ids.length, last: ids.at(-1) ?? null }
  }

  /** Makes one dead letter claimable again; false if the run is none. */
  function requeueOne(runId: number): boolean {
    const run = sql.deadRun.get(runId)
    if (run === undefined) return false
    const isHeld = run.state === state.held
    const blocked = !isHeld && run.key !== null && sql.openOfKey.get(run.handler_id, run.key) !== undefined
    sql.requeueRun.run(blocked ? state.waiting : state.ready, clock.now(), runId)
    if (isHeld) held--
    if (blocked) noteFollower(run.handler_id, run.key)
    else open(run.handler_id)
    return true
  }

  function noteFollower(handlerId: number, key: string | null): void {
    const leased = key === null ? undefined : leases.ofKey(handlerId, key)
    if (leased !== undefined) leased.mayHaveFollowers = true
  }

  return {
    transact,
    accept,
    settle,
    release,
    reap,
    register,
    setPaused,
    requeueDead,
    requeueOne,
    /** Of a handler that is not known there is nothing. Reads what is committed, if it is called outside a transaction. */
    readState(handler: string, query: StateQuery): StateEntry[] {
      const id = handlerIds.get(handler)
      return id === undefined ? [] : states.read(id, query)
    },
    /** Marks a claim's handlers as worth a look in this transaction. */
    wake(claim: ClaimRequest): void {
      for (const name of claim.handlers) {
        const id = handlerIds.get(name)
        if (id !== undefined) woken.add(id)
      }
    },
    /** Whether any run is ready, now or later, or suspect. */
    hasClaimable: () => claimable > 0,
    /** When the next run that such a claim may take falls due, or null. */
    nextDueAt(claim: ClaimRequest): number | null {
      let earliest: number | null = null
      if (claimable === 0) return earliest
      for (const name of claim.handlers) {
        const id = handlerIds.get(name)
        const at =
          id === undefined || isPaused(id)
            ? undefined
            : sql.nextDue.get(claim.suspects ? state.suspect : state.ready, id)?.run_at
        if (at !== undefined && (earliest === null || at < earliest)) earliest = at
      }
      return earliest
    },
    /** Whether the clock was set back since it was last looked at. */
    clockWasSetBack(): boolean {
      const now = clock.now()
      if (wasSetBack(now)) return true
      latest = now
      return false
    },
    /** Takes note that the whole file was found well. */
    foundWell(): void {
      sql.setMeta.run('check_due', 0)
    },
    /** Writes something, to learn whether it can be committed. */
    probe(): void {
      sql.setMeta.run('probed_at', clock.now())
    },
    lastSeq: () => nextSeq - 1,
  }
}

function toLease(row: ClaimRow & { readonly raw: Buffer }, handler: string, attempt: number, token: number): Lease {
  return {
    runId: row.runId,
    token,
    handler,
    attempt,
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
    },
    key: row.runKey,
    item:
      row.payload === null || row.idempotencyKey === null
        ? null
        : { payload: row.payload, idempotencyKey: row.idempotencyKey },
  }
}
