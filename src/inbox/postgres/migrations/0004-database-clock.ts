import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Times come from the database's clock, so the data for synchronizing the replicas' clocks goes. Older programs can't run on this schema. */
export const databaseClock: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`DROP TABLE inbox.clock_shift`.execute(db)
    await sql`DELETE FROM inbox.meta WHERE name = 'seen_at'`.execute(db)
  },
}
