import { existsSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { InboxError } from '../../base/errors.ts'
import { openReaderConnection, openWriterConnection } from '../sqlite/connection.ts'
import { toOpenError } from '../sqlite/failure.ts'
import { lockDatabase } from '../sqlite/lock.ts'
import { newestSchema } from '../sqlite/inspect.ts'
import { appliedMigrations, refuseNewer } from '../sqlite/migrate.ts'
import { migrations } from '../sqlite/migrations.ts'
import { readMoveMarks, writeMoveMarks, type MoveMarks } from '../sqlite/moved.ts'
import { openFileStore } from '../sqlite/open.ts'

/** A table of both databases, read from their catalogues. Its columns exist in both. */
export interface MovedTable {
  readonly name: string
  /** Rows are copied in the order of these columns: the primary key, or the row number that PostgreSQL has as a column. */
  readonly key: readonly string[]
  /** PostgreSQL types by column. */
  readonly columns: Readonly<Record<string, string>>
  /** The column that PostgreSQL numbers. */
  readonly identity: string | null
  /** True when the key is no column of the file but its row number. */
  readonly isByRowid: boolean
}

export type Value = number | string | boolean | Uint8Array | null
/** Values by column. */
export type Row = Readonly<Record<string, Value>>
/** The values of `MovedTable.key`. */
export type Key = readonly (number | string)[]

/** The highest numbers in use. */
export interface Counts {
  readonly lastSeq: number
  readonly lastRunId: number
  /** Bytes of all bodies so far. */
  readonly bodyBytes: number
}

/** A column of the file; `pk` is its place in the primary key from 1, or 0. */
export interface FileColumn {
  readonly table: string
  readonly name: string
  readonly pk: number
}

/** Rows of `meta` that belong to the inbox, not to the file: pauses, when it was last served, missing sequence numbers. */
const movedMeta = ['missing_seqs', 'paused', 'seen_at', 'served_at']
/** The row of a replica that accepts deliveries. If the process is killed, the row stays. */
const killedMeta = 'serving:sqlite'

/** Maximum rows and bytes of a batch. */
const maxRows = 1_000
const maxBytes = 4 * 1024 * 1024

export type MovedFile = ReturnType<typeof openMovedFile>

/** Locks a file. Throws `not_found`, `database_in_use` while a process serves it, `database_older`, `database_newer`, `database_corrupt`. */
export function openMovedFile(path: string, clock: Clock) {
  if (!existsSync(path)) throw new InboxError('not_found', `there is no database at ${path}`)
  let lock = lockDatabase(path)
  const { file } = lock
  let db: ReturnType<typeof openReaderConnection>
  try {
    db = openNewest(file)
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

  const number = (sql: string) => Number(db.prepare(sql).pluck().get() ?? 0)

  /** The next rows after a key: up to 1,000 rows or 4 MiB. */
  function rows(table: MovedTable, after: Key | null): readonly Row[] {
    const keys = keysIn(table).join(', ')
    const condition = after === null ? '' : `WHERE (${keys}) > (${after.map(() => '?').join(', ')})`
    const statement = db.prepare<unknown[], Row>(
      `SELECT ${columnsIn(table)} FROM "${table.name}" ${condition} ORDER BY ${keys} LIMIT ${maxRows}`,
    )
    const batch: Row[] = []
    let bytes = 0
    for (const row of statement.iterate(...(after ?? []))) {
      batch.push(row)
      for (const value of Object.values(row)) {
        bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
      }
      if (bytes >= maxBytes) break
    }
    return batch
  }

  return {
    path: file,
    /** Marks of the move; null: there was none. */
    marks: () => readMoveMarks(db),
    /**
     * Opens the file once as `serve` does, so that attempts in flight when the last process died count as crashed. Then marks it: nobody
     * can serve it from then on, so it stays unchanged however often the move is interrupted.
     */
    async mark(id: number) {
      db.close()
      lock.release()
      const opened = await openFileStore(file, { clock })
      try {
        writeMoveMarks(opened.db, { id, movedAt: null })
      } finally {
        opened.close()
      }
      lock = lockDatabase(file)
      db = openReaderConnection(file)
    },
    columns: () =>
      db
        .prepare<[], FileColumn>(
          `SELECT t.name AS "table", c.name, c.pk FROM sqlite_schema t, pragma_table_info(t.name) c
           WHERE t.type = 'table' ORDER BY t.name, c.cid`,
        )
        .all(),
    rows,
    count: ({ name }: MovedTable) => number(`SELECT count(*) FROM "${name}"`),
    /** The moved rows of `meta`, as a cluster has them. */
    meta: () =>
      db
        .prepare<unknown[], { name: string; value: number }>(
          `SELECT name, value FROM meta WHERE name IN (${movedMeta.map(() => '?').join(', ')})
           UNION ALL SELECT '${killedMeta}', value FROM meta WHERE name = 'served_at'
             AND EXISTS (SELECT 1 FROM meta WHERE name = 'served_to_end' AND value = 0)`,
        )
        .all(...movedMeta),
    counts: (): Counts => ({
      // `verified_seq` includes the mark in the `.seq` file, which knows of lost events.
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
    /** Records the end of the move. */
    finish: (id: number) => write({ id, movedAt: clock.now() }),
    /** Removes the marks. */
    undo: () => write(null),
    close() {
      db.close()
      lock.release()
    },
  }
}

/** The key's columns, as SQL expressions. */
function keysIn(table: MovedTable): readonly string[] {
  return table.isByRowid ? ['rowid'] : table.key.map((name) => `"${name}"`)
}

/** Columns by the names that they have in PostgreSQL, as SQL. */
function columnsIn({ isByRowid, key, columns }: MovedTable): string {
  return Object.keys(columns)
    .map((name) => (isByRowid && key.includes(name) ? `rowid AS "${name}"` : `"${name}"`))
    .join(', ')
}

/** Opens a file for reading. Throws unless it has the schema of this program. */
function openNewest(file: string): ReturnType<typeof openReaderConnection> {
  const db = openReaderConnection(file)
  try {
    refuseNewer(db, file, migrations)
    const schema = appliedMigrations(db).at(-1)
    if (schema === newestSchema) return db
    if (schema === undefined) throw new InboxError('database_corrupt', `${file} is no onchain-inbox database`)
    throw new InboxError(
      'database_older',
      `${file} must have the schema ${newestSchema} to be moved (got ${schema}): first run \`onchain-inbox migrate\` with ` +
        `INBOX_DATABASE_URL=sqlite:${file}`,
    )
  } catch (error) {
    db.close()
    throw error
  }
}

export function keyOf(table: MovedTable, row: Row): Key {
  return table.key.map((column) => row[column] as number | string)
}
