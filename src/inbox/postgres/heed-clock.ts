import type { Clock } from '../../base/clock.ts'
import { beginShift, noteSeen, shiftSome, shiftsNoted, type ShiftsNoted } from './clock-shift.ts'
import type { Database } from './database.ts'

/** Looks at the clock; to be called before what stores times or compares them. Throws as `db` does. */
export type Heed = () => Promise<void>

/** A clock is set back if it is so much behind the time that was seen before; less is how clocks are kept right. */
const setBackMs = 1_000
/** How exactly the database says when somebody was last at work. */
const noteMs = 500

/**
 * When the clock was set back, what is due goes back with it: nothing waits for the old time to come again. That is done once, however
 * many replicas share that clock: one that finds that somebody did it since it last looked leaves the runs alone. What was seen before a
 * start counts only where no other replica is at work: else it may be that their clocks differ.
 */
export async function heedClock(db: Database, clock: Clock): Promise<Heed> {
  const [before] = await db.query<ShiftsNoted & { seenAt: number | null; replicas: number }>(
    `SELECT (SELECT value FROM inbox.meta WHERE name = 'seen_at') AS "seenAt", ${shiftsNoted},
       (SELECT count(*) FROM inbox.replica WHERE beat_at > now() - interval '10 seconds') AS replicas`,
  )
  let latest = before !== undefined && before.replicas <= 1 ? (before.seenAt ?? 0) : 0
  let notedAt = latest
  let shifts = before?.shifts ?? 0
  let looking: Promise<void> | undefined
  let shifting: Promise<void> | undefined

  /** The rest of what is begun, in the background. Another look goes on with what it leaves. */
  async function goOn(): Promise<void> {
    while (await shiftSome(db));
  }

  async function shift(now: number): Promise<void> {
    await beginShift(db, { id: shifts + 1, backMs: latest - now, dueAfter: now })
    if (await shiftSome(db)) goOnLater()
  }

  function goOnLater(): void {
    shifting ??= goOn()
      .catch(() => {})
      .finally(() => (shifting = undefined))
  }

  async function look(now: number, wasSetBack: boolean): Promise<void> {
    if (wasSetBack) await shift(now)
    const said = await noteSeen(db, now)
    if (said.isShifting) goOnLater()
    notedAt = now
    // Somebody shifted meanwhile: if this clock was set back as well, then that was seen to.
    latest = said.shifts === shifts ? now : clock.now()
    shifts = said.shifts
  }

  const heed: Heed = () => {
    if (looking !== undefined) return looking
    const now = clock.now()
    const wasSetBack = now < latest - setBackMs
    if (!wasSetBack) latest = now
    if (!wasSetBack && Math.abs(now - notedAt) < noteMs) return done
    looking = look(now, wasSetBack).finally(() => (looking = undefined))
    return looking
  }
  await heed()
  return heed
}

const done = Promise.resolve()
