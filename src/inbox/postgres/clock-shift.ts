import type { Database, Rows } from './database.ts'

/** That a clock was set back. */
export interface ClockShift {
  /** Its number, among all: one is taken once. */
  readonly id: number
  /** By how many milliseconds. */
  readonly backMs: number
  /** What is due by the new time as well stays as it is. Milliseconds since 1970. */
  readonly dueAfter: number
}

/** A statement looks at so many runs, and shifts so many of them: they are locked for as long as that takes, and nobody else waits. */
const mostLookedAt = 50_000
const mostShifted = 1_000

/**
 * Notes that the open runs are to be shifted, unless that has its number already: then somebody else was quicker. Runs that are created
 * from then on have the new time.
 */
export async function beginShift(db: Database, { id, backMs, dueAfter }: ClockShift): Promise<void> {
  // Alone, so that what was begun with the old time is there.
  await db.alone(async (trx) => {
    await trx.query(
      `INSERT INTO inbox.clock_shift (id, back_ms, due_after, next_run, last_run)
       SELECT $1, $2, $3, coalesce(min(id), 1), coalesce(max(id), 0) FROM inbox.run ON CONFLICT (id) DO NOTHING`,
      [id, backMs, dueAfter],
    )
    await noteSeen(trx, dueAfter)
  })
}

/** What is known of shifts. */
export interface ShiftsNoted {
  /** The number of the last one; 0: there was none. */
  readonly shifts: number
  /** Whether runs are still to be shifted. */
  readonly isShifting: boolean
}

/** Its columns, to be selected. */
export const shiftsNoted = `(SELECT coalesce(max(id), 0) FROM inbox.clock_shift) AS shifts,
  EXISTS (SELECT 1 FROM inbox.clock_shift WHERE next_run <= last_run) AS "isShifting"`

/** Has the next process that is alone begin with this time, in milliseconds since 1970. */
export async function noteSeen(rows: Rows, now: number): Promise<ShiftsNoted> {
  const [noted] = await rows.query<ShiftsNoted>(
    `INSERT INTO inbox.meta (name, value) VALUES ('seen_at', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value
     RETURNING ${shiftsNoted}`,
    [now],
  )
  return noted ?? { shifts: 0, isShifting: false }
}

/**
 * Shifts some of the runs of the oldest shift that is not done; false: there is none. How far it came is in the same statement, so
 * whoever goes on, each is shifted once. What was put off by the new time meanwhile cannot be told from the others, and comes early.
 */
export async function shiftSome(rows: Rows): Promise<boolean> {
  const moved = await rows.query<{ isMore: boolean }>(
    `WITH s AS MATERIALIZED (
       SELECT id, back_ms, due_after, next_run, least(next_run + ${mostLookedAt} - 1, last_run) AS to_run
       FROM inbox.clock_shift WHERE next_run <= last_run ORDER BY id LIMIT 1 FOR UPDATE
     ), late AS MATERIALIZED (
       SELECT r.id FROM s CROSS JOIN LATERAL (
         SELECT o.id FROM inbox.run o WHERE o.id >= s.next_run AND o.id <= s.to_run AND o.state + 0 < 5 AND o.run_at > s.due_after
         ORDER BY o.id LIMIT ${mostShifted} FOR NO KEY UPDATE OF o
       ) r
     ), shifted AS (
       UPDATE inbox.run r SET run_at = r.run_at - s.back_ms FROM late l, s WHERE r.id = l.id
     )
     UPDATE inbox.clock_shift c
     SET next_run = 1 + CASE WHEN (SELECT count(*) FROM late) = ${mostShifted} THEN (SELECT max(id) FROM late) ELSE s.to_run END
     FROM s WHERE c.id = s.id
     RETURNING c.next_run <= c.last_run OR EXISTS (SELECT 1 FROM inbox.clock_shift o WHERE o.id > c.id) AS "isMore"`,
  )
  return moved[0]?.isMore ?? false
}
