import type { Clock, Timer } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { ClaimRequest, DispatchStore, Lease, SettleResult } from '../port.ts'
import type { OnWarning } from '../types.ts'
import { bigintArray, type Rows } from './database.ts'
import { reapOwner, takeLeases, type SentClaim, type TakeResult } from './leases.ts'
import { isRunning } from './locks.ts'
import { createLostClaims } from './lost-claims.ts'
import { bytesOfVerdict, readState, settle, type Verdict } from './settle.ts'
import { createTransactionQueue } from './transaction-queue.ts'

/*
 * The claims of a replica, from the dispatcher's call to its leases:
 *   waiting   it is not sent to the database
 *   sent      it is in the claim statement that is in flight, or in the offer of an accept that is in flight (see `Offer`)
 *   resolved  with leases; or empty, because its owner was retired or reaped, or the inbox has closed
 *
 * A sent claim that gets no runs waits again, until a run may have become claimable, but at most `pollMs`. If the response was lost, the
 * claim waits again too. It may have taken runs that nobody received: `lost-claims.ts` releases them.
 *
 * Invariants: one claim statement is in flight at a time. Each time a claim is sent, it gets a new id.
 *
 * While a kind has a backlog and events arrive, the oldest claim searches the backlog, and accept gets the others. So new runs may start
 * before waiting runs of other keys, but don't block them.
 */

export interface WorkOptions {
  readonly db: Rows
  readonly clock: Clock
  readonly replicaId: string
  readonly onWarning: OnWarning
}

/**
 * The `DispatchStore` of a replica. `claim` never rejects: it waits while the database is unavailable. All other methods throw
 * `store_unavailable`, `store_full` or `shutting_down`.
 */
export interface Work extends Omit<DispatchStore, 'register'> {
  /** Call when runs may have become claimable, here or at another replica. */
  wake(): void
  /** Reserves waiting claims of these handlers for accept; null if there are none. Call `end` or `lose` on the result. */
  offer(handlers: readonly string[]): Offer | null
  /** Resolves waiting claims empty, and waits for settles. Leases stay. Idempotent. */
  close(): Promise<void>
}

/**
 * Waiting claims that accept has reserved. It leases new runs to them in the transaction that stores the events, without reading the events
 * back.
 */
export interface Offer {
  /** Each names one handler. */
  readonly claims: readonly SentClaim[]
  /** Resolves claims with their leases, by claim id. Claims without leases wait again. */
  end(leases: ReadonlyMap<number, readonly Lease[]>): void
  /** The response was lost: the claims may have got leases. */
  lose(): void
}

interface Claim {
  readonly request: ClaimRequest
  readonly kind: ClaimKind
  readonly resolve: (leases: readonly Lease[]) => void
  /** Null while the claim waits. */
  sent: SentClaim | null
}

/** Claims of one kind compete for the same runs: equal handlers, and all for suspects or all for other runs. */
interface ClaimKind {
  /** When to search runs again: milliseconds since 1970. */
  nextSearchAt: number
  /** True if the latest search left no claimable run. */
  isDrained: boolean
  /** True if a claim of this kind is in the claim statement that is in flight. */
  isSearched: boolean
  /** True if accept asked for claims of this kind since the last search. */
  isWanted: boolean
}

/** Maximum wait before the next search for claimable runs, in case a notification was missed. */
const pollMs = 2_000
/** Delay after a failed search. */
const retryMs = 500
/** Delay before the next search if the due runs are locked by another replica. */
const lockedMs = 20
/** With this many lost claims, accept gets no claims, because they might be lost too. */
const maxLostClaims = 100

export function createWork({ db, clock, replicaId, onWarning }: WorkOptions): Work {
  const lost = createLostClaims(db, clock)
  const verdicts = createTransactionQueue({ commit: settleVerdicts, bytesOf: bytesOfVerdict, patienceMs: 1_000 })
  const kinds = new Map<string, ClaimKind>()
  /** Owners whose claims get no more runs. */
  const retired = new Set<string>()
  /** Owners that died. Leases that their sent claims still get are released. */
  const reaped = new Set<string>()
  /** Accepts that have reserved claims. Each promise resolves when its offer ends. */
  const offers = new Set<Promise<void>>()
  let claims: readonly Claim[] = []
  let isSearching = false
  /** The claim statement in flight. */
  let statement: Promise<void> | undefined
  /** True if runs may have become claimable since the statement started. */
  let isChanged = false
  let isFailing = false
  let isClosed = false
  let lastId = 0
  let timer: Timer | undefined

  /** Milliseconds until runs are searched for a claim; Infinity if they are not. */
  function waitMs({ request, kind, sent }: Claim): number {
    if (sent !== null || retired.has(request.owner)) return Infinity
    const ms = kind.nextSearchAt - clock.now()
    // A longer wait means that the clock was set back.
    return ms > pollMs ? 0 : Math.max(0, ms)
  }

  function isDue(claim: Claim): boolean {
    return waitMs(claim) === 0
  }

  /** Forgets what earlier searches found. */
  function resetKinds(): void {
    for (const kind of kinds.values()) Object.assign(kind, { nextSearchAt: -Infinity, isDrained: false })
  }

  function wake(): void {
    resetKinds()
    isChanged = true
    schedule()
  }

  /** Starts a search if one is due, else sets the timer for the next one. */
  function schedule(): void {
    if (isSearching || isClosed) return
    timer?.cancel()
    const ms = Math.min(lost.waitMs(), ...claims.map(waitMs))
    if (ms === 0) void searchWhileDue()
    else if (ms < Infinity) timer = clock.after(ms, schedule)
  }

  /** Runs one statement after the other while runs may be claimable. */
  async function searchWhileDue(): Promise<void> {
    isSearching = true
    // Lets all claims of this turn of the event loop arrive, to serve them with one statement.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      do {
        isChanged = false
        statement = search()
        await statement
      } while (!isClosed && isChanged && claims.some(isDue))
      isFailing = false
    } catch (error) {
      if (!isFailing && !isClosed) onWarning('claiming runs failed', { error: messageOf(error) })
      isFailing = true
    }
    statement = undefined
    isSearching = false
    if (!isFailing) schedule()
    else if (!isClosed) timer = clock.after(retryMs, wake)
  }

  /** Releases the runs of lost claims, then sends claims that are due. */
  async function search(): Promise<void> {
    if (await lost.release()) resetKinds()
    const due = takeDue()
    if (due.length === 0) return
    const sentAt = clock.now()
    let results: readonly TakeResult[]
    for (const { kind } of due) kind.isSearched = true
    try {
      results = await takeLeases(db, due.map(send), sentAt)
    } catch (error) {
      lose(due)
      throw error
    } finally {
      for (const { kind } of due) kind.isSearched = false
    }
    for (const [index, claim] of due.entries()) {
      const result = results[index] ?? { leases: [], dueIn: null, hasMore: false }
      noteSearch(claim, result, sentAt)
      receive(claim, result.leases)
    }
  }

  /** The claims to send: all that are due, or of a kind that accept wants too, the oldest. */
  function takeDue(): readonly Claim[] {
    const due = isClosed ? [] : claims.filter(isDue)
    const taken = due.filter((claim) => !claim.kind.isWanted || isOldest(claim))
    for (const { kind } of due) kind.isWanted = false
    return taken
  }

  /** True for the oldest waiting claim of its kind. */
  function isOldest({ kind, request }: Claim): boolean {
    const oldest = claims.find(
      (claim) => claim.kind === kind && claim.sent === null && !retired.has(claim.request.owner),
    )
    return oldest?.request === request
  }

  function send(claim: Claim): SentClaim {
    claim.sent = { ...claim.request, id: ++lastId, owner: storedOwner(claim.request.owner) }
    return claim.sent
  }

  /** Stored name of an owner: unique among replicas. */
  function storedOwner(owner: string): string {
    return `${replicaId} ${owner}`
  }

  function noteSearch({ request, kind }: Claim, { leases, dueIn, hasMore }: TakeResult, sentAt: number): void {
    isChanged ||= hasMore
    kind.isDrained = !isChanged && leases.length < request.max
    if (!kind.isDrained) kind.nextSearchAt = -Infinity
    if (!kind.isDrained || leases.length > 0) return
    const isLocked = dueIn !== null && dueIn <= 0
    // `dueIn` counts from a later time than `sentAt`, so the next search may be early, but never late.
    const nextAt = isLocked ? clock.now() + lockedMs : sentAt + (dueIn ?? Infinity)
    kind.nextSearchAt = Math.min(nextAt, clock.now() + pollMs)
  }

  /** Resolves a sent claim with its leases. Without leases, it waits again. */
  function receive(claim: Claim, leases: readonly Lease[]): void {
    const { request, sent } = claim
    claim.sent = null
    const isGone = isClosed || reaped.has(request.owner)
    if (leases.length > 0 && isGone && sent !== null) lost.addReceived(sent)
    if (leases.length > 0 || isClosed || retired.has(request.owner)) resolve(claim, isGone ? [] : leases)
  }

  function resolve(claim: Claim, leases: readonly Lease[]): void {
    claims = claims.filter((other) => other !== claim)
    claim.resolve(leases)
  }

  /** Lets sent claims wait again. They may have taken runs. */
  function lose(lostClaims: readonly Claim[]): void {
    for (const claim of lostClaims) {
      if (claim.sent !== null) lost.addUnanswered(claim.sent)
      receive(claim, [])
    }
  }

  function offer(handlers: readonly string[]): Offer | null {
    if (isClosed || lost.count >= maxLostClaims) return null
    const wanted = new Set(handlers.map((handler) => kindOf({ handlers: [handler], suspects: false })))
    for (const kind of wanted) kind.isWanted = true
    const offered = claims.filter((claim) => {
      const { request, kind, sent } = claim
      const isForSearch = !kind.isDrained && !kind.isSearched && isOldest(claim)
      return wanted.has(kind) && sent === null && !isForSearch && !retired.has(request.owner)
    })
    if (offered.length === 0) return null
    const sent = offered.map(send)
    const ended = Promise.withResolvers<void>()
    offers.add(ended.promise)

    function close(): void {
      offers.delete(ended.promise)
      ended.resolve()
    }

    return {
      claims: sent,
      end(leases) {
        for (const claim of offered) receive(claim, leases.get(claim.sent?.id ?? 0) ?? [])
        close()
        schedule()
      },
      lose() {
        lose(offered)
        close()
        wake()
      },
    }
  }

  /** Waits for the statement and the offers in flight, then resolves the remaining claims of an owner (null: of all) empty. */
  async function endClaims(owner: string | null): Promise<void> {
    await Promise.allSettled([statement, ...offers])
    for (const claim of claims) if (owner === null || claim.request.owner === owner) resolve(claim, [])
  }

  /** Stops giving runs to the owner. Resolves when its claims have ended. */
  async function retireOwner(owner: string): Promise<void> {
    retired.add(owner)
    await endClaims(owner)
  }

  async function release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void> {
    if (leases.length === 0) return
    await verdicts.add(leases.map(({ runId, token }) => ({ runId, token, kind: 'release' })))
  }

  async function settleVerdicts(batch: readonly Verdict[]): Promise<readonly SettleResult[]> {
    const { results, areReady } = await settle(db, batch, clock.now())
    if (areReady) wake()
    return results
  }

  function kindOf({ handlers, suspects }: Pick<ClaimRequest, 'handlers' | 'suspects'>): ClaimKind {
    const name = `${suspects} ${handlers.join(' ')}`
    const kind = kinds.get(name) ?? { nextSearchAt: -Infinity, isDrained: false, isSearched: false, isWanted: false }
    kinds.set(name, kind)
    return kind
  }

  return {
    wake,
    offer,
    release,
    readState: (handler, query) => readState(db, clock, handler, query),
    claim(request) {
      if (isClosed || retired.has(request.owner) || request.max < 1) return Promise.resolve([])
      return new Promise((whenResolved) => {
        claims = [...claims, { request, kind: kindOf(request), resolve: whenResolved, sent: null }]
        schedule()
      })
    },
    settle: verdicts.add,
    async retire(owner, running) {
      await retireOwner(owner)
      if (running === undefined) return
      const others = await db.query<{ runId: number; token: number }>(
        `SELECT id AS "runId", token FROM inbox.run
         WHERE owner = $1 AND ${isRunning()} AND id <> ALL ($2::bigint[])`,
        [storedOwner(owner), bigintArray(running)],
      )
      await release(others)
    },
    async reap(owner) {
      reaped.add(owner)
      await retireOwner(owner)
      // Runs whose outcomes have arrived have not crashed.
      await verdicts.flushed()
      await lost.release()
      const runs = await reapOwner(db, storedOwner(owner))
      wake()
      return { runs: runs.length, dead: runs.flatMap(({ error, ...run }) => (error === null ? [] : { ...run, error })) }
    },
    async close() {
      isClosed = true
      timer?.cancel()
      await endClaims(null)
      await verdicts.flushed()
      await lost.release().catch(() => {})
    },
  }
}
