import type { Acknowledged, AuditRecord, NewReplay, PruneLimits, ReplayRecord } from './query-store.ts'
import type { AcceptResult, NewEvent } from './types.ts'

/** Actions of an operator. Each is noted in the audit; `by` names the caller. */
export interface OperatorActions {
  /** Ends dead letters for good and unblocks their keys. The reason is stored. Returns how many were dropped. */
  dropDead(which: 'all' | readonly number[], reason: string, by?: string): Promise<number>
  /** Drops all runs of a removed handler, except running ones. Returns how many; null if the handler was never registered. */
  discardPendingRuns(handler: string, reason: string, by?: string): Promise<number | null>
  /**
   * Limits how many runs of a handler run at once; null restores its own limit. Survives restarts. Returns false if the handler was never
   * registered.
   */
  setConcurrency(handler: string, concurrency: number | null, by?: string): Promise<boolean>
  /** Makes dead letters claimable again and resets their attempts. Takes all of them, or run ids. Returns how many were requeued. */
  requeueDead(which: 'all' | readonly number[], by?: string): Promise<number>
  /**
   * Prunes in small steps, then returns free space to the disk. Writes an audit record only with `noted`. `isTooLarge`: the store is
   * larger than `maxBytes`, and nothing is left to prune.
   */
  prune(
    limits: PruneLimits,
    noted?: 'noted',
    by?: string,
  ): Promise<{ readonly events: number; readonly quarantined: number; readonly isTooLarge: boolean }>
  /**
   * Starts a replay. Its runs are created in small steps, with a bounded backlog. A restart resumes it. A filter with a handler matches
   * only event types that the handler takes. Throws `bad_request` for an empty filter, `not_found` for a handler that is not registered.
   */
  startReplay(replay: NewReplay, by?: string): Promise<ReplayRecord>
  /** Stops creating runs and drops the pending ones. Returns false if the replay has ended or never existed. Idempotent. */
  cancelReplay(id: number, by?: string): Promise<boolean>
  /**
   * Pauses or resumes a handler; null means all handlers together. Survives restarts. Runs of a paused handler can't be claimed; runs
   * already claimed continue. Returns false if the handler was never registered. Idempotent.
   */
  setPaused(handler: string | null, paused: boolean, by?: string): Promise<boolean>
  /** Moves a body from quarantine to the events, parsed as `event`. Returns null if it is not in quarantine. */
  retryQuarantined(id: string, event: NewEvent, by?: string): Promise<AcceptResult | null>
  /** Removes a body from quarantine. The reason is stored. Returns false if it is not in quarantine. */
  dropQuarantined(id: string, reason: string, by?: string): Promise<boolean>
  /** Acknowledges missing events and gaps with lost events: `stats` and `gaps` no longer report them as open. Idempotent. */
  acknowledgeGaps(by?: string): Promise<Acknowledged>
  /** Writes an audit record for an action that happens outside the store. */
  note(
    action: Extract<AuditRecord['action'], `session.${string}` | `reconcile.${string}` | 'handler.try'>,
    detail: AuditRecord['detail'],
    by?: string,
  ): Promise<void>
}

/** Runs per transaction of a large action. Acknowledgements wait for a transaction, so it is small. */
export const batchSize = 500
/** Maximum run ids in an audit record; it also holds their total count. */
export const maxAuditedRuns = 1_000

/** Result of one step of a large action. `after`: where the next step continues; null if none is left. */
export interface ActionStep {
  readonly done: number
  readonly after: number | null
}

/** The audit record of a large action. `detail` takes the total so far. */
export interface AuditNote {
  readonly action: AuditRecord['action']
  readonly detail: (total: number) => AuditRecord['detail']
  readonly by: string | undefined
}

/** `noted`: id of the audit record; null if none was written. */
export interface ActionResult {
  readonly total: number
  readonly noted: number | null
}
