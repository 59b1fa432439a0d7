import { toLease, type LeaseRow } from '../lease-row.ts'
import { bodyMissing, maxClaimBytes } from '../limits.ts'
import type { ClaimRequest, CrashedRun, Lease, RunError } from '../port.ts'
import { bigintArray, textArray, type Rows } from './database.ts'
import { settle, type Verdict } from './settle.ts'
import { toStoredJson } from './text.ts'

/*
 * The life of a lease in the database. A run has at most one; `owner`, `claim_id` and `token` of the run identify it.
 *
 *   taken     by a claim (`takeLeases`) or by an accept: the attempt is counted, the token is new
 *   settled   with an outcome (`settle`): done, retry, dead, snooze, expired or unmatched
 *   released  as if it had never been claimed: its owner returned it, or nobody received it (`releaseClaims`)
 *   reaped    its owner died (`reapOwner`): the run counts as crashed
 *
 * A lease is not renewed and doesn't expire. It lasts while its replica writes heartbeats. Its token fences it: after the lease has ended, a settle with the old token changes nothing.
 */

/** A claim as sent to the database. `owner`: its stored name. Runs that it took have its `owner` and `id`. */
export interface SentClaim extends ClaimRequest {
  readonly id: number
}

/** The result of a sent claim. */
export interface TakeResult {
  readonly leases: readonly Lease[]
  /** For a claim without leases: milliseconds until its next run is due. Null: it has no future run, or it got leases. */
  readonly dueIn: number | null
  /** True if some claimed runs could not be leased. There may be more runs to claim. */
  readonly hasMore: boolean
}

interface TakenRun extends Pick<Lease, 'runId' | 'token' | 'handler' | 'attempt' | 'failed' | 'crashed' | 'key'> {
  readonly claimId: number
  /** 0 for a live run. */
  readonly replayId: number
  /** Null for a live run. */
  readonly newKeys: boolean | null
  readonly seq: number
}

/** A claim that took no runs. */
interface EmptyClaim {
  readonly claimId: number
  readonly runId: null
  readonly dueIn: number | null
}

/**
 * Takes runs for claims and reads their leases. Returns one result per claim, in order. `now`: milliseconds since 1970 by this machine's
 * clock. If it throws, the claims may have taken runs: release them with `releaseClaims`.
 */
export async function takeLeases(rows: Rows, claims: readonly SentClaim[], now: number): Promise<TakeResult[]> {
  const taken = await rows.query<TakenRun | EmptyClaim>(
    `SELECT claim_id AS "claimId", run_id AS "runId", token, handler, attempt, failed, crashed, key, replay_id AS "replayId",
       new_keys AS "newKeys", event_seq AS seq, due_in AS "dueIn"
     FROM inbox.claim($1::json)`,
    [toStoredJson(claims.map(({ id, handlers, max, owner, suspects }) => ({ id, handlers, max, owner, suspects })))],
  )
  const runs = taken.filter((row): row is TakenRun => row.runId !== null)
  const runsOf = Map.groupBy(runs, ({ claimId }) => claimId)
  const leasesOf = await readLeases(rows, runs, now)
  return claims.map(({ id }) => {
    const leases = leasesOf.get(id) ?? []
    const empty = taken.find((row): row is EmptyClaim => row.claimId === id && row.runId === null)
    return { leases, dueIn: empty?.dueIn ?? null, hasMore: (runsOf.get(id)?.length ?? 0) > leases.length }
  })
}

/** Leases by claim id. Releases runs beyond `maxClaimBytes`, and turns runs without a body into dead letters. */
async function readLeases(rows: Rows, runs: readonly TakenRun[], now: number): Promise<Map<number, Lease[]>> {
  if (runs.length === 0) return new Map()
  const details = await rows.query<LeaseRow & Pick<Lease, 'runId'>>(
    `SELECT run_id AS "runId", id, type, created_at AS "createdAt", received_at AS "receivedAt", key AS "eventKey",
       secret_label AS "secretLabel", trace, CASE WHEN id IS NOT NULL THEN raw END AS raw, payload, idempotency_key AS "idempotencyKey"
     FROM inbox.read_leases($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint)`,
    [
      bigintArray(runs.map(({ claimId }) => claimId)),
      bigintArray(runs.map(({ runId }) => runId)),
      bigintArray(runs.map(({ seq }) => seq)),
      maxClaimBytes,
    ],
  )
  const detailOf = new Map(details.map((detail) => [detail.runId, detail]))
  const leases: { readonly claimId: number; readonly lease: Lease }[] = []
  const verdicts: Verdict[] = []
  for (const run of runs) {
    const { runId, token, claimId } = run
    const detail = detailOf.get(runId)
    if (detail === undefined) verdicts.push({ runId, token, kind: 'release' })
    else if (detail.raw === null)
      verdicts.push({ runId, token, kind: 'dead', startedAt: now, endedAt: now, error: bodyMissing })
    else {
      const replay = run.replayId === 0 ? null : { id: run.replayId, newKeys: run.newKeys ?? false }
      leases.push({ claimId, lease: toLease({ ...run, replay }, detail, detail.raw) })
    }
  }
  await settle(rows, verdicts, now)
  const byClaim = Map.groupBy(leases, ({ claimId }) => claimId)
  return new Map([...byClaim].map(([claimId, entries]) => [claimId, entries.map(({ lease }) => lease)]))
}

/** Releases all runs that the claims have taken. Returns how many. Idempotent. */
export async function releaseClaims(rows: Rows, claims: readonly SentClaim[]): Promise<number> {
  const [row] = await rows.query<{ released: number }>(
    'SELECT inbox.release_claims($1::text[], $2::bigint[]) AS released',
    [textArray(claims.map(({ owner }) => owner)), bigintArray(claims.map(({ id }) => id))],
  )
  return row?.released ?? 0
}

/** A run that crashed. `error`: null unless it became a dead letter. */
interface ReapedRun extends Omit<CrashedRun, 'error'> {
  readonly error: RunError | null
}

/** Ends the leases of an owner (its stored name). Idempotent. */
export async function reapOwner(rows: Rows, owner: string): Promise<readonly ReapedRun[]> {
  const reaped = await rows.query<Omit<CrashedRun, 'error'> & { name: string | null; message: string | null }>(
    `SELECT handler, event_id AS "eventId", attempt, error_name AS name, error_message AS message FROM inbox.reap($1)`,
    [owner],
  )
  return reaped.map(({ handler, eventId, attempt, name, message }) => ({
    handler,
    eventId,
    attempt,
    error: name === null || message === null ? null : { name, message },
  }))
}
