import type { Database } from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'

/** Kysely over a connection that it doesn't close. */
export function kyselyOf<T>(db: Database): Kysely<T> {
  const database = { prepare: (text: string) => db.prepare(text), close: () => {} }
  return new Kysely<T>({ dialect: new SqliteDialect({ database }) })
}
