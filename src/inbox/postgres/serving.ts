import type { Rows } from './database.ts'

/** A replica that is at work says so more often. */
const stillServesMs = 10_000

/** When deliveries are last known to have been taken, by whichever replica. */
export interface LastTaken {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Whether a replica takes them still, as far as can be told. */
  readonly goesOn: boolean
  /** Whether the last one had the time to say that it ends. */
  readonly ended: boolean
}

interface MetaRow {
  readonly name: string
  readonly value: number
}

const prefix = 'serving:'

/** Of all replicas but this one, `id`. Null: they never were. */
export async function lastTaken(rows: Rows, now: number, id: string): Promise<LastTaken | null> {
  const found = await rows.query<MetaRow>(
    `SELECT name, value FROM inbox.meta WHERE name = 'served_at' OR starts_with(name, $1)`,
    [prefix],
  )
  if (found.length === 0) return null
  const [last] = await rows.query<{ receivedAt: number }>(
    `SELECT received_at AS "receivedAt" FROM inbox.event ORDER BY seq DESC LIMIT 1`,
  )
  // A time that is yet to come was seen before the clock was set back.
  const received = last !== undefined && last.receivedAt <= now ? last.receivedAt : 0
  const said = Math.max(...found.map(({ value }) => value))
  const others = found.filter(({ name }) => name !== 'served_at' && name !== prefix + id)
  return {
    at: Math.max(said, received),
    goesOn: others.some(({ value }) => now - value < stillServesMs),
    ended: !found.some(({ name }) => name !== 'served_at'),
  }
}

/** Says that a replica takes deliveries. */
export async function sayServing(rows: Rows, now: number, id: string): Promise<void> {
  await setMeta(rows, prefix + id, now)
}

/** Says it of one that begins, and forgets those that died. */
export async function beginServing(rows: Rows, now: number, id: string): Promise<void> {
  await rows.query(`DELETE FROM inbox.meta WHERE starts_with(name, $1) AND abs(value - $2::bigint) >= $3::bigint`, [
    prefix,
    now,
    stillServesMs,
  ])
  await setMeta(rows, 'served_at', now)
  await sayServing(rows, now, id)
}

/** Says that one takes no more. */
export async function endServing(rows: Rows, now: number, id: string): Promise<void> {
  await setMeta(rows, 'served_at', now)
  await rows.query(`DELETE FROM inbox.meta WHERE name = $1`, [prefix + id])
}

async function setMeta(rows: Rows, name: string, value: number): Promise<void> {
  await rows.query(
    `INSERT INTO inbox.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [name, value],
  )
}
