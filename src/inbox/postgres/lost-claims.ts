import type { Clock } from '../../base/clock.ts'
import type { Rows } from './database.ts'
import { releaseClaims, type SentClaim } from './leases.ts'

interface LostClaim {
  /** When it was lost, until when its runs may appear, and when to search them next: milliseconds since 1970. */
  readonly lostAt: number
  readonly until: number
  nextSearchAt: number
}

/**
 * How long runs of an unanswered claim may still appear: PostgreSQL finishes a statement even if its client is gone. It usually takes less
 * than `soonMs`, but longer after a stalled disk or machine.
 */
const lateMs = 3_600_000
const soonMs = 30_000
/** Search interval within `soonMs`, and afterwards. */
const soonSearchMs = 1_000
const lateSearchMs = 30_000

/**
 * Lost claims: nobody received the leases that they may have got. Their runs are released as if they had never been claimed.
 *
 *   unanswered  no response came, and the database may still execute the statement: its runs are searched repeatedly for an hour
 *   received    its leases came, but its owner is gone: its runs are searched once
 */
export function createLostClaims(rows: Rows, clock: Clock) {
  const lost = new Map<SentClaim, LostClaim>()

  function add(claim: SentClaim, lastingMs: number): void {
    const now = clock.now()
    lost.set(claim, { lostAt: now, until: now + lastingMs, nextSearchAt: now })
  }

  /** Milliseconds until the next search for runs of this claim. A longer wait than the interval means that the clock was set back. */
  function waitOf({ nextSearchAt }: LostClaim, now: number): number {
    return nextSearchAt - now > lateSearchMs ? 0 : Math.max(0, nextSearchAt - now)
  }

  return {
    addUnanswered: (claim: SentClaim) => add(claim, lateMs),
    addReceived: (claim: SentClaim) => add(claim, 0),
    get count() {
      return lost.size
    },
    /** Milliseconds until `release` searches again; Infinity without lost claims. */
    waitMs(): number {
      const now = clock.now()
      return lost.values().reduce((ms, claim) => Math.min(ms, waitOf(claim, now)), Infinity)
    },
    /** Releases the runs of claims whose search is due. Returns true if there were any. Throws `store_unavailable`. */
    async release(): Promise<boolean> {
      const now = clock.now()
      const due = [...lost].filter(([, claim]) => waitOf(claim, now) === 0)
      if (due.length === 0) return false
      const released = await releaseClaims(
        rows,
        due.map(([claim]) => claim),
      )
      for (const [sent, claim] of due) {
        claim.nextSearchAt = now + (now - claim.lostAt < soonMs ? soonSearchMs : lateSearchMs)
        if (now >= claim.until) lost.delete(sent)
      }
      return released > 0
    },
  }
}
