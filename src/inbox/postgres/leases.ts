import {
  type ClaimRequest,
  type Lease,
  type Outcome,
  type RunError,
  dueAt,
  versionOf,
  type Effects,
  type SettleResult,
  type StateEntry,
  type StateQuery,
} from '../port.ts'
import { bigintArray, numbersIn, textArray } from './database.ts'
import type { Rows } from './database.ts'
import { fromStored, fromStoredOrNull, toStored, toStoredOrNull } from './text.ts'
import { errorGroupOf } from '../error-group.ts'
import { afterKey, prefixEnd } from '../state-keys.ts'

/** A claim as sent to the database. `id` is unique per owner. */
export interface KnownClaim extends ClaimRequest {
  readonly id: number
}

/**
 * Result of a claim. `dueIn`: for a claim without leases, milliseconds until its next run is due; null if there is none. `isMore`: some
 * claimed runs could not be leased, and there may be more.
 */
export interface Taken {
  readonly leases: readonly Lease[]
  readonly dueIn: number | null
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
  readonly dueIn: number | null
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
  message: 'the event or its body is missing in the database: it was restored in part or changed by hand',
}
/** A claim with this many bytes of bodies gets no more runs; further claimed runs are released. */
const maxClaimBytes = 4 * 1024 * 1024

/**
 * Takes runs for claims and reads their leases. Returns a result per claim, in order. `now`: by this machine's clock. If it throws, any
 * claim may have got runs: release them by owner and claim id.
 */
export async function takeLeases(rows: Rows, claims: readonly KnownClaim[], now: number): Promise<Taken[]> {
  const asked = claims.map(({ id, handlers, max, owner, suspects }) => {
    return { id, handlers: handlers.map(toStored), max, owner: toStored(owner), suspects }
  })
  const got = await rows.query<ClaimedRow | DueRow>(
    `SELECT claim_id AS "claimId", run_id AS "runId", token, handler, attempt, failed, crashed, key, replay_id AS "replayId",
       new_keys AS "newKeys", event_seq AS seq, due_in AS "dueIn"
     FROM inbox.claim($1::json)`,
    [JSON.stringify(asked)],
  )
  const runs = got.filter((row): row is ClaimedRow => row.runId !== null)
  const leases = runs.length === 0 ? new Map<number, Lease[]>() : await toLeases(rows, runs, now)
  return claims.map(({ id }) => {
    const mine = leases.get(id) ?? []
    const due = got.find((row): row is DueRow => row.claimId === id && row.runId === null)
    return {
      leases: mine,
      dueIn: due?.dueIn ?? null,
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
      maxClaimBytes,
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

/** Releases a lease, like an outcome. */
type Release = Pick<Lease, 'runId' | 'token'> & { readonly kind: 'release' }

const maxErrorMessage = 2_000
const maxErrorStack = 8_000
/** Expired entries deleted per write of an expiring entry. More than one, so that their number shrinks. */
const purgedPerWrite = 4

export interface Settled {
  /** One per verdict, in order. */
  readonly results: readonly SettleResult[]
  /** True if runs may have become claimable. */
  readonly areReady: boolean
}

/**
 * Stores the outcomes of leases. `now`: milliseconds since 1970, by the clock of the verdicts' times. Throws `store_unavailable` or
 * `store_full`.
 */
export async function settle(rows: Rows, verdicts: readonly (Outcome | Release)[], now: number): Promise<Settled> {
  const results = verdicts.map((): SettleResult => 'stale')
  if (verdicts.length === 0) return { results, areReady: false }
  const [row] = await rows.query<{ applied: string; conflicts: string; areReady: boolean }>(
    `SELECT array_to_string(applied, ' ') AS applied, array_to_string(conflicts, ' ') AS conflicts, are_ready AS "areReady"
     FROM inbox.settle($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
       $8::json, $9::json, $10::json, $11::integer)`,
    valuesOf(verdicts, now),
  )
  for (const place of numbersIn(row?.applied)) results[place - 1] = 'applied'
  for (const place of numbersIn(row?.conflicts)) results[place - 1] = 'conflict'
  return { results, areReady: row?.areReady ?? false }
}

function valuesOf(verdicts: readonly (Outcome | Release)[], now: number): unknown[] {
  const numbers = (of: (verdict: Outcome | Release) => number) =>
    bigintArray(verdicts.map((verdict) => Math.trunc(of(verdict))))
  const placed = verdicts.map((verdict, index) => ({ verdict, place: index + 1 }))
  return [
    numbers(({ runId }) => runId),
    numbers(({ token }) => token),
    textArray(verdicts.map(({ kind }) => kind)),
    numbers((verdict) => (verdict.kind === 'retry' || verdict.kind === 'snooze' ? dueAt(verdict, now) - now : 0)),
    numbers((verdict) => (verdict.kind === 'release' ? 0 : verdict.startedAt - now)),
    numbers((verdict) => (verdict.kind === 'release' ? 0 : verdict.endedAt - now)),
    textArray(verdicts.map((verdict) => (verdict.kind === 'dead' ? toStored(errorGroupOf(verdict.error)) : null))),
    JSON.stringify(
      placed.flatMap(({ verdict, place }) =>
        verdict.kind === 'retry' || verdict.kind === 'dead' ? { place, ...errorToStored(verdict.error) } : [],
      ),
    ),
    JSON.stringify(placed.flatMap(({ verdict, place }) => stateOf(verdict, place))),
    JSON.stringify(placed.flatMap(({ verdict, place }) => itemsOf(verdict, place))),
    purgedPerWrite *
      verdicts.flatMap((verdict) => effectsOf(verdict)?.writes ?? []).filter(({ expiresAt }) => expiresAt !== null)
        .length,
  ]
}

/** Cutting may leave half a surrogate pair, which PostgreSQL rejects. */
function errorToStored({ name, message, stack }: RunError): { name: string; message: string; stack: string | null } {
  return {
    name: wellFormed(name),
    message: wellFormed(message.slice(0, maxErrorMessage)),
    stack: stack === undefined ? null : wellFormed(stack.slice(0, maxErrorStack)),
  }
}

function wellFormed(text: string): string {
  return toStored(text.toWellFormed())
}

function effectsOf(verdict: Outcome | Release): Effects | undefined {
  return verdict.kind === 'done' ? verdict.effects : undefined
}

function stateOf(verdict: Outcome | Release, place: number): object[] {
  const { reads = [], writes = [] } = effectsOf(verdict) ?? {}
  if (reads.length + writes.length === 0) return []
  return [
    {
      place,
      version: versionOf(verdict),
      reads: reads.map(({ query, found }) => ({
        ...rangeOf(query),
        keys: found.map(({ key }) => toStored(key)),
        versions: found.map(({ version }) => version),
      })),
      writes: writes.map(({ key, value, expiresAt }) => ({
        key: toStored(key),
        value: toStoredOrNull(value),
        expiresAt,
      })),
    },
  ]
}

function itemsOf(verdict: Outcome | Release, place: number): object[] {
  return (effectsOf(verdict)?.items ?? []).map(({ sink, key, payload, idempotencyKey }) => ({
    place,
    sink: toStored(sink),
    key: key === null ? null : wellFormed(key),
    payload: wellFormed(payload),
    idempotencyKey: wellFormed(idempotencyKey),
  }))
}

/** A state query for the database: the first `most` stored keys from `from` until before `to`. */
export interface StateRange {
  readonly from: string
  readonly to: string
  readonly most: number
}

/** `to` excludes all other keys, because no stored key ends with a single U+0001. */
function rangeOf(query: StateQuery): StateRange {
  if ('key' in query) return { from: toStored(query.key), to: `${toStored(query.key)}\u0001`, most: 1 }
  const { prefix, after, limit } = query
  const from = after === null ? prefix : afterKey(after, prefix)
  return { from: toStored(from), to: toStored(prefixEnd(prefix)), most: limit }
}

/** Reads a handler's state. Empty for an unknown handler. */
export async function readState(rows: Rows, handler: string, query: StateQuery): Promise<readonly StateEntry[]> {
  const { from, to, most } = rangeOf(query)
  const found = await rows.query<StateEntry>(
    `SELECT s.key, s.value, s.version, s.expires_at AS "expiresAt" FROM inbox.state s
     WHERE s.handler_id = (SELECT h.id FROM inbox.handler h WHERE h.name = $1) AND s.key >= $2 AND s.key < $3
       AND (s.expires_at IS NULL OR s.expires_at > inbox.now_ms())
     ORDER BY s.key LIMIT $4`,
    [toStored(handler), from, to, most],
  )
  return found.map(({ key, value, version, expiresAt }) => ({
    key: fromStored(key),
    value: fromStored(value),
    version,
    expiresAt,
  }))
}
