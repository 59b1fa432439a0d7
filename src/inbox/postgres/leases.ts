import type { ClaimRequest, Lease, Outcome, RunError } from '../port.ts'
import { bigintArray } from './arrays.ts'
import type { Rows } from './database.ts'
import { fromStored, fromStoredOrNull, toStored } from './text.ts'
import { settle } from './verdicts.ts'

/** A claim as the database knows it: no other one of its owner has its id. */
export interface KnownClaim extends ClaimRequest {
  readonly id: number
}

/**
 * What a claim got. If there was nothing to get, `dueAt` says when the next run that it may take falls due: milliseconds since 1970, or null
 * if none is to. `isMore`: some of what it got could not be handed out, and there may be others behind it.
 */
export interface Taken {
  readonly leases: readonly Lease[]
  readonly dueAt: number | null
  readonly isMore: boolean
}

interface ClaimedRow {
  readonly claimId: number
  readonly runId: number
  readonly token: number
  readonly handler: string
  readonly attempt: number
  readonly failed: number
  readonly crashed: number
  readonly key: string | null
  readonly replayId: number
  readonly newKeys: boolean | null
  readonly seq: number
}

interface DueRow {
  readonly claimId: number
  readonly runId: null
  readonly dueAt: number | null
}

interface LeaseRow {
  readonly runId: number
  readonly id: string | null
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly key: string | null
  readonly secretLabel: string
  readonly trace: string | null
  readonly raw: Uint8Array | null
  readonly payload: string | null
  readonly idempotencyKey: string | null
}

const bodyMissing: RunError = {
  name: 'body_missing',
  message: 'its event, or the body of it, is not in the database any more: it was restored in part, or changed by hand',
}
/** Of the bodies that one claim is given: what comes beyond goes back. */
const mostClaimBytes = 4 * 1024 * 1024

/**
 * Takes runs for claims, and reads what their leases carry: gives for each claim what it got, in order. `now` in milliseconds since 1970.
 * Whatever it throws, any of the claims may have got runs: they are to be given back by their owners and ids.
 */
export async function takeLeases(rows: Rows, claims: readonly KnownClaim[], now: number): Promise<Taken[]> {
  const asked = claims.map(({ id, handlers, max, owner, suspects }) => {
    return { id, handlers: handlers.map(toStored), max, owner: toStored(owner), suspects }
  })
  const got = await rows.query<ClaimedRow | DueRow>(
    `SELECT claim_id AS "claimId", run_id AS "runId", token, handler, attempt, failed, crashed, key, replay_id AS "replayId",
       new_keys AS "newKeys", event_seq AS seq, due_at AS "dueAt"
     FROM inbox.claim($1::json, $2::bigint)`,
    [JSON.stringify(asked), now],
  )
  const runs = got.filter((row): row is ClaimedRow => row.runId !== null)
  const leases = runs.length === 0 ? new Map<number, Lease[]>() : await toLeases(rows, runs, now)
  return claims.map(({ id }) => {
    const mine = leases.get(id) ?? []
    const due = got.find((row): row is DueRow => row.claimId === id && row.runId === null)
    return {
      leases: mine,
      dueAt: due?.dueAt ?? null,
      isMore: runs.filter(({ claimId }) => claimId === id).length > mine.length,
    }
  })
}

async function toLeases(rows: Rows, runs: readonly ClaimedRow[], now: number): Promise<Map<number, Lease[]>> {
  const details = await rows.query<LeaseRow>(
    `SELECT run_id AS "runId", id, type, created_at AS "createdAt", received_at AS "receivedAt", key, secret_label AS "secretLabel", trace,
       raw, payload, idempotency_key AS "idempotencyKey"
     FROM inbox.read_leases($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint)`,
    [
      bigintArray(runs.map(({ claimId }) => claimId)),
      bigintArray(runs.map(({ runId }) => runId)),
      bigintArray(runs.map(({ seq }) => seq)),
      mostClaimBytes,
    ],
  )
  const detailOf = new Map(details.map((detail) => [detail.runId, detail]))
  const leases = new Map<number, Lease[]>()
  const unfit: (Outcome | { runId: number; token: number; kind: 'release' })[] = []
  for (const run of runs) {
    const { runId, token, claimId } = run
    const detail = detailOf.get(runId)
    if (detail === undefined) unfit.push({ runId, token, kind: 'release' })
    else if (!hasBody(detail))
      unfit.push({ runId, token, kind: 'dead', startedAt: now, endedAt: now, error: bodyMissing })
    else {
      const mine = leases.get(claimId)
      if (mine === undefined) leases.set(claimId, [toLease(run, detail)])
      else mine.push(toLease(run, detail))
    }
  }
  if (unfit.length > 0) await settle(rows, unfit, now)
  return leases
}

type WholeRow = LeaseRow & { readonly id: string; readonly raw: Uint8Array }

function hasBody(row: LeaseRow): row is WholeRow {
  return row.id !== null && row.raw !== null
}

function toLease(run: ClaimedRow, row: WholeRow): Lease {
  const { runId, token, attempt, failed, crashed, replayId, newKeys, seq } = run
  const id = fromStored(row.id)
  return {
    runId,
    token,
    handler: fromStored(run.handler),
    attempt,
    failed,
    crashed,
    event: {
      seq,
      id,
      type: fromStored(row.type),
      createdAt: fromStored(row.createdAt),
      receivedAt: row.receivedAt,
      key: fromStoredOrNull(row.key) ?? id,
      secretLabel: fromStored(row.secretLabel),
      raw: row.raw,
      trace: fromStoredOrNull(row.trace),
    },
    key: fromStoredOrNull(run.key),
    replay: replayId === 0 ? null : { id: replayId, newKeys: newKeys ?? false },
    item:
      row.payload === null || row.idempotencyKey === null
        ? null
        : { payload: fromStored(row.payload), idempotencyKey: fromStored(row.idempotencyKey) },
  }
}
