import { randomUUID } from 'node:crypto'
import { retryPeriodMs, outlookAfter, type Span } from '../../base/retry-schedule.ts'
import { createGapWatch, maxSilenceMs, maxGapsKept, maxGapsWatched, minGapMs, watchedMs } from '../gap-watch.ts'
import type { Acknowledged, GapRecord } from '../port.ts'
import type { OnWarning } from '../types.ts'
import type { Database, Rows } from './database.ts'
import { note, setMeta } from './records.ts'

export interface GapsOptions {
  readonly db: Database
  readonly onWarning: OnWarning
}

export type Gaps = ReturnType<typeof createGaps>

/** Records gaps, in which no replica accepted deliveries, and counts late events that were created in them. */
export function createGaps({ db, onWarning }: GapsOptions) {
  /** Name of this replica's heartbeat in `inbox.meta`. */
  const heartbeat = heartbeatPrefix + randomUUID()
  const late = createGapWatch()
  let isServing = false
  let lastBeat = 0

  /** Watches the latest gaps. The counts so far must be stored. */
  async function watch(rows: Rows): Promise<void> {
    late.watch(
      await rows.query(
        `SELECT id, from_at AS "from", to_at AS "to", lost_from AS "lostFrom", lost_to AS "lostTo" FROM inbox.gap
         WHERE to_at > inbox.now_ms() - $1 ORDER BY lost_to IS NULL, id DESC LIMIT $2`,
        [watchedMs, maxGapsWatched],
      ),
    )
  }

  /** Stores the counts since the last call. Keeps them for the next call if that fails. */
  async function flush(): Promise<void> {
    const counts = late.take()
    for (const [index, { id, arrived, arrivedLost }] of counts.entries()) {
      try {
        await db.query(
          `UPDATE inbox.gap SET arrived = arrived + $1, arrived_lost = arrived_lost + $2, last_arrival_at = inbox.now_ms() WHERE id = $3`,
          [arrived, arrivedLost, id],
        )
      } catch (error) {
        for (const { putBack } of counts.slice(index)) putBack()
        throw error
      }
    }
  }

  /** Returns the gap if all replicas stood still; null if only this one did. */
  async function resume(now: number): Promise<Span | null> {
    return db.exclusively(async (trx) => {
      const last = await lastAccepted(trx, now, heartbeat)
      const silence = last !== null && now - last.at > maxSilenceMs ? { from: last.at, to: now } : null
      if (silence !== null) await record(trx, silence, 'stood_still')
      await setMeta(trx, heartbeat, now)
      await watch(trx)
      return silence
    })
  }

  return {
    /** Counts a new, stored event as late if it was created in a watched gap. */
    arrived: (event: Parameters<typeof late.arrived>[0]) => late.arrived(event),
    /** This replica accepts deliveries from now on. If none did until now, records the time since the last one did as a gap. */
    async start() {
      await flush()
      const now = await readNow(db)
      await db.exclusively(async (trx) => {
        const last = await lastAccepted(trx, now, heartbeat)
        if (last !== null && !last.isServedByOthers && now - last.at >= minGapMs) {
          await record(trx, { from: last.at, to: now }, last.wasStopped ? 'stopped' : 'killed')
        }
        // Deletes the heartbeats of dead replicas.
        await trx.query(
          `DELETE FROM inbox.meta WHERE starts_with(name, $1) AND abs(value - $2::bigint) >= $3::bigint`,
          [heartbeatPrefix, now, stillServesMs],
        )
        await setMeta(trx, 'served_at', now)
        await setMeta(trx, heartbeat, now)
        await watch(trx)
      })
      isServing = true
      lastBeat = now
    },
    /** Heartbeat while deliveries are accepted. Call every few seconds. */
    async beat() {
      await flush()
      if (!isServing) return
      const now = await readNow(db)
      if (now - lastBeat <= maxSilenceMs) await setMeta(db, heartbeat, now)
      else {
        const gap = await resume(now)
        if (gap !== null) {
          const [from, to] = [gap.from, gap.to].map((ms) => new Date(ms).toISOString())
          onWarning('all replicas stood still', { from, to, advice: 'run onchain-inbox doctor' })
        }
      }
      lastBeat = now
    },
    /** This replica no longer accepts deliveries. */
    async end() {
      await flush()
      if (!isServing) return
      isServing = false
      await db.exclusively(async (trx) => {
        await setMeta(trx, 'served_at', await readNow(trx))
        await trx.query(`DELETE FROM inbox.meta WHERE name = $1`, [heartbeat])
      })
    },
    flush,
    /** Acknowledges gaps with lost events, and missing numbers that a moved SQLite file brought along. */
    acknowledge: (by?: string) =>
      db.exclusively(async (trx): Promise<Acknowledged> => {
        const gaps = await trx.query(
          `UPDATE inbox.gap SET acknowledged_at = inbox.now_ms() WHERE lost_to IS NOT NULL AND acknowledged_at IS NULL RETURNING id`,
        )
        const [missing] = await trx.query<{ value: number }>(
          `DELETE FROM inbox.meta WHERE name = 'missing_seqs' RETURNING value`,
        )
        const acknowledged = { missingSeqs: missing?.value ?? 0, gaps: gaps.length }
        if (acknowledged.missingSeqs > 0 || acknowledged.gaps > 0) await note(trx, 'gaps.acknowledge', acknowledged, by)
        return acknowledged
      }),
  }
}

/** The database's time, so that replicas with different clocks find the same gaps. */
async function readNow(rows: Rows): Promise<number> {
  const [row] = await rows.query<{ now: number }>('SELECT inbox.now_ms() AS now')
  if (row === undefined) throw new Error('the database returned no time')
  return row.now
}

async function record(trx: Rows, { from, to }: Span, kind: GapRecord['kind']): Promise<void> {
  const outages = await trx.query<Span>(
    `SELECT from_at AS "from", to_at AS "to" FROM inbox.gap WHERE to_at > $1 AND kind <> 'restored' ORDER BY id`,
    [from - retryPeriodMs],
  )
  const { retriedUntil, lost } = outlookAfter({ from, to }, outages)
  await trx.query(
    `INSERT INTO inbox.gap (from_at, to_at, kind, retried_until, lost_from, lost_to) VALUES ($1, $2, $3, $4, $5, $6)`,
    [from, to, kind, retriedUntil, lost?.from ?? null, lost?.to ?? null],
  )
  await trx.query(
    `DELETE FROM inbox.gap WHERE id <= (SELECT max(id) FROM inbox.gap) - $1::bigint AND (lost_to IS NULL OR acknowledged_at IS NOT NULL)`,
    [maxGapsKept],
  )
}

/** A serving replica writes a heartbeat more often than this. Its row in `inbox.meta` is deleted when it stops cleanly. */
const stillServesMs = 10_000
const heartbeatPrefix = 'serving:'

/**
 * When any replica last accepted deliveries; null if none ever did. `isServedByOthers`: another replica than that of `heartbeat` has a
 * recent one. `wasStopped`: the last replica stopped cleanly.
 */
async function lastAccepted(
  rows: Rows,
  now: number,
  heartbeat: string,
): Promise<{ readonly at: number; readonly isServedByOthers: boolean; readonly wasStopped: boolean } | null> {
  // A later time is from before the clock was set back.
  await rows.query(
    `DELETE FROM inbox.meta WHERE (name = 'served_at' OR starts_with(name, $1)) AND value >= $2::bigint + $3::bigint`,
    [heartbeatPrefix, now, stillServesMs],
  )
  const marks = await rows.query<{ name: string; value: number }>(
    `SELECT name, value FROM inbox.meta WHERE name = 'served_at' OR starts_with(name, $1)`,
    [heartbeatPrefix],
  )
  if (marks.length === 0) return null
  const [last] = await rows.query<{ receivedAt: number }>(
    `SELECT received_at AS "receivedAt" FROM inbox.event ORDER BY seq DESC LIMIT 1`,
  )
  // A time in the future is from before the clock was set back.
  const received = last !== undefined && last.receivedAt <= now ? last.receivedAt : 0
  const heartbeats = marks.filter(({ name }) => name !== 'served_at')
  return {
    at: Math.max(received, ...marks.map(({ value }) => value)),
    isServedByOthers: heartbeats.some(({ name, value }) => name !== heartbeat && now - value < stillServesMs),
    wasStopped: heartbeats.length === 0,
  }
}
