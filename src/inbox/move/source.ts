import { existsSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { openReaderConnection, openWriterConnection } from '../sqlite/connection.ts'
import { createErrorGroups } from '../sqlite/error-groups.ts'
import { toOpenError } from '../sqlite/failure.ts'
import { lockDatabase, type DatabaseLock } from '../sqlite/lock.ts'
import { lookAtDatabase, newestSchema } from '../sqlite/look.ts'
import { migrations, refuseNewer } from '../sqlite/migrate.ts'
import { readMoveMarks, writeMoveMarks, type MoveMarks } from '../sqlite/moved.ts'
import { openFileStore } from '../sqlite/open.ts'
import { state } from '../sqlite/statements.ts'
import { firstKey, killedMeta, movedMeta, quoted, type Key, type MovedTable, type Row } from './tables.ts'

/** How far the inbox has counted, so that no number is given again. */
export interface Counts {
  readonly lastSeq: number
  readonly lastRunId: number
  /** All bodies so far. */
  readonly bodyBytes: number
}

/** A SQLite file that nobody serves meanwhile. */
export interface Source {
  readonly file: string
  /** Null: its move has not begun. */
  marks(): MoveMarks | null
  /**
   * Opens the file once as `serve` does, so that what was in flight when the last process died counts as crashed by the same rules, and
   * marks it: from then on nobody serves it, so that it stays as it is, however often the move is interrupted.
   */
  begin(id: number): Promise<void>
  /** Up to so many rows behind a key, in order; fewer where they are large. None: that was all. */
  rows(table: MovedTable, after: Key | null): readonly Row[]
  count(table: MovedTable): number
  /** Those rows of `meta` that move, as they are in a cluster, by their names. */
  meta(): readonly Row[]
  counts(): Counts
  /** All is copied, and was verified. */
  finish(): Promise<void>
  /** Takes the marks away. */
  undo(): Promise<void>
  close(): void
}

const mostRows = 1_000
const mostBytes = 4 * 1024 * 1024

/**
 * Locks a file. Throws `not_found`, `database_in_use` while a process serves it, `database_older`, `database_newer`, `database_corrupt`.
 */
export function openSource(given: string, clock: Pick<Clock, 'now'> & Clock): Source {
  if (!existsSync(given)) throw new InboxError('not_found', `there is no database at ${given}`)
  let lock: DatabaseLock = lockDatabase(given)
  const { file } = lock
  let db: ReturnType<typeof openReaderConnection>
  try {
    checkSchema(file)
    db = openReaderConnection(file)
  } catch (error) {
    lock.release()
    throw toOpenError(file, error)
  }

  async function write(marks: MoveMarks | null): Promise<void> {
    const writer = await openWriterConnection(file)
    try {
      writeMoveMarks(writer, marks)
    } finally {
      writer.close()
    }
  }

  function number(sql: string): number {
    return Number(db.prepare(sql).pluck().get() ?? 0)
  }

  return {
    file,
    marks: () => readMoveMarks(db),
    async begin(id) {
      db.close()
      lock.release()
      const opened = await openFileStore(file, { clock })
      try {
        writeMoveMarks(opened.db, { id, movingAt: clock.now(), movedAt: null })
      } finally {
        opened.close()
      }
      lock = lockDatabase(file)
      db = openReaderConnection(file)
    },
    rows(table, after) {
      const found: Row[] = []
      let bytes = 0
      const key = quoted(table.key.map((column) => (table.isByRowid ? 'rowid' : column)))
      const columns = Object.keys(table.columns).filter((column) => !(table.isByRowid && table.key.includes(column)))
      const wanted = `${table.isByRowid ? `rowid AS ${quoted(table.key)}, ` : ''}${quoted(columns)}`
      const places = table.key.map(() => '?').join(', ')
      const statement = db.prepare<unknown[], Row>(
        `SELECT ${wanted} FROM "${table.name}" WHERE (${key}) > (${places}) ORDER BY ${key} LIMIT ${mostRows}`,
      )
      for (const row of statement.iterate(...(after ?? firstKey(table)))) {
        found.push(withFlags(table, row))
        bytes += sizeOf(row)
        if (bytes >= mostBytes) break
      }
      return table.name === 'run' ? found.map(withErrorGroup(db)) : found
    },
    count: ({ name }) => number(`SELECT count(*) FROM "${name}"`),
    meta: () =>
      db
        .prepare<unknown[], Row>(
          `SELECT name, value FROM meta WHERE name IN (${movedMeta.map(() => '?').join(', ')})
           UNION ALL SELECT '${killedMeta}', value FROM meta WHERE name = 'served_at'
             AND EXISTS (SELECT 1 FROM meta WHERE name = 'served_to_end' AND value = 0) ORDER BY name`,
        )
        .all(...movedMeta),
    counts: () => ({
      // `verified_seq` is not below the mark beside the file, which knows of events that were lost.
      lastSeq: Math.max(
        number('SELECT max(seq) FROM event'),
        number(`SELECT value FROM meta WHERE name = 'verified_seq'`),
      ),
      lastRunId: Math.max(
        number('SELECT max(id) FROM run'),
        number(`SELECT value FROM meta WHERE name = 'last_run_id'`),
      ),
      bodyBytes: number('SELECT total FROM body ORDER BY seq DESC LIMIT 1'),
    }),
    async finish() {
      const marks = readMoveMarks(db)
      if (marks !== null) await write({ ...marks, movingAt: null, movedAt: clock.now() })
    },
    undo: () => write(null),
    close() {
      db.close()
      lock.release()
    },
  }
}

function checkSchema(file: string): void {
  const { schema, damage } = lookAtDatabase(file, { isChecked: false })
  if (damage !== null || schema === null) {
    const problem = damage ?? 'it has none of the tables of this program'
    throw new InboxError('database_corrupt', `${file} is damaged, or no database of this program: ${problem}`)
  }
  if (schema === newestSchema) return
  const db = openReaderConnection(file)
  try {
    refuseNewer(db, file, migrations)
  } finally {
    db.close()
  }
  throw new InboxError(
    'database_older',
    `${file} has the schema ${schema}, and only one with ${newestSchema} can be moved: run \`onchain-inbox migrate\` with ` +
      `INBOX_DATABASE_URL=sqlite:${file} before`,
  )
}

/** What died before groups of errors were stored has to be found by them, too. */
function withErrorGroup(db: Parameters<typeof createErrorGroups>[0]): (run: Row) => Row {
  const groupOf = createErrorGroups(db)
  return (run) => {
    const isDead = run['state'] === state.held || run['state'] === state.dead
    return isDead && run['error_group'] === null ? { ...run, error_group: groupOf(Number(run['id'])) } : run
  }
}

function withFlags(table: MovedTable, row: Row): Row {
  const flags = Object.entries(row).filter(([column]) => table.columns[column] === 'flag')
  return flags.length === 0
    ? row
    : { ...row, ...Object.fromEntries(flags.map(([column, value]) => [column, value === 1])) }
}

function sizeOf(row: Row): number {
  return Object.values(row).reduce<number>((sum, value) => {
    return sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8)
  }, 0)
}
