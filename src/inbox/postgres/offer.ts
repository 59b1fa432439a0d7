import type { Lease } from '../port.ts'
import type { KnownClaim } from './leases.ts'

/**
 * Claims of this replica that wait, of what there is no backlog of. What is accepted next can be theirs at once: in the transaction that
 * stores it, and without being read back.
 */
export interface Offer {
  /** Each of one handler. */
  readonly claims: readonly KnownClaim[]
  /** What they got, by their ids; those that are not there got nothing, and wait on. */
  end(given: ReadonlyMap<number, readonly Lease[]>): void
  /** They may have got something, but nobody knows what. */
  lose(): void
}

/** Gives the claims that new runs of these handlers can be offered to; null if there are none. It has to be ended, or lost. */
export type MakeOffer = (handlers: readonly string[]) => Offer | null
