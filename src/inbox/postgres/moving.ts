import { InboxError } from '../../base/errors.ts'
import type { Rows } from './database.ts'

/** The rows of `inbox.meta` that say which SQLite file is copied into a database: which move it is, when it began, when it was over. */
export const moveMarks = { id: 'move_id', movingAt: 'moving_at', movedAt: 'moved_at' } as const

/** Throws `store_unavailable` for a database that a file is being moved to: what it would accept now would be in the way of the rest. */
export async function refuseMoving(db: Rows): Promise<void> {
  const move = await findMove(db)
  if (move !== null) throw move
}

/** What is to be said of a database that a file is being moved to; null: none is. */
export async function findMove(db: Rows): Promise<InboxError | null> {
  const [mark] = await db.query<{ value: number }>('SELECT value FROM inbox.meta WHERE name = $1', [moveMarks.movingAt])
  if (mark === undefined) return null
  return new InboxError(
    'store_unavailable',
    `a SQLite file is being moved to this database since ${new Date(mark.value).toISOString()}: start again when \`onchain-inbox move\` ` +
      'has ended. If it was stopped, the same command goes on; to give it up, DROP SCHEMA inbox CASCADE',
  )
}
