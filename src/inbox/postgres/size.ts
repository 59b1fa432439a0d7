import type { Rows } from './database.ts'

/** What a body takes of the database for each of its bytes, at the most: those of some lengths leave much of a page empty. */
export const bodyOverhead = 1.4

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
