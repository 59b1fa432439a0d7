import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'
import { writeMeta } from './connection.ts'

/** Marks of a move to PostgreSQL, in the table `meta`. */
export interface MoveMarks {
  /** Random number of the move; the target database has the same. */
  readonly id: number
  /** When the move ended: milliseconds since 1970. Null until the move ends. */
  readonly movedAt: number | null
}

/** Rows of `meta` about a move, in the file and in PostgreSQL. `movingAt`: earlier versions set it while they moved the file. */
export const moveMarks = { id: 'move_id', movingAt: 'moving_at', movedAt: 'moved_at' } as const

/** Null for a file that was never moved. */
export function readMoveMarks(db: Database): MoveMarks | null {
  const value = db.prepare<[string], number>('SELECT value FROM meta WHERE name = ?').pluck()
  const id = value.get(moveMarks.id)
  return id === undefined ? null : { id, movedAt: value.get(moveMarks.movedAt) ?? null }
}

/** Null removes the marks. */
export function writeMoveMarks(db: Database, marks: MoveMarks | null): void {
  const { id, movingAt, movedAt } = moveMarks
  writeMeta(db, { [id]: marks?.id ?? null, [movingAt]: null, [movedAt]: marks?.movedAt ?? null })
}

/** Throws `config_invalid` for a moved file: new events would be missing in the copy, and runs would execute twice. */
export function refuseMoved(db: Database, file: string): void {
  const marks = readMoveMarks(db)
  if (marks === null) return
  const state =
    marks.movedAt === null
      ? 'is being moved to PostgreSQL: run the same `onchain-inbox move` again to finish it'
      : `was moved to PostgreSQL at ${new Date(marks.movedAt).toISOString()}: set INBOX_DATABASE_URL to that database`
  throw new InboxError(
    'config_invalid',
    `${file} ${state}. To serve the file again, stop all replicas of that database and run \`onchain-inbox move --undo --from sqlite:<file>\``,
  )
}
