import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'
import { writeMeta } from './connection.ts'

/** Marks of a move to PostgreSQL, in the table `meta`. */
export interface MoveMarks {
  /** Random number of the move; the target database has the same. */
  readonly id: number
  /** When the move began: milliseconds since 1970. Null once it has ended. */
  readonly movingAt: number | null
  /** When the move was verified and ended: milliseconds since 1970. */
  readonly movedAt: number | null
}

const names = { id: 'move_id', movingAt: 'moving_at', movedAt: 'moved_at' } as const

/** Null for a file that was never moved. */
export function readMoveMarks(db: Database): MoveMarks | null {
  const value = db.prepare<[string], number>('SELECT value FROM meta WHERE name = ?').pluck()
  const id = value.get(names.id)
  if (id === undefined) return null
  return { id, movingAt: value.get(names.movingAt) ?? null, movedAt: value.get(names.movedAt) ?? null }
}

/** Null removes the marks. */
export function writeMoveMarks(db: Database, marks: MoveMarks | null): void {
  const { id = null, movingAt = null, movedAt = null } = marks ?? {}
  writeMeta(db, { [names.id]: id, [names.movingAt]: movingAt, [names.movedAt]: movedAt })
}

/**
 * Throws `config_invalid` for a file that was moved or is being moved: new events would be missing in the copy, and runs would execute
 * twice.
 */
export function refuseMoved(db: Database, file: string): void {
  const marks = readMoveMarks(db)
  if (marks === null) return
  const { movingAt, movedAt } = marks
  const what =
    movedAt === null
      ? `is being moved to PostgreSQL since ${timeOf(movingAt)}: run the same \`onchain-inbox move\` again to finish it`
      : `was moved to PostgreSQL at ${timeOf(movedAt)}: set INBOX_DATABASE_URL to that database`
  throw new InboxError(
    'config_invalid',
    `${file} ${what}. To serve the file again, stop all replicas of that database and run \`onchain-inbox move --undo --from sqlite:<file>\``,
  )
}

function timeOf(ms: number | null): string {
  return ms === null ? 'an unknown time' : new Date(ms).toISOString()
}
