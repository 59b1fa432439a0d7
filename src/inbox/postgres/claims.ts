import type { Clock, Timer } from '../../base/clock.ts'
import type { Lease, ReapResult, RunError, DispatchStore, ClaimRequest } from '../port.ts'
import { bigintArray, textArray } from './database.ts'
import type { Database, Rows } from './database.ts'
import type { MakeOffer, Offer } from './accept.ts'
import { readState } from './leases.ts'
import { fromStored, toStored } from './text.ts'
import { settle } from './leases.ts'
import { messageOf } from '../../base/errors.ts'
import { takeLeases, type KnownClaim, type Taken } from './leases.ts'

export interface WorkOptions {
  readonly db: Database
  readonly clock: Clock
  /** Of this process, among the replicas. */
  readonly replicaId: string
  /** Is told of what goes wrong in the background. */
  readonly onWarning: (text: string) => void
}

export interface Work extends Omit<DispatchStore, 'register'> {
  /** Something may have become claimable: here, or at another replica. */
  wake(): void
  /** For what is accepted here. */
  readonly offer: MakeOffer
  /** Waiting claims resolve with none; leases that are held are not touched. Idempotent. */
  close(): Promise<void>
}

/** What the dispatcher of one replica needs. All but `claim` throw `store_unavailable`, `store_full` or `shutting_down`. */
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
    offer: (handlers) => claims.offer(handlers),
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

/** Ends the leases that are in an owner's name. Idempotent. */
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
  readonly onWarning: (text: string) => void
}

/** The claims of this replica that wait for work. */
export interface Claims {
  /** As the port says. Never rejects: while the database is away, it waits. */
  claim(request: ClaimRequest): Promise<readonly Lease[]>
  /** The owner's claims end with nothing. If one is just being served, it gets what it gets, before this resolves. */
  retire(owner: string): Promise<void>
  /** The same, but what one that is being served gets is given back. Throws `store_unavailable` if it cannot be. */
  refuse(owner: string): Promise<void>
  /** Something may have become claimable. */
  wake(): void
  /** The claims that wait for runs of these handlers, of which there were no more when they were claimed last. */
  offer(handlers: readonly string[]): Offer | null
  /** Ends all claims with nothing. */
  close(): Promise<void>
}

interface WaitingClaim {
  readonly request: ClaimRequest
  readonly resolve: (leases: readonly Lease[]) => void
}

/** What others did and did not tell of is found no later than after this. */
const pollMs = 2_000
const retryMs = 500
/** What is due but was not given is just being taken, or given back, by somebody else. */
const takenMs = 20
/** How often it is seen to what was lost. */
const lostMs = 1_000
/** While answers fail to come, nothing is offered that may be lost as well. */
const mostLost = 100

/** Whose name the leases of an owner are in. */
function ownerIn(replicaId: string, owner: string): string {
  return `${replicaId} ${owner}`
}

function createClaims({ db, clock, replicaId, onWarning }: ClaimsOptions): Claims {
  const lost = createLostClaims(db, clock)
  const retired = new Set<string>()
  const refused = new Set<string>()
  /** What there was nothing of when it was looked last, and when to look again: milliseconds since 1970. */
  const idle = new Map<string, number>()
  /** What there was no more of when it was claimed last. */
  const drained = new Set<string>()
  const offers = new Set<Promise<void>>()
  let waiting: WaitingClaim[] = []
  /** Those of them that are asked for just now. */
  let asking: readonly WaitingClaim[] = []
  let isServing = false
  /** The statement that is under way. */
  let round: Promise<void> | undefined
  let isChanged = false
  let isFailing = false
  let isClosed = false
  let lastId = 0
  let timer: Timer | undefined

  /** Whether it is to be asked for now; also where the clock was set back. */
  function isMissed({ request }: WaitingClaim): boolean {
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
    else serveMissed()
  }

  /** Asks for what it is not known of that there is nothing; else waits until it is to be looked again. */
  function serveMissed(): void {
    if (isServing || isClosed) return
    if (waiting.some(isMissed)) return begin()
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

  /** One statement after the other, for as long as there may be something to give. */
  async function serve(): Promise<void> {
    // What is asked for in the same turn is asked for together.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      do {
        isChanged = false
        round = serveOnce()
        await round
      } while (!isClosed && isChanged && waiting.some(isMissed))
      isFailing = false
    } catch (error) {
      if (!isFailing && !isClosed)
        onWarning(`runs cannot be claimed, which is tried again until it succeeds: ${messageOf(error)}`)
      isFailing = true
    }
    round = undefined
    isServing = false
    if (!isFailing) return serveMissed()
    if (!isClosed) timer = clock.after(retryMs, wake)
  }

  async function serveOnce(): Promise<void> {
    if (await lost.giveBack()) {
      idle.clear()
      drained.clear()
    }
    if (isClosed || !waiting.some(isMissed)) return
    const claims = waiting.filter(isMissed)
    asking = claims
    const known = claims.map(toKnown)
    // What falls due is counted from before the call, however long the answer takes: asking too early asks again.
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

  function offer(handlers: readonly string[]): Offer | null {
    const offered = waiting.filter((claim) => {
      const { request } = claim
      const [handler = '', ...others] = request.handlers
      const isFit = !request.suspects && others.length === 0 && handlers.includes(handler)
      return isFit && drained.has(kindOf(request)) && !retired.has(request.owner) && !asking.includes(claim)
    })
    if (offered.length === 0 || isClosed || lost.count >= mostLost) return null
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
      serveMissed()
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

  /** What is being served, or offered, just now is answered before. */
  async function endThoseOf(which: (owner: string) => boolean): Promise<void> {
    await Promise.allSettled([round, ...offers])
    const [ending, others] = [true, false].map((wanted) =>
      waiting.filter(({ request }) => which(request.owner) === wanted),
    )
    waiting = others ?? []
    for (const claim of ending ?? []) claim.resolve([])
  }

  async function retire(owner: string): Promise<void> {
    retired.add(owner)
    await endThoseOf((other) => other === owner)
  }

  return {
    wake,
    offer,
    retire,
    claim(request) {
      if (isClosed || retired.has(request.owner) || request.max < 1) return Promise.resolve([])
      return new Promise((resolve) => {
        waiting.push({ request, resolve })
        serveMissed()
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
      await endThoseOf(() => true)
      await lost.giveBack().catch(() => {})
    },
  }
}

/** What two claims that ask for the same have in common. */
function kindOf({ handlers, suspects }: ClaimRequest): string {
  return `${suspects} ${handlers.join(' ')}`
}

/**
 * A backend whose client is gone ends what it was doing, so that what a claim took may show up later: at once as a rule, but after a disk
 * or a machine stood still for as long as that took.
 */
const lateMs = 3_600_000
const soonMs = 30_000
/** How often they are looked for: soon after, and later. */
const lookMs = { soon: 1_000, later: 30_000 } as const

/** Claims whose runs, if they got any, belong to nobody: they are given back, uncharged. */
export interface LostClaims {
  /** The answer did not come, so the claim may still be under way in the database. */
  lose(claims: readonly KnownClaim[]): void
  /** The answer came, but nobody is there any more to take it. */
  refuse(claims: readonly KnownClaim[]): void
  /** How many there are. */
  readonly count: number
  /** Gives back what there is, unless that was done just now; whether there was anything. Throws `store_unavailable`. */
  giveBack(): Promise<boolean>
}

function createLostClaims(rows: Rows, clock: Clock): LostClaims {
  const lost = new Map<KnownClaim, number>()
  /** How many times some were added: what comes while others are given back has to be looked for soon. */
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
      // Also where the clock was set back.
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
