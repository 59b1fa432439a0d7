import type { Clock } from '../../base/clock.ts'
import type { ActionStep } from '../operator-actions.ts'
import { eventStatuses, type PruneLimits } from '../port.ts'
import type { Database, Rows } from './database.ts'
import { progressOf } from './progress.ts'
import type { Step } from './notes.ts'

/** A transaction that deletes more would hold up acknowledgements. */
const mostPruned = 200
const mostLookedAt = 1_000
/** What is younger is not pruned for its size: it may be looked at, or come again. */
const shortestKeptMs = 3_600_000
/** Of the size that the database may have, so much is left to the newest bodies, whatever else takes its space. */
const eventsShare = 1 / 2
const quarantineShare = 1 / 4

/** A body as pruning looks at it. */
interface KeptBody {
  readonly seq: number
  readonly receivedAt: number
  /** How many bytes the bodies of its table had up to it, itself among them. */
  readonly total: number
  readonly bytes: number
  /** Whether a run of its event has not ended, or is a dead letter. */
  readonly isOpen: boolean
}

export interface PruningOptions {
  readonly db: Database
  readonly clock: Clock
}

/** One time of pruning, in two acts of many steps. */
export interface Pruning {
  readonly pruneEvents: Step
  readonly pruneQuarantined: Step
  /** Whether there was more than there may be, and is, after all steps. */
  readonly isTooLarge: () => boolean
}

/**
 * Takes old bodies out of the database, a bounded piece at a time: what is looked at before a step holds nobody up. PostgreSQL uses the
 * space again once its autovacuum has been there; so what was pruned counts as gone at once.
 */
export function createPruning(options: PruningOptions): (limits: PruneLimits) => Promise<Pruning> {
  const { db, clock } = options
  return async ({ receivedBefore, maxBytes }) => {
    /** Bytes of which the database is to get rid. */
    let surplus = maxBytes === null ? 0 : (await measureSize(db)).usedBytes - maxBytes

    /**
     * Which bodies of those that stand in the order in which they were received are to go: what comes behind a young one is younger.
     * `after`: where to look next.
     */
    function choose(bodies: readonly KeptBody[], lastTotal: number, share: number) {
      const now = clock.now()
      const chosen: KeptBody[] = []
      let [left, after]: [number, number | null] = [surplus, bodies.at(-1)?.seq ?? null]
      for (const body of bodies) {
        const isOver = left > 0 && lastTotal - body.total >= (maxBytes ?? 0) * share
        const isOld = isOver && body.receivedAt < now - shortestKeptMs
        if (isOld || body.receivedAt < (receivedBefore ?? -Infinity)) {
          if (body.isOpen) continue
          chosen.push(body)
          left -= body.bytes * bodyOverhead
          if (chosen.length === mostPruned) {
            after = body.seq
            break
          }
        } else if (body.receivedAt <= now) {
          after = null
          break
        }
        // Else it came while the clock was wrong.
      }
      return { chosen, after }
    }

    /** What a step did, whose transaction may be tried again. */
    function pruned(bodies: readonly KeptBody[], surplusBefore: number, after: number | null): ActionStep {
      surplus = surplusBefore - bodies.reduce((sum, { bytes }) => sum + bytes * bodyOverhead, 0)
      return { done: bodies.length, after }
    }

    return {
      async pruneEvents(from) {
        const end = await firstBackfill(db)
        const [last] = await db.query<{ total: number }>(`SELECT body_bytes AS total FROM inbox.counter`)
        const bodies = await db.query<KeptBody>(keptBodies, [from, mostLookedAt])
        const before = bodies.filter(({ seq }) => seq < end)
        const { chosen, after } = choose(before, last?.total ?? 0, eventsShare)
        const next = before.length < bodies.length && after === before.at(-1)?.seq ? null : after
        if (chosen.length === 0) return { done: 0, after: next }
        const surplusBefore = surplus
        return async (trx) => pruned(await pruneBodies(trx, chosen, await firstBackfill(trx)), surplusBefore, next)
      },
      async pruneQuarantined(from) {
        const bodies = await db.query<KeptBody>(quarantinedBodies, [from, mostLookedAt])
        const [last] = await db.query<{ total: number }>(`SELECT total FROM inbox.quarantine ORDER BY seq DESC LIMIT 1`)
        const { chosen, after } = choose(bodies, last?.total ?? 0, quarantineShare)
        if (chosen.length === 0) return { done: 0, after }
        const surplusBefore = surplus
        return async (trx) => {
          const seqs = chosen.map(({ seq }) => seq)
          const rows = await trx.query<{ seq: number }>(
            `DELETE FROM inbox.quarantine WHERE seq = ANY ($1::bigint[]) RETURNING seq`,
            [seqs],
          )
          const gone = new Set(rows.map(({ seq }) => seq))
          const done = chosen.filter(({ seq }) => gone.has(seq))
          return pruned(done, surplusBefore, after)
        }
      },
      isTooLarge: () => surplus > 0,
    }
  }
}

/**
 * From there on in the accept sequence a new handler is still to get what is stored; Infinity: none is. A handler without a definition
 * gets nothing. Before any replica has registered nobody knows which have none.
 */
async function firstBackfill(rows: Rows): Promise<number> {
  const [row] = await rows.query<{ seq: number | null }>(
    `SELECT min(h.backfill_seq) AS seq FROM inbox.handler h
     WHERE EXISTS (SELECT FROM inbox.definition d WHERE d.handler = h.name) OR NOT EXISTS (SELECT FROM inbox.definition)`,
  )
  return row?.seq ?? Infinity
}

const keptBodies = `
  SELECT b.seq, e.received_at AS "receivedAt", b.total, b.bytes, coalesce(open.is_there, false) AS "isOpen"
  FROM (SELECT seq, total, length(raw) AS bytes FROM inbox.body WHERE seq > $1 ORDER BY seq LIMIT $2) b
  CROSS JOIN LATERAL (SELECT o.received_at FROM inbox.event o WHERE o.seq = b.seq OFFSET 0) e
  LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.run r WHERE r.event_seq = b.seq AND r.state <= 5 LIMIT 1) open ON true
  ORDER BY b.seq`

const quarantinedBodies = `
  SELECT seq, received_at AS "receivedAt", total, length(raw) AS bytes, false AS "isOpen"
  FROM inbox.quarantine WHERE seq > $1 ORDER BY seq LIMIT $2`

/**
 * The events stay, with what became of them; all else about them goes. Gives those that were pruned: not those that got a run since they
 * were looked at, or that a new handler is to get.
 */
async function pruneBodies(trx: Rows, chosen: readonly KeptBody[], end: number): Promise<readonly KeptBody[]> {
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
  const gone = new Set(rows.map(({ seq }) => seq))
  return ended.flatMap(({ body }) => (gone.has(body.seq) ? [body] : []))
}

/** Numbers of runs come from a sequence: none is given again. */
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

/** What a body takes of the database for each of its bytes, at the most: those of some lengths leave much of a page empty. */
const bodyOverhead = 1.4

interface SizeRow {
  readonly total: number
  readonly bodyTable: number
  readonly bodyBytes: number
  readonly lastSeq: number
  /** How many bytes came before the oldest body that is there. */
  readonly bytesBefore: number | null
  /** How many there are, as autovacuum counted them last; negative: it has not. */
  readonly bodies: number
}

/**
 * How large the inbox is, in bytes: `totalBytes` of its files, and `usedBytes` without the space in the table of bodies that pruned ones
 * left, which those to come will take. PostgreSQL tells nobody how much that is; so it is estimated from the bodies since the oldest
 * that is there, or from how many there are.
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
  if (row === undefined) throw new Error('the counter of the inbox is not there: inbox.counter has to have one row')
  const { total, bodyTable, bodyBytes, lastSeq, bodies, bytesBefore } = row
  const sinceOldest = bodyBytes - (bytesBefore ?? bodyBytes)
  const ofAsMany = bodies < 0 || lastSeq === 0 ? Infinity : (bodies * bodyBytes) / lastSeq
  const kept = Math.min(bodyTable, bodyOverhead * Math.min(sinceOldest, ofAsMany))
  return { totalBytes: total, usedBytes: total - bodyTable + kept }
}
