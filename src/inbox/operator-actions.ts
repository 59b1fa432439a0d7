import type { Acknowledged, AuditRecord, NewReplay, PruneLimits, ReplayRecord } from './query-store.ts'
import type { AcceptResult, NewEvent } from './types.ts'

/** Actions of an operator. Each is noted in the audit; `by` names the caller. */
export interface OperatorActions {
  /** Ends dead letters for good, with a reason that is kept; what they hold up goes on. Gives how many. */
  dropDead(which: 'all' | readonly number[], reason: string, by?: string): Promise<number>
  /** Ends all runs of a handler that nobody works on, for one that was removed. Gives how many; null if there never was such a handler. */
  discardPendingRuns(handler: string, reason: string, by?: string): Promise<number | null>
  /** How many runs of a handler may run at once; null: as it says itself. It holds across restarts. False as for `setPaused`. */
  setConcurrency(handler: string, concurrency: number | null, by?: string): Promise<boolean>
  /** Makes dead letters claimable again with their attempts counted anew; all of them, or those of the given run ids. Gives how many. */
  requeueDead(which: 'all' | readonly number[], by?: string): Promise<number>
  /**
   * Prunes in small steps, then gives space back. `noted`: it is noted in the audit. `isTooLarge`: the store is larger than `maxBytes`,
   * and nothing is left to prune.
   */
  prune(
    limits: PruneLimits,
    noted?: 'noted',
    by?: string,
  ): Promise<{ readonly events: number; readonly quarantined: number; readonly isTooLarge: boolean }>
  /**
   * Starts a replay; its runs are created bit by bit, a bounded number ahead of what is worked off, also after a restart. Throws
   * `bad_request` where nothing is given to choose events by, `not_found` for a handler that is not registered. With a handler,
   * only events of the types that it takes are found.
   */
  startReplay(replay: NewReplay, by?: string): Promise<ReplayRecord>
  /** Creates no more runs of it, and drops those that wait. False if it has ended, or never was. Idempotent. */
  cancelReplay(id: number, by?: string): Promise<boolean>
  /**
   * Pauses a handler, or with null all of them together; it holds across restarts, until it is taken back. Nothing of it is
   * handed out meanwhile; what was handed out before goes on. False if no handler of that name was ever registered. Idempotent.
   */
  setPaused(handler: string | null, paused: boolean, by?: string): Promise<boolean>
  /** Accepts the event that a body in quarantine turned out to be, and takes it out of there. Null if it is not there. */
  retryQuarantined(id: string, event: NewEvent, by?: string): Promise<AcceptResult | null>
  /** Removes a body from the quarantine, with a reason that is kept. False if it is not there. */
  dropQuarantined(id: string, reason: string, by?: string): Promise<boolean>
  /** Says that what is missing or lost is dealt with: there is nothing missing, and nothing to acknowledge, from then on. Idempotent. */
  acknowledgeGaps(by?: string): Promise<Acknowledged>
  /** Notes an action that no other call notes. */
  note(
    action: Extract<AuditRecord['action'], `session.${string}` | `reconcile.${string}`>,
    detail: AuditRecord['detail'],
    by?: string,
  ): Promise<void>
}

/** Large acts are done in small transactions, so that they do not hold up acknowledgements. */
export const batchSize = 500
/** The audit has so many of the run ids of an act at the most, and how many there were. */
export const maxAuditedRuns = 1_000

/** What a bounded piece of an act did. `after`: where to go on; null: that was all. */
export interface ActionStep {
  readonly done: number
  readonly after: number | null
}

/** What is noted of a large act, by how much was done so far. */
export interface AuditNote {
  readonly action: AuditRecord['action']
  readonly detail: (total: number) => AuditRecord['detail']
  readonly by: string | undefined
}

/** `noted`: the id of the note; null: none was written. */
export interface ActionResult {
  readonly total: number
  readonly noted: number | null
}
