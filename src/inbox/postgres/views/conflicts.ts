import { decodeDigestCursor, encodeDigestCursor } from '../../cursor.ts'
import type { ConflictRecord, ViewPort } from '../../port.ts'
import type { Rows } from '../database.ts'
import { fromStored, toStored } from '../text.ts'

interface ConflictRow extends ConflictRecord {
  readonly seq: number
}

interface DetailRow extends ConflictRow {
  readonly raw: Buffer
  readonly keptRaw: Buffer | null
}

const columns = `c.event_seq AS seq, (SELECT e.id FROM inbox.event e WHERE e.seq = c.event_seq) AS "eventId",
  (SELECT e.type FROM inbox.event e WHERE e.seq = c.event_seq) AS type,
  c.digest, c.received_at AS "receivedAt", c.count, length(c.raw) AS "sizeBytes"`
const below = `SELECT ${columns} FROM inbox.conflict c
  WHERE (c.received_at, c.event_seq, c.digest) < ($1::bigint, $2::bigint, $3)
  ORDER BY c.received_at DESC, c.event_seq DESC, c.digest DESC LIMIT $4::bigint`
const one = `SELECT ${columns}, c.raw, (SELECT b.raw FROM inbox.body b WHERE b.seq = c.event_seq) AS "keptRaw"
  FROM inbox.conflict c WHERE c.event_seq = (SELECT k.seq FROM inbox.event k WHERE k.id = $1) AND c.digest = $2`

/** Views of other bodies that came under a known id. */
export function createConflictViews(db: Rows): Pick<ViewPort, 'conflicts' | 'conflict'> {
  return {
    async conflicts({ limit, cursor }) {
      const [at, seq, digest] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0, ''] : decodeDigestCursor(cursor)
      const rows = await db.query<ConflictRow>(below, [at, seq, digest, limit + 1])
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        data: rows.slice(0, limit).map(toRecord),
        nextCursor: last === undefined ? null : encodeDigestCursor(last.receivedAt, last.seq, last.digest),
      }
    },
    async conflict(eventId, digest) {
      const [row] = await db.query<DetailRow>(one, [toStored(eventId), toStored(digest)])
      return row === undefined ? null : { ...toRecord(row), raw: row.raw, keptRaw: row.keptRaw ?? Buffer.alloc(0) }
    },
  }
}

function toRecord({ eventId, type, digest, receivedAt, count, sizeBytes }: ConflictRow): ConflictRecord {
  return { eventId: fromStored(eventId), type: fromStored(type), digest, receivedAt, count, sizeBytes }
}
