import type { Undo } from './memo.ts'
import type { Statements } from './statements.ts'

/** More sets are not kept: a sender whose headers differ from delivery to delivery must not fill the file with them. */
const mostSets = 1_000

/** The sets of headers that events came with, each stored once. To be called inside a transaction. */
export function createHeaderSets(sql: Pick<Statements, 'headerSets' | 'insertHeaderSet'>, undo: Undo) {
  const ids = new Map(sql.headerSets.all().map(({ id, headers }) => [headers, id]))
  return {
    /** The id of a set that is known; null if there is none, or it is not. */
    knownId: (headers: string | null | undefined): number | null => ids.get(headers ?? '') ?? null,
    /** The id of one that is not known; null if there is none, or there are too many. */
    add(headers: string | null | undefined): number | null {
      if (headers === null || headers === undefined || ids.size >= mostSets) return null
      const id = Number(sql.insertHeaderSet.run(headers).lastInsertRowid)
      ids.set(headers, id)
      undo.note(() => ids.delete(headers))
      return id
    },
  }
}
