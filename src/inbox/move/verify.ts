import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Source } from './source.ts'
import { firstKey, keyOf, killedMeta, movedMeta, tables, type Key, type MovedTable, type Row } from './tables.ts'
import type { Target } from './target.ts'

/** How much of a table is where, and what it comes to: SHA-256 of all its rows in their order, in hexadecimal digits. */
export interface Side {
  readonly rows: number
  readonly digest: string
}

export interface TableReport {
  readonly table: string
  readonly source: Side
  readonly target: Side
  /** What is wrong first, for people; null: nothing. */
  readonly difference: string | null
}

/** Reads every row on both sides, and compares them. `onRows` is told of each that was. */
export async function verifyTables(
  source: Source,
  target: Target,
  onRows: (rows: number) => void,
): Promise<TableReport[]> {
  const reports: TableReport[] = []
  for (const table of tables) reports.push(await verifyTable(table, source, target, onRows))
  reports.push(compareRows('meta', source.meta(), await target.meta([...movedMeta, killedMeta])))
  reports.push(compareRows('counters', [{ ...source.counts() }], [{ ...(await target.counts()) }]))
  return reports
}

async function verifyTable(
  table: MovedTable,
  source: Source,
  target: Target,
  onRows: (rows: number) => void,
): Promise<TableReport> {
  const [ours, theirs] = [createSide(table), createSide(table)]
  let difference: string | null = null
  let after: Key = firstKey(table)
  for (;;) {
    const rows = source.rows(table, after)
    const last = rows.at(-1)
    // Behind the last row of the file there is to be none.
    const to = last === undefined ? null : keyOf(table, last)
    const found = await target.rows(table, after, to, to === null ? 1 : rows.length + 1)
    difference ??= firstDifference(table, rows.map(ours.add), found.map(theirs.add))
    onRows(rows.length)
    if (to === null) break
    after = to
  }
  return { table: table.name, source: ours.end(), target: theirs.end(), difference }
}

interface Line {
  readonly key: Key
  readonly text: string
}

function createSide(table: MovedTable) {
  const hash = createHash('sha256')
  let rows = 0
  return {
    add: (row: Row): Line => {
      const text = `${JSON.stringify(Object.keys(table.columns).map((column) => comparable(row[column] ?? null)))}\n`
      hash.update(text)
      rows++
      return { key: keyOf(table, row), text }
    },
    end: (): Side => ({ rows, digest: hash.digest('hex') }),
  }
}

/** Bytes by what they come to, as the database gives them. */
function comparable(value: Row[string]): Row[string] {
  return value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : (value ?? null)
}

function firstDifference(table: MovedTable, ours: readonly Line[], theirs: readonly Line[]): string | null {
  for (let at = 0; at < Math.max(ours.length, theirs.length); at++) {
    const [our, their] = [ours[at], theirs[at]]
    if (our?.text === their?.text) continue
    const name = (line: Line) =>
      table.key.map((column, index) => `${column} ${JSON.stringify(line.key[index])}`).join(', ')
    if (their === undefined) return our === undefined ? null : `the row with ${name(our)} is missing`
    if (our === undefined) return `the file has no row with ${name(their)}`
    return isDeepStrictEqual(our.key, their.key)
      ? `the row with ${name(our)} is another`
      : `where the row with ${name(our)} is expected, there is one with ${name(their)}`
  }
  return null
}

/** A few rows that are at hand. */
function compareRows(table: string, ours: readonly Row[], theirs: readonly Row[]): TableReport {
  const textOf = (rows: readonly Row[]) =>
    JSON.stringify(rows.map((row) => Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1))))
  const side = (rows: readonly Row[]): Side => ({
    rows: rows.length,
    digest: createHash('sha256').update(textOf(rows)).digest('hex'),
  })
  const isSame = textOf(ours) === textOf(theirs)
  const difference = isSame ? null : `expected ${textOf(ours)}, there is ${textOf(theirs)}`
  return { table, source: side(ours), target: side(theirs), difference }
}
