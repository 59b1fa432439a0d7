import type { Clock } from '../../base/clock.ts'
import { chooseBodies, type StoredBody } from '../choose-bodies.ts'
import { pruneBounds as bounds, type ActionStep, type Pruning } from '../operator-actions.ts'
import { eventStatuses, type PruneLimits } from '../port.ts'
import type { Database, Rows } from './database.ts'
import { progressOf } from './runs.ts'

interface PrunableBody extends StoredBody {
  readonly bytes: number
  /** True if a run of its event is open or a dead letter. */
  readonly isOpen: boolean
}

/**
 * Prunes old bodies in bounded steps. Reads before a step block nobody. Pruned bodies count as freed space at once, although PostgreSQL
 * reuses the space only after autovacuum.
 */
export function createPruning(db: Database, clock: Clock): (limits: PruneLimits) => Promise<Pruning<Rows>> {
  return async (limits) => {
    const { maxBytes } = limits
    /** Bytes above `maxBytes`. */
    let surplus = maxBytes === null ? 0 : (await measureSize(db)).usedBytes - maxBytes

    const choose = (bodies: readonly PrunableBody[], lastTotal: number, share: number, firstNeeded = Infinity) =>
      chooseBodies(bodies, {
        limits,
        now: clock.now(),
        lastTotal,
        share,
        surplus,
        freedBy: ({ bytes }) => bytes * bodyOverhead,
        firstNeeded,
        isOpen: ({ isOpen }) => isOpen,
      })

    /** Result of a step. Computes `surplus` from its value before the step, because the transaction may be retried. */
    function pruned(bodies: readonly PrunableBody[], surplusBefore: number, after: number | null): ActionStep {
      surplus = surplusBefore - bodies.reduce((sum, { bytes }) => sum + bytes * bodyOverhead, 0)
      return { done: bodies.length, after }
    }

    return {
      async pruneEvents(from) {
        const firstNeeded = await firstBackfill(db)
        const [last] = await db.query<{ total: number }>(`SELECT body_bytes AS total FROM inbox.counter`)
        const bodies = await db.query<PrunableBody>(storedBodies, [from, bounds.maxScanned])
        const { chosen, after } = choose(bodies, last?.total ?? 0, bounds.eventsShare, firstNeeded)
        if (chosen.length === 0) return { done: 0, after }
        const surplusBefore = surplus
        return async (trx) => pruned(await pruneBodies(trx, chosen, await firstBackfill(trx)), surplusBefore, after)
      },
      async pruneQuarantined(from) {
        const bodies = await db.query<PrunableBody>(quarantinedBodies, [from, bounds.maxScanned])
        const [last] = await db.query<{ total: number }>(`SELECT total FROM inbox.quarantine ORDER BY seq DESC LIMIT 1`)
        const { chosen, after } = choose(bodies, last?.total ?? 0, bounds.quarantineShare)
        if (chosen.length === 0) return { done: 0, after }
        const surplusBefore = surplus
        return async (trx) => {
          const seqs = chosen.map(({ seq }) => seq)
          const rows = await trx.query<{ seq: number }>(
            `DELETE FROM inbox.quarantine WHERE seq = ANY ($1::bigint[]) RETURNING seq`,
            [seqs],
          )
          const deletedSeqs = new Set(rows.map(({ seq }) => seq))
          const done = chosen.filter(({ seq }) => deletedSeqs.has(seq))
          return pruned(done, surplusBefore, after)
        }
      },
      end: async () => surplus > 0,
    }
  }
}

/**
 * First accept-sequence number that a backfill still needs; Infinity if none. Handlers without a definition don't count, except before any
 * replica has registered its handlers.
 */
async function firstBackfill(rows: Rows): Promise<number> {
  const [row] = await rows.query<{ seq: number | null }>(
    `SELECT min(h.backfill_seq) AS seq FROM inbox.handler h
     WHERE EXISTS (SELECT FROM inbox.definition d WHERE d.handler = h.name) OR NOT EXISTS (SELECT FROM inbox.definition)`,
  )
  return row?.seq ?? Infinity
}

const storedBodies = `
  SELECT b.seq, e.received_at AS "receivedAt", b.total, b.bytes, coalesce(open.is_there, false) AS "isOpen"
  FROM (SELECT seq, total, length(raw) AS bytes FROM inbox.body WHERE seq > $1 ORDER BY seq LIMIT $2) b
  CROSS JOIN LATERAL (SELECT o.received_at FROM inbox.event o WHERE o.seq = b.seq OFFSET 0) e
  LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.run r WHERE r.event_seq = b.seq AND r.state <= 5 LIMIT 1) open ON true
  ORDER BY b.seq`

const quarantinedBodies = `
  SELECT seq, received_at AS "receivedAt", total, length(raw) AS bytes, false AS "isOpen"
  FROM inbox.quarantine WHERE seq > $1 ORDER BY seq LIMIT $2`

/**
 * Deletes the bodies and runs of events, and stores their final statuses. Skips events that got a run since they were chosen, and events
 * that a backfill needs. Returns the pruned ones.
 */
async function pruneBodies(trx: Rows, chosen: readonly PrunableBody[], end: number): Promise<readonly PrunableBody[]> {
  const progress = await progressOf(
    trx,
    chosen.map(({ seq }) => seq),
  )
  const ended = chosen.flatMap((body) => {
    const now = progress.get(body.seq)
    return now === undefined || now.isOpen || body.seq >= end ? [] : [{ body, ...now }]
  })
  const rows = await trx.query<{ seq: number }>(pruneStatement, [
    ended.map(({ body }) => body.seq),
    ended.map(({ status }) => eventStatuses.indexOf(status)),
    ended.flatMap(({ runIds }) => runIds),
  ])
  const deletedSeqs = new Set(rows.map(({ seq }) => seq))
  return ended.flatMap(({ body }) => (deletedSeqs.has(body.seq) ? [body] : []))
}

/** Run ids come from a sequence, so deleted ones are not reused. */
const pruneStatement = `
  WITH kept AS (
    UPDATE inbox.event e SET final_status = s.status
    FROM unnest($1::bigint[], $2::smallint[]) s(seq, status) WHERE e.seq = s.seq
  ), items AS (DELETE FROM inbox.item WHERE run_id = ANY ($3::bigint[])
  ), attempts AS (DELETE FROM inbox.attempt WHERE run_id = ANY ($3::bigint[])
  ), runs AS (DELETE FROM inbox.run WHERE id = ANY ($3::bigint[])
  ), conflicts AS (UPDATE inbox.conflict SET raw = '' WHERE event_seq = ANY ($1::bigint[])
  )
  DELETE FROM inbox.body WHERE seq = ANY ($1::bigint[]) RETURNING seq`

/** Maximum bytes of disk space per byte of a body: bodies of some lengths leave much of a page empty. */
const bodyOverhead = 1.4

interface SizeRow {
  readonly total: number
  readonly bodyTable: number
  readonly bodyBytes: number
  readonly lastSeq: number
  /** Bytes of bodies before the oldest stored one; null if none is stored. */
  readonly bytesBefore: number | null
  /** Number of bodies, as autovacuum last estimated; negative if it never did. */
  readonly bodies: number
}

/**
 * Size of the inbox in bytes. `totalBytes`: its files. `usedBytes`: without the space of pruned bodies, which new bodies will reuse.
 * PostgreSQL doesn't report that space, so it is estimated: from the bytes since the oldest stored body, or from the number of bodies.
 */
export async function measureSize(rows: Rows): Promise<{ readonly totalBytes: number; readonly usedBytes: number }> {
  const [row] = await rows.query<SizeRow>(`
    SELECT c.body_bytes AS "bodyBytes", c.last_seq AS "lastSeq", f.before AS "bytesBefore",
      pg_total_relation_size('inbox.body') AS "bodyTable",
      (SELECT t.reltuples FROM pg_class t WHERE t.oid = 'inbox.body'::regclass) AS bodies,
      (SELECT sum(pg_total_relation_size(t.oid))::bigint FROM pg_class t
       WHERE t.relnamespace = 'inbox'::regnamespace AND t.relkind = 'r') AS total
    FROM inbox.counter c
    LEFT JOIN (SELECT total - length(raw) AS before FROM inbox.body ORDER BY seq LIMIT 1) f ON true`)
  if (row === undefined) throw new Error('inbox.counter must have one row (got none)')
  const { total, bodyTable, bodyBytes, lastSeq, bodies, bytesBefore } = row
  const bytesSinceOldest = bodyBytes - (bytesBefore ?? bodyBytes)
  const estimateByCount = bodies < 0 || lastSeq === 0 ? Infinity : (bodies * bodyBytes) / lastSeq
  const bodiesBytes = Math.min(bodyTable, bodyOverhead * Math.min(bytesSinceOldest, estimateByCount))
  return { totalBytes: total, usedBytes: total - bodyTable + bodiesBytes }
}
