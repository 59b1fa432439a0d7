import type { Database } from 'better-sqlite3'
import { decodeDigestCursor, encodeDigestCursor } from '../cursor.ts'
import type { ConflictDetail, ConflictRecord, Page, PageQuery } from '../port.ts'

interface ConflictRow extends ConflictRecord {
  readonly seq: number
}

const columns = `c.event_seq AS seq, e.id AS eventId, e.type, c.digest, c.received_at AS receivedAt, c.count,
     length(c.raw) AS sizeBytes`

/** Views of other bodies that came under a known id. */
export function createConflictViews(db: Database) {
  const below = db.prepare<[number, number, string, number], ConflictRow>(
    `SELECT ${columns} FROM conflict c INDEXED BY conflict_at CROSS JOIN event e ON e.seq = c.event_seq
     WHERE (c.received_at, c.event_seq, c.digest) < (?, ?, ?)
     ORDER BY c.received_at DESC, c.event_seq DESC, c.digest DESC LIMIT ?`,
  )
  const one = db.prepare<[string, string], ConflictRow & { readonly raw: Buffer; readonly keptRaw: Buffer | null }>(
    `SELECT ${columns}, c.raw, b.raw AS keptRaw FROM event e INDEXED BY event_id
     CROSS JOIN conflict c ON c.event_seq = e.seq LEFT JOIN body b ON b.seq = e.seq
     WHERE e.id = ? AND c.digest = ?`,
  )
  return {
    conflicts({ limit, cursor }: PageQuery): Page<ConflictRecord> {
      const [at, seq, digest] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0, ''] : decodeDigestCursor(cursor)
      const rows = below.all(at, seq, digest, limit + 1)
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        data: rows.slice(0, limit).map(toRecord),
        nextCursor: last === undefined ? null : encodeDigestCursor(last.receivedAt, last.seq, last.digest),
      }
    },
    conflict(eventId: string, digest: string): ConflictDetail | null {
      const row = one.get(eventId, digest)
      return row === undefined ? null : { ...toRecord(row), raw: row.raw, keptRaw: row.keptRaw ?? Buffer.alloc(0) }
    },
  }
}

function toRecord({ eventId, type, digest, receivedAt, count, sizeBytes }: ConflictRow): ConflictRecord {
  return { eventId, type, digest, receivedAt, count, sizeBytes }
}
