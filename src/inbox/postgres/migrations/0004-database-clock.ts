import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Times come from the clock of the database: what replicas noted to agree on theirs goes. Older programs pass times, and can't run on it. */
export const databaseClock: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`DROP TABLE inbox.clock_shift`.execute(db)
    await sql`DELETE FROM inbox.meta WHERE name = 'seen_at'`.execute(db)
  },
}
