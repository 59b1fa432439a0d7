import { sql } from 'kysely'
import { writeFileSync } from 'node:fs'
import { migrations, type NumberedMigration } from '../../src/inbox/sqlite/migrate.ts'

/** The number of the next migration, with four digits. */
export const nextNumber = String(migrations.length + 1).padStart(4, '0')

/**
 * With `node --import` of this file, a process knows one more migration, in all of its threads. The migration changes every run and event.
 * With HALT, it writes that file halfway and then hangs.
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
