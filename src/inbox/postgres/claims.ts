import type { Clock, Timer } from '../../clock.ts'
import { messageOf } from '../../errors.ts'
import type { ClaimRequest, Lease } from '../port.ts'
import type { Rows } from './database.ts'
import type { Heed } from './heed-clock.ts'
import { takeLeases, type KnownClaim, type Taken } from './leases.ts'
import { createLostClaims } from './lost-claims.ts'
import type { Offer } from './offer.ts'

export interface ClaimsOptions {
  readonly db: Rows
  readonly clock: Clock
  readonly replicaId: string
  readonly onWarning: (text: string) => void
  readonly heed: Heed
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

/** Whose name the leases of an owner are in. */
export function ownerIn(replicaId: string, owner: string): string {
  return `${replicaId} ${owner}`
}

export function createClaims({ db, clock, replicaId, onWarning, heed }: ClaimsOptions): Claims {
  const lost = createLostClaims(db, clock)
  const retired = new Set<string>()
  const refused = new Set<string>()
  /** What there was nothing of when it was looked last, and when the next run of it falls due, if one is to. */
  const idle = new Map<string, number | null>()
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
  let lookAt = -Infinity
  let timer: Timer | undefined

  const isMissed = ({ request }: WaitingClaim) => !retired.has(request.owner) && !idle.has(kindOf(request))

  function wake(): void {
    idle.clear()
    isChanged = true
    if (lost.areAny) begin()
    else serveMissed()
  }

  /** Asks for what it is not known of that there is nothing; else waits until it is to be looked again. */
  function serveMissed(): void {
    if (isServing || isClosed) return
    if (waiting.some(isMissed)) return begin()
    timer?.cancel()
    const open = waiting.filter(({ request }) => !retired.has(request.owner))
    if (open.length === 0 && !lost.areAny) return
    const dues = open.flatMap(({ request }) => idle.get(kindOf(request)) ?? [])
    const waitMs = Math.min(pollMs, Math.min(lookAt, ...dues) - clock.now())
    if (waitMs > 0) timer = clock.after(waitMs, wake)
    else wake()
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
      lookAt = clock.now() + pollMs
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
    await lost.giveBack()
    if (isClosed || !waiting.some(isMissed)) return
    await heed()
    const now = clock.now()
    const claims = waiting.filter(isMissed)
    asking = claims
    const known = claims.map(toKnown)
    let taken: readonly Taken[]
    try {
      taken = await takeLeases(db, known, now)
    } catch (error) {
      lost.lose(known)
      throw error
    } finally {
      asking = []
    }
    for (const [index, claim] of claims.entries()) {
      const { leases = [], dueAt = null, isMore = false } = taken[index] ?? {}
      if (isMore || leases.length === claim.request.max) drained.delete(kindOf(claim.request))
      else drained.add(kindOf(claim.request))
      if (leases.length > 0) {
        waiting = waiting.filter((other) => other !== claim)
        give(claim, known.slice(index, index + 1), leases)
      } else if (isMore) isChanged = true
      else if (!isChanged)
        idle.set(kindOf(claim.request), dueAt !== null && dueAt <= now ? clock.now() + takenMs : dueAt)
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
    if (offered.length === 0 || isClosed) return null
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
