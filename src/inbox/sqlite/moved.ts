import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'

/** What a file says of its move to PostgreSQL, in its table `meta`. */
export interface MoveMarks {
  /** Drawn when the move began: the database that the rows go to has it too. */
  readonly id: number
  /** When it began; null: it is over. Milliseconds since 1970. */
  readonly movingAt: number | null
  /** When it was over, and found complete. */
  readonly movedAt: number | null
}

const names = { id: 'move_id', movingAt: 'moving_at', movedAt: 'moved_at' } as const

/** Null for a file that nobody moves. */
export function readMoveMarks(db: Database): MoveMarks | null {
  const value = db.prepare<[string], number>('SELECT value FROM meta WHERE name = ?').pluck()
  const id = value.get(names.id)
  if (id === undefined) return null
  return { id, movingAt: value.get(names.movingAt) ?? null, movedAt: value.get(names.movedAt) ?? null }
}

/** Null takes the marks away. */
export function writeMoveMarks(db: Database, marks: MoveMarks | null): void {
  const put = db.prepare('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM meta WHERE name = ?')
  db.transaction(() => {
    for (const [part, name] of Object.entries(names)) {
      const value = marks?.[part as keyof MoveMarks] ?? null
      if (value === null) remove.run(name)
      else put.run(name, value)
    }
  })()
}

/**
 * Throws `config_invalid` for a file that was moved, or is being moved: what it would accept from now on is in no copy, and what it
 * would run is run elsewhere too.
 */
export function refuseMoved(db: Database, file: string): void {
  const marks = readMoveMarks(db)
  if (marks === null) return
  const { movingAt, movedAt } = marks
  const what =
    movedAt === null
      ? `is being moved to PostgreSQL since ${timeOf(movingAt)}: end that with the same \`onchain-inbox move\` as before`
      : `was moved to PostgreSQL at ${timeOf(movedAt)}: name that database in INBOX_DATABASE_URL`
  throw new InboxError(
    'config_invalid',
    `${file} ${what}. To serve the file again, while no replica serves the other one: \`onchain-inbox move --undo --from sqlite:<file>\``,
  )
}

function timeOf(ms: number | null): string {
  return ms === null ? 'a time that is not known' : new Date(ms).toISOString()
}
