import type { Clock } from '../../base/clock.ts'
import { bigintArray, textArray } from './arrays.ts'
import type { Rows } from './database.ts'
import type { KnownClaim } from './leases.ts'
import { toStored } from './text.ts'

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

export function createLostClaims(rows: Rows, clock: Clock): LostClaims {
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
        'SELECT inbox.release_claims($1::text[], $2::bigint[], $3::bigint) AS released',
        [textArray(given.map(([{ owner }]) => toStored(owner))), bigintArray(given.map(([{ id }]) => id)), now],
      )
      const isSoon = given.some(([, until]) => now < until - lateMs + soonMs)
      lookedAt = now
      if (added === addedBefore) nextLookAt = now + (isSoon ? lookMs.soon : lookMs.later)
      for (const [claim, until] of given) if (now >= until) lost.delete(claim)
      return (row?.released ?? 0) > 0
    },
  }
}
