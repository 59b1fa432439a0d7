import { InboxError } from '../../base/errors.ts'
import type { Rows } from './database.ts'

/** Rows of `inbox.meta` about a move of a SQLite file to this database: its id, start and end. */
export const moveMarks = { id: 'move_id', movingAt: 'moving_at', movedAt: 'moved_at' } as const

/** Throws `store_unavailable` while a file is being moved to the database: events accepted now would conflict with copied ones. */
export async function refuseMoving(db: Rows): Promise<void> {
  const move = await findMove(db)
  if (move !== null) throw move
}

/** Returns an error if a file is being moved to the database, else null. */
export async function findMove(db: Rows): Promise<InboxError | null> {
  const [mark] = await db.query<{ value: number }>('SELECT value FROM inbox.meta WHERE name = $1', [moveMarks.movingAt])
  if (mark === undefined) return null
  return new InboxError(
    'store_unavailable',
    `a SQLite file is being moved to this database since ${new Date(mark.value).toISOString()}: restart when \`onchain-inbox move\` ` +
      'has ended. To resume a stopped move, run the same command again. To abandon it, DROP SCHEMA inbox CASCADE',
  )
}
