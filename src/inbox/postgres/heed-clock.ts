import type { Clock } from '../../clock.ts'
import type { Database } from './database.ts'

/** Looks at the clock; to be called before what stores times or compares them. Throws as `db` does. */
export type Heed = () => Promise<void>

/** A clock is set back if it is so much behind the time that was seen before; less is how clocks are kept right. */
const setBackMs = 1_000
/** How exactly the database says when somebody was last at work. */
const noteMs = 500

/**
 * When the clock was set back, what is due goes back with it: nothing waits for the old time to come again. What was seen before a start
 * counts only where no other replica is at work: else it may be that their clocks differ.
 */
export async function heedClock(db: Database, clock: Clock): Promise<Heed> {
  const [before] = await db.query<{ seenAt: number | null; replicas: number }>(
    `SELECT (SELECT value FROM inbox.meta WHERE name = 'seen_at') AS "seenAt",
       (SELECT count(*) FROM inbox.replica WHERE beat_at > now() - interval '10 seconds') AS replicas`,
  )
  let latest = before !== undefined && before.replicas <= 1 ? (before.seenAt ?? 0) : 0
  let noted = latest
  let looking: Promise<void> | undefined

  const heed: Heed = () => {
    if (looking !== undefined) return looking
    const now = clock.now()
    const wasSetBack = now < latest - setBackMs
    if (!wasSetBack) latest = now
    if (!wasSetBack && Math.abs(now - noted) < noteMs) return done
    looking = (wasSetBack ? shift(db, latest, now) : note(db, now)).then(() => void ([latest, noted] = [now, now]))
    looking = looking.finally(() => (looking = undefined))
    return looking
  }
  await heed()
  return heed
}

const done = Promise.resolve()

async function note(db: Pick<Database, 'query'>, now: number): Promise<void> {
  await db.query(
    `INSERT INTO inbox.meta (name, value) VALUES ('seen_at', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [now],
  )
}

/** Once, however many replicas share the clock that was set back: whoever finds the new time in its place leaves the runs alone. */
function shift(db: Database, latest: number, now: number): Promise<void> {
  return db.alone(async (trx) => {
    const [seen] = await trx.query<{ at: number }>(`SELECT value AS at FROM inbox.meta WHERE name = 'seen_at'`)
    // The last note of the old time may be so much older than it.
    if (seen === undefined || seen.at > now + setBackMs - noteMs) {
      // What is due by the new time as well may stay as it is.
      await trx.query(`UPDATE inbox.run SET run_at = run_at - $1::bigint WHERE state < 5 AND run_at > $2::bigint`, [
        Math.max(latest, seen?.at ?? 0) - now,
        now,
      ])
    }
    await note(trx, now)
  })
}
