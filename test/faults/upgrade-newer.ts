import { sql } from 'kysely'
import { writeFileSync } from 'node:fs'
import { migrations, type NumberedMigration } from '../../src/inbox/sqlite/migrate.ts'

/** Four digits: the one behind the last that there really is. */
export const nextNumber = String(migrations.length + 1).padStart(4, '0')

/**
 * `node --import` of this makes a program of the next version, in all of its threads: it knows one more migration, which
 * touches every run and every event. With HALT it stops in its midst, for good, once it has written that file.
 */
const next: NumberedMigration = {
  name: `${nextNumber}-note`,
  oldest: migrations.length + 1,
  load: async () => ({
    async up(db) {
      await sql`ALTER TABLE event ADD COLUMN note TEXT`.execute(db)
      await sql`ALTER TABLE run ADD COLUMN note TEXT`.execute(db)
      await sql`UPDATE event SET note = 'of ' || id`.execute(db)
      const halt = process.env['HALT']
      if (halt !== undefined) {
        writeFileSync(halt, '')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
      }
      await sql`UPDATE run SET note = 'of ' || id`.execute(db)
      await sql`CREATE INDEX event_note ON event (note)`.execute(db)
    },
  }),
}

;(migrations as NumberedMigration[]).push(next)
