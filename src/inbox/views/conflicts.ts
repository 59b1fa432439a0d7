import { decodeDigestCursor, toPage } from '../cursor.ts'
import type { ConflictRecord, QueryStore } from '../port.ts'
import type { ViewStore } from './tables.ts'

/** Reads conflicting deliveries: the id of a stored event with another body. */
export function createConflicts({ db }: ViewStore): Pick<QueryStore, 'conflicts' | 'conflict'> {
  // Each lookup is a subquery: PostgreSQL might read a whole table for a join.
  const records = db
    .selectFrom('conflict')
    .select((eb) => [
      'conflict.event_seq as seq',
      eb.selectFrom('event').select('event.id').whereRef('event.seq', '=', 'conflict.event_seq').as('eventId'),
      eb.selectFrom('event').select('event.type').whereRef('event.seq', '=', 'conflict.event_seq').as('type'),
      'conflict.digest',
      'conflict.received_at as receivedAt',
      'conflict.count',
      eb.fn<number>('length', ['conflict.raw']).as('sizeBytes'),
    ])
  return {
    async conflicts({ limit, cursor }) {
      const [at, seq, digest] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0, ''] : decodeDigestCursor(cursor)
      const rows = await records
        .where((eb) =>
          eb(
            eb.refTuple('conflict.received_at', 'conflict.event_seq', 'conflict.digest'),
            '<',
            eb.tuple(at, seq, digest),
          ),
        )
        .orderBy('conflict.received_at', 'desc')
        .orderBy('conflict.event_seq', 'desc')
        .orderBy('conflict.digest', 'desc')
        .limit(limit + 1)
        .execute()
      const page = toPage(rows, limit, ({ receivedAt, seq, digest }) => [receivedAt, seq, digest])
      return { ...page, data: page.data.map(toRecord) }
    },
    async conflict(eventId, digest) {
      const row = await records
        .select((eb) => [
          'conflict.raw',
          eb.selectFrom('body').select('body.raw').whereRef('body.seq', '=', 'conflict.event_seq').as('keptRaw'),
        ])
        .where('conflict.event_seq', '=', (eb) =>
          eb.selectFrom('event').select('event.seq').where('event.id', '=', eventId),
        )
        .where('conflict.digest', '=', digest)
        .executeTakeFirst()
      return row === undefined ? null : { ...toRecord(row), raw: row.raw, keptRaw: row.keptRaw ?? Buffer.alloc(0) }
    },
  }
}

type Row = { readonly [F in keyof ConflictRecord]: ConflictRecord[F] | null }

function toRecord({ eventId, type, digest, receivedAt, count, sizeBytes }: Row): ConflictRecord {
  return { eventId, type, digest, receivedAt, count, sizeBytes } as ConflictRecord
}
