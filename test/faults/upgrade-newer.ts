import { writeFileSync } from 'node:fs'
import { migrations, type Migration } from '../../src/inbox/sqlite/migrations.ts'

/** The number of the next migration, with four digits. */
export const nextNumber = String(migrations.length + 1).padStart(4, '0')

/**
 * With `node --import` of this file, a process knows one more migration, in all of its threads. The migration changes every run and event.
 * With HALT, it writes that file halfway and then hangs.
 */
const next: Migration = {
  name: `${nextNumber}-note`,
  oldest: migrations.length + 1,
  up(db) {
    db.exec(
      `ALTER TABLE event ADD COLUMN note TEXT; ALTER TABLE run ADD COLUMN note TEXT; UPDATE event SET note = 'of ' || id`,
    )
    const halt = process.env['HALT']
    if (halt !== undefined) {
      writeFileSync(halt, '')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    }
    db.exec(`UPDATE run SET note = 'of ' || id; CREATE INDEX event_note ON event (note)`)
  },
}

;(migrations as Migration[]).push(next)
