import type { Database } from 'better-sqlite3'
import { Kysely, sql, SqliteDialect } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/sqlite'
import type { Clock } from '../../base/clock.ts'
import type { Tables, ViewStore } from '../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../views/views.ts'

/** The read side of the store over a connection of its own. `clock` decides which values of a handler's state have expired. */
export const createViews = (db: Database, clock: Pick<Clock, 'now'>): Views => createSharedViews(viewStoreOf(db), clock)

export function viewStoreOf(db: Database): ViewStore {
  const pages = (name: string) => Number(db.pragma(name, { simple: true }))
  return {
    db: kyselyOf<Tables>(db),
    attemptOrder: 'attempt.rowid',
    jsonRows: jsonArrayFrom,
    bodyHas: (pattern) => sql`cast(body.raw as text) like ${pattern} escape '\\'`,
    sizeBytes: async () => (pages('page_count') - pages('freelist_count')) * pages('page_size'),
  }
}

/** Kysely over a connection that it doesn't close. */
export function kyselyOf<T>(db: Database): Kysely<T> {
  const database = { prepare: (text: string) => db.prepare(text), close: () => {} }
  return new Kysely<T>({ dialect: new SqliteDialect({ database }) })
}
