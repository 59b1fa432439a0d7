import type { Clock, Timer } from '../../base/clock.ts'
import type { Lease, ReapResult, RunError, DispatchStore, ClaimRequest } from '../port.ts'
import { bigintArray, textArray } from './database.ts'
import type { Database, Rows } from './database.ts'
import type { OpenHandoff, ClaimHandoff } from './accept.ts'
import { readState } from './leases.ts'
import { fromStored, toStored } from './text.ts'
import { settle } from './leases.ts'
import { messageOf } from '../../base/errors.ts'
import type { OnWarning } from '../types.ts'
import { takeLeases, type KnownClaim, type Taken } from './leases.ts'

export interface WorkOptions {
  readonly db: Database
  readonly clock: Clock
  readonly replicaId: string
  readonly onWarning: OnWarning
}

export interface Work extends Omit<DispatchStore, 'register'> {
  /** Call when runs may have become claimable, here or at another replica. */
  wake(): void
  /** Reserves waiting claims for accept. */
  readonly openHandoff: OpenHandoff
  /** Resolves waiting claims empty. Leases stay. Idempotent. */
  close(): Promise<void>
}

/** The `DispatchStore` of a replica. All methods except `claim` throw `store_unavailable`, `store_full` or `shutting_down`. */
export function createWork({ db, clock, replicaId, onWarning }: WorkOptions): Work {
  const claims = createClaims({ db, clock, replicaId, onWarning })

  async function release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void> {
    if (leases.length === 0) return
    await settle(
      db,
      leases.map(({ runId, token }) => ({ runId, token, kind: 'release' })),
      clock.now(),
    )
    claims.wake()
  }

  return {
    claim: (request) => claims.claim(request),
    readState: (handler, query) => readState(db, handler, query),
    async settle(outcomes) {
      if (outcomes.length === 0) return []
      const { results, areReady } = await settle(db, outcomes, clock.now())
      if (areReady) claims.wake()
      return results
    },
    async retire(owner, running) {
      await claims.retire(owner)
      if (running === undefined) return
      const others = await db.query<{ runId: number; token: number }>(
        `SELECT id AS "runId", token FROM inbox.run WHERE owner = $1 AND state + 0 = 3 AND id <> ALL ($2::bigint[])`,
        [toStored(ownerIn(replicaId, owner)), bigintArray(running)],
      )
      await release(others)
    },
    release,
    async reap(owner) {
      await claims.refuse(owner)
      const result = await reap(db, ownerIn(replicaId, owner))
      claims.wake()
      return result
    },
    wake: () => claims.wake(),
    openHandoff: (handlers) => claims.openHandoff(handlers),
    close: () => claims.close(),
  }
}

interface ReapedRow {
  readonly handler: string
  readonly eventId: string
  readonly attempt: number
  readonly name: RunError['name'] | null
  readonly message: RunError['message'] | null
}

/** Ends the leases of an owner. Idempotent. */
async function reap(rows: Rows, owner: string): Promise<ReapResult> {
  const reaped = await rows.query<ReapedRow>(
    `SELECT handler, event_id AS "eventId", attempt, error_name AS name, error_message AS message FROM inbox.reap($1)`,
    [toStored(owner)],
  )
  const dead = reaped.flatMap(({ handler, eventId, attempt, name, message }) => {
    if (name === null || message === null) return []
    return { handler: fromStored(handler), eventId: fromStored(eventId), attempt, error: { name, message } }
  })
  return { runs: reaped.length, dead }
}

export interface ClaimsOptions {
  readonly db: Rows
  readonly clock: Clock
  readonly replicaId: string
  readonly onWarning: OnWarning
}

/** The waiting claims of this replica. */
export interface Claims {
  /** See `DispatchStore`. Never rejects: waits while the database is unavailable. */
  claim(request: ClaimRequest): Promise<readonly Lease[]>
  /** Resolves the owner's claims empty. A claim that is being served gets its leases first. */
  retire(owner: string): Promise<void>
  /** Like `retire`, but releases the leases of a claim that is being served. Throws `store_unavailable` if that fails. */
  refuse(owner: string): Promise<void>
  /** Call when runs may have become claimable. */
  wake(): void
  /** Reserves waiting claims of these handlers, unless the handler has a backlog. */
  openHandoff(handlers: readonly string[]): ClaimHandoff | null
  /** Resolves all claims empty. */
  close(): Promise<void>
}

interface WaitingClaim {
  readonly request: ClaimRequest
  readonly resolve: (leases: readonly Lease[]) => void
}

/** Maximum wait before claimable runs are searched again, in case a notification was missed. */
const pollMs = 2_000
const retryMs = 500
/** Wait for due runs that another replica is claiming or releasing. */
const takenMs = 20
/** Interval for releasing lost claims. */
const lostMs = 1_000
/** With this many lost claims, no claims are offered to accept: they might be lost too. */
const maxLostClaims = 100

/** The owner of leases in the database. */
function ownerIn(replicaId: string, owner: string): string {
  return `${replicaId} ${owner}`
}

function createClaims({ db, clock, replicaId, onWarning }: ClaimsOptions): Claims {
  const lost = createLostClaims(db, clock)
  const retired = new Set<string>()
  const refused = new Set<string>()
  /** Kinds without claimable runs, and when to search again: milliseconds since 1970. */
  const idle = new Map<string, number>()
  /** Kinds whose latest claim found no further runs. */
  const drained = new Set<string>()
  const offers = new Set<Promise<void>>()
  let waiting: WaitingClaim[] = []
  /** Waiting claims in the current statement. */
  let asking: readonly WaitingClaim[] = []
  let isServing = false
  /** The current statement. */
  let round: Promise<void> | undefined
  let isChanged = false
  let isFailing = false
  let isClosed = false
  let lastId = 0
  let timer: Timer | undefined

  /** True if runs for this claim have to be searched now, also after the clock was set back. */
  function isDue({ request }: WaitingClaim): boolean {
    if (retired.has(request.owner)) return false
    const waitMs = (idle.get(kindOf(request)) ?? -Infinity) - clock.now()
    return waitMs <= 0 || waitMs > pollMs
  }

  function wake(): void {
    idle.clear()
    drained.clear()
    isChanged = true
    look()
  }

  function look(): void {
    if (lost.count > 0) begin()
    else serveDue()
  }

  /** Serves the claims that are due, else sets a timer for the next one. */
  function serveDue(): void {
    if (isServing || isClosed) return
    if (waiting.some(isDue)) return begin()
    timer?.cancel()
    const open = waiting.filter(({ request }) => !retired.has(request.owner))
    const waits = open.map(({ request }) => (idle.get(kindOf(request)) ?? 0) - clock.now())
    if (lost.count > 0) waits.push(lostMs)
    if (waits.length > 0) timer = clock.after(Math.min(...waits), look)
  }

  function begin(): void {
    if (isServing || isClosed) return
    timer?.cancel()
    isServing = true
    void serve()
  }

  /** Runs one statement after the other while there may be claimable runs. */
  async function serve(): Promise<void> {
    // Collects all claims of this turn of the event loop into one statement.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      do {
        isChanged = false
        round = serveOnce()
        await round
      } while (!isClosed && isChanged && waiting.some(isDue))
      isFailing = false
    } catch (error) {
      if (!isFailing && !isClosed) onWarning('claiming runs failed', { error: messageOf(error) })
      isFailing = true
    }
    round = undefined
    isServing = false
    if (!isFailing) return serveDue()
    if (!isClosed) timer = clock.after(retryMs, wake)
  }

  async function serveOnce(): Promise<void> {
    if (await lost.giveBack()) {
      idle.clear()
      drained.clear()
    }
    if (isClosed || !waiting.some(isDue)) return
    const claims = waiting.filter(isDue)
    asking = claims
    const known = claims.map(toKnown)
    // `dueIn` counts from before the call, so the next search may be too early, but never too late.
    const askedAt = clock.now()
    let taken: readonly Taken[]
    try {
      taken = await takeLeases(db, known, askedAt)
    } catch (error) {
      lost.lose(known)
      throw error
    } finally {
      asking = []
    }
    for (const [index, claim] of claims.entries()) {
      const { leases = [], dueIn = null, isMore = false } = taken[index] ?? {}
      if (isMore) isChanged = true
      if (leases.length > 0) {
        waiting = waiting.filter((other) => other !== claim)
        give(claim, known.slice(index, index + 1), leases)
      }
      if (isMore || isChanged || leases.length === claim.request.max) drained.delete(kindOf(claim.request))
      else {
        drained.add(kindOf(claim.request))
        const nextAt = dueIn !== null && dueIn <= 0 ? clock.now() + takenMs : askedAt + (dueIn ?? Infinity)
        if (leases.length === 0) idle.set(kindOf(claim.request), Math.min(nextAt, clock.now() + pollMs))
      }
    }
  }

  function toKnown({ request }: WaitingClaim): KnownClaim {
    return { ...request, id: ++lastId, owner: ownerIn(replicaId, request.owner) }
  }

  function give(claim: WaitingClaim, known: readonly KnownClaim[], leases: readonly Lease[]): void {
    const isRefused = isClosed || refused.has(claim.request.owner)
    if (isRefused) lost.refuse(known)
    claim.resolve(isRefused ? [] : leases)
  }

  function openHandoff(handlers: readonly string[]): ClaimHandoff | null {
    const offered = waiting.filter((claim) => {
      const { request } = claim
      const [handler = '', ...others] = request.handlers
      const isFit = !request.suspects && others.length === 0 && handlers.includes(handler)
      return isFit && drained.has(kindOf(request)) && !retired.has(request.owner) && !asking.includes(claim)
    })
    if (offered.length === 0 || isClosed || lost.count >= maxLostClaims) return null
    waiting = waiting.filter((claim) => !offered.includes(claim))
    const known = offered.map(toKnown)
    const { promise, resolve } = Promise.withResolvers<void>()
    offers.add(promise)

    function end(given: ReadonlyMap<number, readonly Lease[]>): void {
      for (const [index, claim] of offered.entries()) {
        const leases = given.get(known[index]?.id ?? 0) ?? []
        if (leases.length > 0) give(claim, known.slice(index, index + 1), leases)
        else if (isClosed || retired.has(claim.request.owner)) claim.resolve([])
        else waiting.push(claim)
      }
      offers.delete(promise)
      resolve()
      serveDue()
    }

    return {
      claims: known,
      end,
      lose() {
        lost.lose(known)
        end(new Map())
        wake()
      },
    }
  }

  /** Resolves claims empty, after the current statement and offers have ended. */
  async function endClaims(which: (owner: string) => boolean): Promise<void> {
    await Promise.allSettled([round, ...offers])
    const [ending, others] = [true, false].map((wanted) =>
      waiting.filter(({ request }) => which(request.owner) === wanted),
    )
    waiting = others ?? []
    for (const claim of ending ?? []) claim.resolve([])
  }

  async function retire(owner: string): Promise<void> {
    retired.add(owner)
    await endClaims((other) => other === owner)
  }

  return {
    wake,
    openHandoff,
    retire,
    claim(request) {
      if (isClosed || retired.has(request.owner) || request.max < 1) return Promise.resolve([])
      return new Promise((resolve) => {
        waiting.push({ request, resolve })
        serveDue()
      })
    },
    async refuse(owner) {
      refused.add(owner)
      await retire(owner)
      await lost.giveBack()
    },
    async close() {
      isClosed = true
      timer?.cancel()
      await endClaims(() => true)
      await lost.giveBack().catch(() => {})
    },
  }
}

/** Claims of the same kind accept the same runs. */
function kindOf({ handlers, suspects }: ClaimRequest): string {
  return `${suspects} ${handlers.join(' ')}`
}

/**
 * A backend finishes its statement even if the client is gone, so the runs of a lost claim may appear later: usually at once, but much
 * later if a disk or machine stood still.
 */
const lateMs = 3_600_000
const soonMs = 30_000
/** Search intervals for runs of lost claims, within `soonMs` and afterwards. */
const lookMs = { soon: 1_000, later: 30_000 } as const

/** Claims whose runs, if they got any, have no owner. Their runs are released without charging an attempt. */
export interface LostClaims {
  /** No response arrived, so the claim may still be executing in the database. */
  lose(claims: readonly KnownClaim[]): void
  /** The response arrived, but its owner is gone. */
  refuse(claims: readonly KnownClaim[]): void
  readonly count: number
  /** Releases runs of lost claims, unless that was done just now. Returns true if there were any. Throws `store_unavailable`. */
  giveBack(): Promise<boolean>
}

function createLostClaims(rows: Rows, clock: Clock): LostClaims {
  const lost = new Map<KnownClaim, number>()
  /** Counts additions: claims added during a release have to be searched soon. */
  let added = 0
  let nextLookAt = -Infinity
  let lookedAt = -Infinity

  function add(claims: readonly KnownClaim[], until: number): void {
    for (const claim of claims) lost.set(claim, until)
    added++
    nextLookAt = -Infinity
  }

  return {
    lose: (claims) => add(claims, clock.now() + lateMs),
    refuse: (claims) => add(claims, -Infinity),
    get count() {
      return lost.size
    },
    async giveBack() {
      const now = clock.now()
      // The second comparison detects a clock that was set back.
      if (lost.size === 0 || (now < nextLookAt && now >= lookedAt)) return false
      const given = [...lost]
      const addedBefore = added
      const [row] = await rows.query<{ released: number }>(
        'SELECT inbox.release_claims($1::text[], $2::bigint[]) AS released',
        [textArray(given.map(([{ owner }]) => toStored(owner))), bigintArray(given.map(([{ id }]) => id))],
      )
      const isSoon = given.some(([, until]) => now < until - lateMs + soonMs)
      lookedAt = now
      if (added === addedBefore) nextLookAt = now + (isSoon ? lookMs.soon : lookMs.later)
      for (const [claim, until] of given) if (now >= until) lost.delete(claim)
      return (row?.released ?? 0) > 0
    },
  }
}
