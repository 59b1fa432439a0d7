import type { Clock } from '../../base/clock.ts'
import {
  type Lease,
  type Outcome,
  dueAt,
  versionOf,
  type Effects,
  type SettleResult,
  type StateEntry,
  type StateQuery,
} from '../port.ts'
import { bigintArray, numbersIn, textArray, type Rows } from './database.ts'
import { toStoredJson } from './text.ts'
import { errorGroupOf } from '../error-group.ts'
import { purgedPerWrite, storedError } from '../limits.ts'
import { afterKey, prefixEnd } from '../state-keys.ts'

/** Releases a lease. */
type Release = Pick<Lease, 'runId' | 'token'> & { readonly kind: 'release' }
export type Verdict = Outcome | Release

/**
 * Stores the outcomes of leases. `now`: milliseconds since 1970, by the clock of the verdicts' times. `results`: one per verdict, in order.
 * `areReady`: runs may have become claimable. Throws `store_unavailable` or `store_full`.
 */
export async function settle(
  rows: Rows,
  verdicts: readonly Verdict[],
  now: number,
): Promise<{ readonly results: readonly SettleResult[]; readonly areReady: boolean }> {
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

function valuesOf(verdicts: readonly Verdict[], now: number): unknown[] {
  const numbers = (valueOf: (verdict: Verdict) => number) =>
    bigintArray(verdicts.map((verdict) => Math.trunc(valueOf(verdict))))
  const placed = verdicts.map((verdict, index) => ({ verdict, place: index + 1 }))
  return [
    numbers(({ runId }) => runId),
    numbers(({ token }) => token),
    textArray(verdicts.map(({ kind }) => kind)),
    numbers((verdict) => (verdict.kind === 'retry' || verdict.kind === 'snooze' ? dueAt(verdict, now) - now : 0)),
    numbers((verdict) => (verdict.kind === 'release' ? 0 : verdict.startedAt - now)),
    numbers((verdict) => (verdict.kind === 'release' ? 0 : verdict.endedAt - now)),
    textArray(verdicts.map((verdict) => (verdict.kind === 'dead' ? errorGroupOf(verdict.error) : null))),
    toStoredJson(
      placed.flatMap(({ verdict, place }) =>
        verdict.kind === 'retry' || verdict.kind === 'dead' ? { place, ...storedError(verdict.error) } : [],
      ),
    ),
    toStoredJson(placed.flatMap(({ verdict, place }) => stateOf(verdict, place, now))),
    toStoredJson(placed.flatMap(({ verdict, place }) => itemsOf(verdict, place))),
    purgedPerWrite *
      verdicts.flatMap((verdict) => effectsOf(verdict)?.writes ?? []).filter(({ expiresAt }) => expiresAt !== null)
        .length,
  ]
}

/** Bytes that a verdict adds to the statement, about. */
export function bytesOfVerdict(verdict: Verdict): number {
  if (verdict.kind === 'retry' || verdict.kind === 'dead') return 2_000
  const { reads = [], writes = [], items = [] } = effectsOf(verdict) ?? {}
  const entries = reads.reduce((sum, { found }) => sum + found.length, writes.length + items.length)
  const values = [...writes.map(({ value }) => value ?? ''), ...items.map(({ payload }) => payload)]
  return values.reduce((sum, value) => sum + value.length, entries * 200)
}

function effectsOf(verdict: Verdict): Effects | undefined {
  return verdict.kind === 'done' ? verdict.effects : undefined
}

function stateOf(verdict: Verdict, place: number, now: number): object[] {
  const { reads = [], writes = [] } = effectsOf(verdict) ?? {}
  if (reads.length + writes.length === 0) return []
  return [
    {
      place,
      version: versionOf(verdict),
      reads: reads.map(({ query, found }) => ({
        ...rangeOf(query),
        keys: found.map(({ key }) => key),
        versions: found.map(({ version }) => version),
      })),
      writes: writes.map(({ expiresAt: at, ...write }) => ({ ...write, expiresIn: at === null ? null : at - now })),
    },
  ]
}

function itemsOf(verdict: Verdict, place: number): object[] {
  return (effectsOf(verdict)?.items ?? []).map((item) => ({ place, ...item }))
}

/** A state query for the database: the first `most` keys from `from` until before `to`. For a single key, `to` is the next possible key. */
function rangeOf(query: StateQuery): { readonly from: string; readonly to: string; readonly most: number } {
  if ('key' in query) return { from: query.key, to: `${query.key}\0`, most: 1 }
  const { prefix, after, limit } = query
  const from = after === null ? prefix : afterKey(after, prefix)
  return { from, to: prefixEnd(prefix), most: limit }
}

/** Reads a handler's state. Empty for an unknown handler. By this process's `clock`, no entry expires before it does in the database. */
export async function readState(rows: Rows, clock: Clock, handler: string, query: StateQuery): Promise<StateEntry[]> {
  const { from, to, most } = rangeOf(query)
  const entries = await rows.query<Omit<StateEntry, 'expiresAt'> & { readonly expiresIn: number | null }>(
    `SELECT s.key, s.value, s.version, s.expires_at - inbox.now_ms() AS "expiresIn" FROM inbox.state s
     WHERE s.handler_id = (SELECT h.id FROM inbox.handler h WHERE h.name = $1) AND s.key >= $2 AND s.key < $3
       AND (s.expires_at IS NULL OR s.expires_at > inbox.now_ms())
     ORDER BY s.key LIMIT $4`,
    [handler, from, to, most],
  )
  const now = clock.now()
  return entries.map(({ expiresIn: ms, ...entry }) => ({ ...entry, expiresAt: ms === null ? null : now + ms }))
}
