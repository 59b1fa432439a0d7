import { createHash, randomInt } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { moveMarks } from '../sqlite/moved.ts'
import { keyOf, openMovedFile, type Key, type MovedFile, type MovedTable, type Row } from './moved-file.ts'
import { notEmptyMessage, openTarget, type Target, type TargetRows } from './target.ts'

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
  /** Rows on both sides, all of them compared; empty if nothing was copied. */
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
}

/**
 * Moves a SQLite file to PostgreSQL: marks the file, then copies all rows with their ids and compares each of them, in one transaction.
 * The same call repeats an interrupted move.
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
  const copied = await target.fill(tables, async (rows) => {
    const counts = await copy(file, rows, tables, (done) => onProgress(done, 'copying'))
    await rows.settle(tables, file.counts(), [
      ...file.meta(),
      { name: moveMarks.id, value: id },
      { name: moveMarks.movedAt, value: clock.now() },
    ])
    return counts
  })
  await file.finish(id)
  return { result: 'moved', ...report, tables: copied }
}

/** Copies all rows. Throws unless PostgreSQL stored each row unchanged, and no others. Returns the number of rows by table. */
async function copy(
  file: MovedFile,
  target: TargetRows,
  tables: readonly MovedTable[],
  onProgress: (done: number) => void,
): Promise<MoveReport['tables']> {
  const counts = tables.map((table) => ({ table: table.name, rows: file.count(table) }))
  const total = counts.reduce((sum, { rows }) => sum + rows, 0)
  const differs = (difference: string) =>
    new InboxError(
      'database_corrupt',
      `the copy in ${target.name} differed from ${file.path} and was rolled back: ${difference}`,
    )
  let done = 0
  for (const table of tables) {
    for (let after: Key | null = null; ;) {
      const rows: readonly Row[] = file.rows(table, after)
      const last = rows.at(-1)
      if (last === undefined) break
      const stored = await target.insert(table, rows)
      const wrong = rows.find((row, index) => textOf(table, row) !== textOf(table, stored[index] ?? {}))
      if (wrong !== undefined) {
        const name = table.key.map((column) => `${column} ${JSON.stringify(wrong[column])}`).join(', ')
        throw differs(`${table.name}: the row with ${name} differs`)
      }
      after = keyOf(table, last)
      done += rows.length
      onProgress(done / total)
    }
  }
  for (const { table, rows } of counts) {
    const found = await target.count(table)
    if (found !== rows) throw differs(`${table}: ${rows} rows expected, found ${found}`)
  }
  return counts
}

/** All values of a row as JSON, with digests instead of bytes, like `TargetRows.insert`. */
function textOf(table: MovedTable, row: Row): string {
  const values = Object.keys(table.columns).map((column) => {
    const value = row[column] ?? null
    return value instanceof Uint8Array ? createHash('sha256').update(value).digest('hex') : value
  })
  return JSON.stringify(values)
}
