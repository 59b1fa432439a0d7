import type { Rows } from '../database.ts'
import { createKept } from './kept.ts'

/** What a table is gone through by: columns of an index, and a place before the first row. */
export interface TableOrder {
  readonly table: string
  readonly columns: readonly string[]
  readonly begin: readonly unknown[]
}

export interface CountLimits {
  /** So many rows are counted anew whenever they are asked for. */
  readonly few: number
  readonly perStatement: number
}

const fewRows: CountLimits = { few: 5_000, perStatement: 5_000 }

/**
 * Counts the rows of a table from an index. Few are counted anew each time; of more, what was counted last is given for some time. They
 * are counted in parts, each of which takes a moment.
 */
export function createTableCount(
  db: Rows,
  { table, columns, begin }: TableOrder,
  { few, perStatement }: CountLimits = fewRows,
): () => Promise<number> {
  const names = columns.join()
  const places = columns.map((_, index) => `$${index + 2}`).join()
  const part = `WITH part AS MATERIALIZED (
      SELECT ${names} FROM inbox.${table} WHERE (${names}) > (${places}) ORDER BY ${names} LIMIT $1::integer
    )
    SELECT (SELECT count(*) FROM part) AS count, p.* FROM part p ORDER BY ${columns.map((name) => `${name} DESC`).join()} LIMIT 1`

  async function countPart(most: number, place: readonly unknown[]) {
    const [row] = await db.query<Readonly<Record<string, unknown>> & { readonly count: number }>(part, [most, ...place])
    return { count: row?.count ?? 0, place: columns.map((name) => row?.[name]) }
  }

  const many = createKept(async () => {
    let total = 0
    for (let place: readonly unknown[] = begin; ;) {
      const found = await countPart(perStatement, place)
      total += found.count
      if (found.count < perStatement) return total
      place = found.place
    }
  })
  return async () => {
    const { count } = await countPart(few + 1, begin)
    return count > few ? many() : count
  }
}
