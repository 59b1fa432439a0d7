import { encodeCursor } from '../../cursor.ts'
import type { Page } from '../../port.ts'

/** A page of rows that are listed by their ids; one more than its `limit` was asked for. */
export function toPage<T extends { readonly id: number }>(rows: readonly T[], limit: number): Page<T> {
  const data = rows.slice(0, limit)
  const last = rows.length > limit ? data.at(-1) : undefined
  return { data, nextCursor: last === undefined ? null : encodeCursor(last.id) }
}
