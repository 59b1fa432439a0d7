import type { StateEntry, StateQuery } from '../port.ts'
import { afterKey, prefixEnd } from '../state-keys.ts'
import type { Rows } from './database.ts'
import { fromStored, toStored } from './text.ts'

/** A query of state as the database is asked: of the stored keys from `from` on and before `to` the first `most`. */
export interface StateRange {
  readonly from: string
  readonly to: string
  readonly most: number
}

/** Pure. No stored key has U+0001 followed by the end, so what a key is followed by comes behind `to` of that key alone. */
export function rangeOf(query: StateQuery): StateRange {
  if ('key' in query) return { from: toStored(query.key), to: `${toStored(query.key)}\u0001`, most: 1 }
  const { prefix, after, limit } = query
  const from = after === null ? prefix : afterKey(after, prefix)
  return { from: toStored(from), to: toStored(prefixEnd(prefix)), most: limit }
}

/** What is stored of a handler's state; nothing of a handler that is not known. `now` in milliseconds since 1970. */
export async function readState(
  rows: Rows,
  handler: string,
  query: StateQuery,
  now: number,
): Promise<readonly StateEntry[]> {
  const { from, to, most } = rangeOf(query)
  const found = await rows.query<StateEntry>(
    `SELECT s.key, s.value, s.version, s.expires_at AS "expiresAt" FROM inbox.state s
     WHERE s.handler_id = (SELECT h.id FROM inbox.handler h WHERE h.name = $1) AND s.key >= $2 AND s.key < $3
       AND (s.expires_at IS NULL OR s.expires_at > $4)
     ORDER BY s.key LIMIT $5`,
    [toStored(handler), from, to, now, most],
  )
  return found.map(({ key, value, version, expiresAt }) => ({
    key: fromStored(key),
    value: fromStored(value),
    version,
    expiresAt,
  }))
}
