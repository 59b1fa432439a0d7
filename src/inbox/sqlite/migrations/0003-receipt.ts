import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * How events came, who acted, and an order for the quarantine by reason. All of it is optional, and older programs leave it
 * empty. Headers are nearly always the same: an event names the set of them that it came with. `stored_ms` is when the
 * transaction that stored it began, in milliseconds after `received_at`. `error_group` is what the error of a dead letter is sorted
 * by; of those that died before there was this column it is looked up.
 */
export const receipt: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const statements = [
      `CREATE TABLE header_set (id INTEGER PRIMARY KEY, headers TEXT NOT NULL UNIQUE) STRICT`,
      `ALTER TABLE event ADD COLUMN stored_ms INTEGER`,
      `ALTER TABLE event ADD COLUMN header_set INTEGER`,
      `ALTER TABLE event ADD COLUMN trace TEXT`,
      `ALTER TABLE audit ADD COLUMN by_whom TEXT`,
      // So that dead letters are looked through without reading their rows.
      `ALTER TABLE run ADD COLUMN error_group TEXT`,
      `DROP INDEX run_died`,
      `CREATE INDEX run_died ON run (ended_at, id, handler_id, state, event_seq, error_group) WHERE state >= 4 AND state <= 5`,
      // So that a list by reason, and the sums of each reason, read no bodies.
      `CREATE INDEX quarantine_reason ON quarantine (reason, seq, secret_label, received_at, length(raw))`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
