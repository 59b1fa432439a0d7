import type { IndexStatus } from '../../index-port.ts'
import { indexOff, statusOf } from '../../index-status.ts'
import type { Rows } from '../database.ts'
import { indexVersion } from './schema.ts'

interface ProgressRow {
  /** Null until somebody has begun to fill it, as the next two. */
  readonly version: number | null
  readonly seq: number | null
  readonly begunAt: number | null
  readonly newest: number
  readonly waitingSince: number | null
  readonly sizeBytes: number
}

/** How far the index is, whoever fills it. `openedAt`: of this replica; before that nothing waited for it. Throws what a statement does. */
export async function readStatus(db: Rows, openedAt: number, now: number): Promise<IndexStatus> {
  const [row] = await db.query<ProgressRow>(
    `SELECT m.version, m.seq, m.begun_at AS "begunAt", c.last_seq AS newest,
       (SELECT e.received_at FROM inbox.event e WHERE e.seq > coalesce(m.seq, 0) ORDER BY e.seq LIMIT 1) AS "waitingSince",
       (SELECT sum(pg_total_relation_size(t.oid))::bigint FROM pg_class t
        WHERE t.relnamespace = 'inbox'::regnamespace AND t.relkind = 'r' AND t.relname LIKE 'index\\_%') AS "sizeBytes"
     FROM inbox.counter c LEFT JOIN inbox.index_meta m ON true`,
  )
  if (row === undefined) return indexOff('the database is being emptied')
  const { version, seq, begunAt, newest, waitingSince, sizeBytes } = row
  if (version !== null && version > indexVersion) return indexOff('a newer version of this program keeps it')
  // What is of an older version is about to be emptied.
  const indexedSeq = version === indexVersion ? (seq ?? 0) : 0
  const progress = { indexedSeq, behind: Math.max(0, newest - indexedSeq), waitingSince, sizeBytes }
  return statusOf(progress, null, Math.max(openedAt, begunAt ?? 0), now)
}
