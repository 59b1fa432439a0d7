import { createHash, randomInt } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { keyOf, openMovedFile, type Key, type MovedFile, type MovedTable, type Row } from './moved-file.ts'
import { notEmptyMessage, moveMarks, openTarget, type Target, type TargetRows } from './target.ts'

export interface MoveOptions {
  /** The SQLite file. */
  readonly from: string
  /** The URL of the PostgreSQL database. */
  readonly to: string
  readonly clock: Clock
  /** `done`: the completed share, from 0 to 1. */
  readonly onProgress: (done: number, text: string) => void
}

export interface MoveReport {
  /** `finished`: an earlier call had moved and verified everything. */
  readonly result: 'moved' | 'finished'
  readonly from: string
  /** Without a password. */
  readonly to: string
  /** Rows on both sides, and how many of them were compared byte by byte; empty if nothing was verified. */
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly compared: number }[]
}

/** Maximum compared rows of a table. Larger tables are compared in windows, spread evenly over the keys. */
const maxCompared = 1_000
const windows = 20

/**
 * Moves a SQLite file to PostgreSQL: marks the file, then copies all rows with their ids and compares both sides, in one transaction. The
 * same call repeats an interrupted move.
 *
 * @throws InboxError `database_in_use` while either side is served, `database_older`, `usage` for a database with other rows,
 *   `database_corrupt` where the sides differ, `store_unavailable`
 */
export async function moveInbox(options: MoveOptions): Promise<MoveReport> {
  const file = openMovedFile(options.from, options.clock)
  try {
    const target = await openTarget(options.to)
    try {
      return await move(file, target, options)
    } finally {
      await target.close()
    }
  } finally {
    file.close()
  }
}

/** Removes the marks of a move, so that the file can be served again. Throws `database_in_use`, and `usage` for a file that never moved. */
export async function undoMove(from: string, clock: Clock): Promise<string> {
  const file = openMovedFile(from, clock)
  try {
    if (file.marks() === null) throw new InboxError('usage', `${file.path} was not moved: there is nothing to undo`)
    await file.undo()
    return file.path
  } finally {
    file.close()
  }
}

async function move(file: MovedFile, target: Target, { clock, onProgress }: MoveOptions): Promise<MoveReport> {
  const tables = await target.tables(file.columns())
  const report = { from: file.path, to: target.name }
  const [marks, targetId] = [file.marks(), await target.moveId()]
  // Replicas may have worked since, so nothing is compared.
  if (targetId !== null && targetId === marks?.id) {
    if (marks.movedAt === null) await file.finish(marks.id)
    return { result: 'finished', ...report, tables: [] }
  }
  if (typeof marks?.movedAt === 'number') {
    throw new InboxError(
      'usage',
      `${file.path} was moved to another database at ${new Date(marks.movedAt).toISOString()}; to move it again, first run ` +
        '`onchain-inbox move --undo`',
    )
  }
  if (targetId !== null) {
    throw new InboxError(
      'usage',
      notEmptyMessage(target.name, 'another file was moved there, or this one before its move was undone'),
    )
  }
  await target.refuseUsed(tables)
  const id = marks?.id ?? randomInt(1, 2 ** 47)
  if (marks === null) await file.mark(id)
  const compared = await target.fill(tables, async (rows) => {
    await copy(file, rows, tables, (done) => onProgress(done, 'copying'))
    await rows.settle(tables, file.counts(), [
      ...file.meta(),
      { name: moveMarks.id, value: id },
      { name: moveMarks.movedAt, value: clock.now() },
    ])
    onProgress(1, 'comparing')
    return verify(file, target.name, rows, tables)
  })
  await file.finish(id)
  return { result: 'moved', ...report, tables: compared }
}

async function copy(
  file: MovedFile,
  target: TargetRows,
  tables: readonly MovedTable[],
  onProgress: (done: number) => void,
): Promise<void> {
  const total = tables.reduce((sum, table) => sum + file.count(table), 0)
  let done = 0
  for (const table of tables) {
    for (let after: Key | null = null; ;) {
      const rows: readonly Row[] = file.rows(table, after)
      const last = rows.at(-1)
      if (last === undefined) break
      await target.insert(table, rows)
      after = keyOf(table, last)
      done += rows.length
      onProgress(done / total)
    }
  }
}

/** Compares the counts, the highest key and a sample of every table, and the counters. */
async function verify(
  file: MovedFile,
  targetName: string,
  target: TargetRows,
  tables: readonly MovedTable[],
): Promise<MoveReport['tables']> {
  const compared: { table: string; rows: number; compared: number }[] = []
  const differences: string[] = []
  for (const table of tables) {
    const { difference, ...counts } = await compare(file, target, table)
    compared.push({ table: table.name, ...counts })
    if (difference !== undefined) differences.push(`${table.name}: ${difference}`)
  }
  const counters = [file.counts(), await target.counts()].map((side) => JSON.stringify(side))
  if (counters[0] !== counters[1]) differences.push(`counters: expected ${counters[0]}, found ${counters[1]}`)
  if (differences.length === 0) return compared
  throw new InboxError(
    'database_corrupt',
    `the copy in ${targetName} differed from ${file.path} and was rolled back:\n  ${differences.join('\n  ')}`,
  )
}

/** `compared`: number of rows whose values were compared. `difference`: the first one found. */
async function compare(
  file: MovedFile,
  target: TargetRows,
  table: MovedTable,
): Promise<{ rows: number; compared: number; difference: string | undefined }> {
  const rows = file.count(table)
  const highest = String(file.highest(table))
  const targetRows = await target.count(table)
  const targetHighest = String(await target.highest(table))
  const differences: string[] = []
  if (targetRows !== rows) differences.push(`${rows} rows expected, found ${targetRows}`)
  if (targetHighest !== highest) differences.push(`the highest key is ${targetHighest}, expected ${highest}`)
  let compared = 0
  const starts = windowStarts(file, table, rows)
  for (const after of starts) {
    const expected = file.rows(table, after, maxCompared / starts.length)
    const actual = await target.rows(table, after, expected.length)
    const wrong = expected.find((row, index) => textOf(table, row) !== textOf(table, actual[index] ?? {}))
    compared += expected.length
    if (wrong !== undefined) {
      const name = table.key.map((column) => `${column} ${JSON.stringify(wrong[column])}`).join(', ')
      differences.push(`the row with ${name} differs`)
    }
  }
  return { rows, compared, difference: differences[0] }
}

/** The keys after which compared rows begin; null: before the first row. Only numbers can be spread evenly. */
function windowStarts(file: MovedFile, table: MovedTable, rows: number): readonly (Key | null)[] {
  const [first = {}] = file.rows(table, null, 1)
  const [from, to] = [Number(keyOf(table, first)[0]), Number(file.highest(table)?.[0])]
  if (rows <= maxCompared || Number.isNaN(from + to)) return [null]
  return Array.from({ length: windows }, (_, nth) =>
    table.key.map((column, index) => {
      if (index === 0) return Math.floor(from - 1 + ((to - from) * nth) / windows)
      return table.columns[column] === 'text' ? '' : 0
    }),
  )
}

/** All values of a row as JSON, with digests instead of bytes, like `TargetRows.rows`. */
function textOf(table: MovedTable, row: Row): string {
  const values = Object.keys(table.columns).map((column) => {
    const value = row[column] ?? null
    return value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : value
  })
  return JSON.stringify(values)
}
