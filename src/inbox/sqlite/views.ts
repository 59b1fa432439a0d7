import type { Database } from 'better-sqlite3'
import { Kysely, sql, SqliteDialect } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/sqlite'
import type { Clock } from '../../base/clock.ts'
import type { Tables, ViewStore } from '../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../views/views.ts'

/** The read side of the store over its own connection. `clock` decides which state entries have expired. */
export const createViews = (db: Database, clock: Pick<Clock, 'now'>): Views => createSharedViews(viewStoreOf(db), clock)

/** Looks up a key in each block of 1,024 events of the index `event_key`. */
const seqsOfKeyText = `
  WITH RECURSIVE block (number) AS (
    SELECT :from >> 10 UNION ALL SELECT number + 1 FROM block WHERE number < (:below - 1) >> 10
  )
  SELECT seq FROM event INDEXED BY event_key
  WHERE seq >> 10 IN (SELECT number FROM block) AND substr(key, -8) = substr(:key, -8) AND key = :key
    AND seq < :below AND seq >= :from
  ORDER BY seq DESC LIMIT :limit`

export function viewStoreOf(db: Database): ViewStore {
  const readPragma = (name: string) => Number(db.pragma(name, { simple: true }))
  return {
    db: kyselyOf(db),
    attemptOrder: 'attempt.rowid',
    jsonRows: jsonArrayFrom,
    bodyHas: (pattern) => sql`cast(body.raw as text) like ${pattern} escape '\\'`,
    async seqsOfKey(key, { below, from }, limit) {
      const rows = db.prepare<unknown[], number>(seqsOfKeyText).pluck()
      return rows.all({ key, below, from, limit })
    },
    sizeBytes: async () => (readPragma('page_count') - readPragma('freelist_count')) * readPragma('page_size'),
  }
}

/** Kysely over a connection. The caller closes the connection. */
function kyselyOf(db: Database): Kysely<Tables> {
  const database = { prepare: (text: string) => db.prepare(text), close: () => {} }
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database }) })
}
