import type { HandlerRoute } from '../port.ts'
import type { Rows } from './database.ts'
import { fromStored, toStored } from './text.ts'

/**
 * Which handlers each replica has, in `inbox.replica.handlers`: who accepts creates the runs, of the handlers that it has. What others
 * have besides, or have otherwise, must not miss what it accepts: so a handler that is not the same everywhere has a backfill, which
 * ends in the act that finds it the same everywhere. A replica counts from when it says what it has until it leaves or an act counts it
 * out: then its column is null, and if it was only silent it learns so by that.
 */

/** Handlers by their names, each with what it takes: what takes other events is another handler. */
export type HandlerSet = ReadonlyMap<string, string>

export function handlerSetOf(routes: readonly HandlerRoute[]): HandlerSet {
  return new Map(routes.map((route) => [route.name, takenBy(route)]))
}

function takenBy({ types }: HandlerRoute): string {
  return JSON.stringify(types.toSorted())
}

/** What is the same in both. */
export function commonOf(one: HandlerSet, other: HandlerSet): HandlerSet {
  return new Map([...one].filter(([name, takes]) => other.get(name) === takes))
}

export function isSameSet(one: HandlerSet, other: HandlerSet): boolean {
  return one.size === other.size && commonOf(one, other).size === one.size
}

/** As the column has it. */
export type StoredSet = Readonly<Record<string, string>>

export function toStoredSet(set: HandlerSet): string {
  return JSON.stringify(Object.fromEntries([...set].map(([name, takes]) => [toStored(name), toStored(takes)])))
}

export function fromStoredSet(stored: StoredSet): HandlerSet {
  return new Map(Object.entries(stored).map(([name, takes]) => [fromStored(name), fromStored(takes)]))
}

/** SQL: whether the replicas `r` for which a condition holds, of those that count, do not all have the handler `h` alike. */
export function differsAmong(condition: string): string {
  return `(SELECT count(DISTINCT coalesce(r.handlers ->> h.name, '')) > 1 FROM inbox.replica r
    WHERE r.handlers IS NOT NULL AND ${condition})`
}

/** SQL: what the replicas that count take by the handler `h`, as a JSON array of texts, each of which is one of `HandlerSet`. */
export const variantsOf = `(SELECT coalesce(json_agg(DISTINCT r.handlers ->> h.name)::text, '[]') FROM inbox.replica r WHERE r.handlers ? h.name)`

/** The patterns of types that one of the variants takes. */
export function patternsIn(variants: string): string[] {
  return (JSON.parse(variants) as string[]).flatMap((takes) => JSON.parse(fromStored(takes)) as string[])
}

/** SQL: whether the replica `r` has said that it is there within so many milliseconds. */
export function beatenWithin(ms: string): string {
  return `r.beat_at > clock_timestamp() - make_interval(secs => ${ms}::float8 / 1000)`
}

/** No silent replica without this handler counts any more; to be called in a transaction that is alone, as the other two. */
export async function countOutSilent(trx: Rows, route: HandlerRoute, silentMs: number): Promise<void> {
  await trx.query(
    `UPDATE inbox.replica r SET handlers = NULL
     WHERE r.handlers IS NOT NULL AND coalesce(r.handlers ->> $1, '') <> $2 AND NOT ${beatenWithin('$3')}`,
    [toStored(route.name), toStored(takenBy(route)), silentMs],
  )
}

/** Whether whoever accepts creates runs of the handler. Not so where nobody has it any more, because the last one has just left. */
export async function isEverywhere(trx: Rows, handlerId: number): Promise<boolean> {
  const [row] = await trx.query<{ isSo: boolean }>(
    `SELECT NOT ${differsAmong('true')} AND EXISTS (SELECT FROM inbox.replica r WHERE r.handlers ? h.name) AS "isSo"
     FROM inbox.handler h WHERE h.id = $1`,
    [handlerId],
  )
  return row?.isSo ?? false
}

/**
 * Handlers that are not the same everywhere get what comes from now on by their backfills. To be called wherever what replicas have has
 * changed. `back`: of a replica that may have been counted out: of what it has accepted since it last counted, the handlers that it has not
 * got lack their runs, whether or not anybody has them now.
 */
export async function openBackfills(
  trx: Rows,
  back: { readonly afterSeq: number; readonly handlers: HandlerSet } | null,
): Promise<void> {
  await trx.query(
    `UPDATE inbox.handler h SET backfill_seq = greatest(f.seq, h.first_seq),
       backfill_from = CASE WHEN h.backfill_seq IS NULL THEN 0 ELSE h.backfill_from END
     FROM (SELECT coalesce($1::bigint, c.last_seq) + 1 AS seq FROM inbox.counter c) f
     WHERE (h.backfill_seq IS NULL OR h.backfill_seq > greatest(f.seq, h.first_seq))
       AND (${differsAmong('true')} OR NOT $2::jsonb ? h.name)`,
    back === null ? [null, null] : [back.afterSeq, toStoredSet(back.handlers)],
  )
}
