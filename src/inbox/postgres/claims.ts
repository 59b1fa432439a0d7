import type { Clock, Timer } from '../../clock.ts'
import { messageOf } from '../../errors.ts'
import type { ClaimRequest, Lease } from '../port.ts'
import type { Rows } from './database.ts'
import type { Heed } from './heed-clock.ts'
import { takeLeases, type KnownClaim, type Taken } from './leases.ts'
import { createLostClaims } from './lost-claims.ts'

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
  let waiting: WaitingClaim[] = []
  let isServing = false
  /** The statement that is under way. */
  let round: Promise<number | null> | undefined
  let isChanged = false
  let isFailing = false
  let isClosed = false
  let lastId = 0
  let timer: Timer | undefined

  function wake(): void {
    isChanged = true
    if (isServing || isClosed || (waiting.length === 0 && !lost.areAny)) return
    timer?.cancel()
    isServing = true
    void serve()
  }

  /** One statement after the other, for as long as there may be something to give. */
  async function serve(): Promise<void> {
    // What is asked for in the same turn is asked for together.
    await new Promise((resolve) => setImmediate(resolve))
    let nextAt: number | null = null
    try {
      do {
        isChanged = false
        round = serveOnce()
        nextAt = await round
      } while (!isClosed && (isChanged || (nextAt !== null && nextAt <= clock.now())))
      isFailing = false
    } catch (error) {
      if (!isFailing && !isClosed)
        onWarning(`runs cannot be claimed, which is tried again until it succeeds: ${messageOf(error)}`)
      isFailing = true
      nextAt = clock.now() + retryMs
    }
    round = undefined
    isServing = false
    if (isClosed || (waiting.length === 0 && !lost.areAny)) return
    timer = clock.after(Math.min(nextAt === null ? pollMs : nextAt - clock.now(), pollMs), wake)
  }

  /** Gives when to look again: milliseconds since 1970, or null if nothing is known to come. */
  async function serveOnce(): Promise<number | null> {
    await lost.giveBack()
    const asking = isClosed ? [] : waiting.filter(({ request }) => !retired.has(request.owner))
    if (asking.length === 0) return null
    await heed()
    const now = clock.now()
    const known = asking.map(({ request }): KnownClaim => {
      return { ...request, id: ++lastId, owner: ownerIn(replicaId, request.owner) }
    })
    let taken: readonly Taken[]
    try {
      taken = await takeLeases(db, known, now)
    } catch (error) {
      lost.lose(known)
      throw error
    }
    let nextAt: number | null = null
    for (const [index, claim] of asking.entries()) {
      const { leases = [], dueAt = null, isMore = false } = taken[index] ?? {}
      if (leases.length > 0) {
        const isRefused = isClosed || refused.has(claim.request.owner)
        if (isRefused) lost.refuse(known.slice(index, index + 1))
        answer(claim, isRefused ? [] : leases)
      } else {
        const at = isMore ? now : dueAt !== null && dueAt <= now ? clock.now() + takenMs : dueAt
        if (at !== null && (nextAt === null || at < nextAt)) nextAt = at
      }
    }
    return nextAt
  }

  function answer(claim: WaitingClaim, leases: readonly Lease[]): void {
    waiting = waiting.filter((other) => other !== claim)
    claim.resolve(leases)
  }

  /** What is being served just now is answered before. */
  async function endThoseOf(which: (owner: string) => boolean): Promise<void> {
    await round?.catch(() => {})
    for (const claim of waiting) if (which(claim.request.owner)) answer(claim, [])
  }

  async function retire(owner: string): Promise<void> {
    retired.add(owner)
    await endThoseOf((other) => other === owner)
  }

  return {
    wake,
    retire,
    claim(request) {
      if (isClosed || retired.has(request.owner) || request.max < 1) return Promise.resolve([])
      return new Promise((resolve) => {
        waiting.push({ request, resolve })
        wake()
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
