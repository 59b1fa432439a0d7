import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Registrations with the service. `state` is the index of a name in `subscriptionStates` of the port, `events` is JSON. */
export const subscription: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`CREATE TABLE subscription (
      id INTEGER PRIMARY KEY,
      digest TEXT NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      secret_label TEXT NOT NULL,
      state INTEGER NOT NULL,
      at INTEGER NOT NULL,
      answer TEXT
    ) STRICT`.execute(db)
  },
}
