import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Which events handlers take: see `Definitions`. `route`: its types, order and key paths as JSON, `digest` its SHA-256. `since`: when it was
 * registered first. `unheld_at`: since when no replica holds it; null: one does. `counter.definitions` counts changes of the table.
 * Older programs create runs by the handlers that they have loaded themselves, and can't run on it.
 */
export const definitions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const statements = [
      `CREATE TABLE inbox.definition (
         handler text COLLATE "C" NOT NULL,
         digest text COLLATE "C" NOT NULL,
         route text NOT NULL,
         since bigint NOT NULL,
         unheld_at bigint,
         PRIMARY KEY (handler, digest)
       )`,
      `ALTER TABLE inbox.counter ADD definitions bigint NOT NULL DEFAULT 0`,
      `ALTER TABLE inbox.handler DROP first_seq`,
      `UPDATE inbox.replica SET handlers = NULL`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
