import { Kysely, PostgresDialect, sql, type PostgresPool } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/postgres'
import type { Clock } from '../../base/clock.ts'
import type { Tables, ViewStore } from '../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../views/views.ts'
import type { Rows } from './database.ts'
import { measureSize } from './prune.ts'

/** The read side of the store. `clock` decides which state entries have expired. */
export const createViews = (db: Rows, clock: Pick<Clock, 'now'>): Views => createSharedViews(viewStoreOf(db), clock)

interface ClusterTables extends Tables {
  readonly definition: { readonly handler: string; readonly unheld_at: number | null }
}

/** `sizeBytes` is the estimate that pruning uses. */
function viewStoreOf(db: Rows): ViewStore {
  const tables = kyselyOf<Tables>(db)
  return {
    db: tables,
    async seqsOfKey(key, { below, from }, limit) {
      const events = tables.selectFrom('event').select('seq').where('key', '=', key)
      const inRange = events.where('seq', '<', below).where('seq', '>=', from)
      // Ordered like the index, so that the planner always uses it.
      const rows = await inRange.orderBy('key', 'desc').orderBy('seq', 'desc').limit(limit).execute()
      return rows.map(({ seq }) => seq)
    },
    async loadedHandlers() {
      const loaded = kyselyOf<ClusterTables>(db)
        .selectFrom('definition')
        .select('handler')
        .where('unheld_at', 'is', null)
      return new Set((await loaded.execute()).map(({ handler }) => handler))
    },
    attemptOrder: 'attempt.seq',
    jsonRows: jsonArrayFrom,
    bodyHas: (pattern) => sql`convert_from(body.raw, 'UTF8') collate "C" ilike ${pattern} escape '\\'`,
    sizeBytes: async () => Math.round((await measureSize(db)).usedBytes),
  }
}

/** Kysely over the tables of the inbox. */
function kyselyOf<T>(db: Rows): Kysely<T> {
  const client = {
    async query(text: string, values: readonly unknown[]) {
      const rows = await db.query(text, values)
      return { command: 'SELECT', rowCount: rows.length, rows }
    },
    release: () => {},
  }
  const pool = { connect: async () => client, end: async () => {} }
  return new Kysely<T>({ dialect: new PostgresDialect({ pool: pool as unknown as PostgresPool }) }).withSchema('inbox')
}
