import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { keptTallyMinutes } from '../../tally.ts'

/**
 * `tally`: accepted events per minute (of receipt, since 1970), type and network ('' for none). `hour`: the first and the last accept
 * sequence number received in an hour. `secret_use`: when a secret verified events. All three are filled from the stored events.
 * An index ends with `seq` by itself, because that is the rowid.
 */
export const tallies: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const statements = [
      // Pages that 0004 freed in the same transaction stay overwritten.
      `PRAGMA secure_delete = ON`,
      `CREATE TABLE tally (
         minute INTEGER NOT NULL,
         type TEXT NOT NULL,
         network TEXT NOT NULL,
         count INTEGER NOT NULL,
         PRIMARY KEY (minute, type, network)
       ) STRICT, WITHOUT ROWID`,
      `CREATE TABLE hour (hour INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL) STRICT`,
      `CREATE TABLE secret_use (
         label TEXT PRIMARY KEY,
         first_at INTEGER NOT NULL,
         last_at INTEGER NOT NULL,
         count INTEGER NOT NULL
       ) STRICT, WITHOUT ROWID`,
      `INSERT INTO hour SELECT received_at / 3600000, min(seq), max(seq) FROM event GROUP BY 1`,
      `INSERT INTO secret_use SELECT secret_label, min(received_at), max(received_at), count(*) FROM event GROUP BY 1`,
      `INSERT INTO tally
         SELECT received_at / 60000, type, substr(coalesce(key, ''), 1, max(0, instr(coalesce(key, ''), ':') - 1)), count(*) FROM event
         WHERE received_at >= ((SELECT max(hour) FROM hour) * 60 - ${keptTallyMinutes}) * 60000
         GROUP BY 1, 2, 3`,
      `CREATE INDEX event_key ON event (key) WHERE key IS NOT NULL`,
      `PRAGMA secure_delete = OFF`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
}
