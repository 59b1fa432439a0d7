import { sql } from 'kysely'
import { decodeCursor, toPage } from '../cursor.ts'
import { previewBytes, type QuarantinedBody, type QueryStore } from '../port.ts'
import type { ViewStore } from './tables.ts'

/** Reads the quarantine. Reads by reason use an index without bodies. */
export function createQuarantine({ db }: ViewStore): Pick<QueryStore, 'quarantine' | 'quarantined'> {
  const bodies = db
    .selectFrom('quarantine')
    .select((eb) => [
      'seq',
      'id',
      'reason',
      'received_at as receivedAt',
      'secret_label as secretLabel',
      'count',
      eb.fn<number>('length', ['raw']).as('sizeBytes'),
    ])

  return {
    async quarantine({ limit, cursor, reason }) {
      let query = bodies
        .select(sql<Buffer | null>`substr(raw, 1, ${sql.lit(previewBytes)})`.as('raw'))
        .where('seq', '<', cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor))
        .limit(limit + 1)
      if (reason !== undefined) query = query.where('reason', '=', reason).orderBy('reason', 'desc')
      const rows = await query.orderBy('seq', 'desc').execute()
      const page = toPage(rows, limit, ({ seq }) => [seq])
      return { ...page, data: page.data.map(toBody) }
    },
    async quarantined(id) {
      const row = await bodies.select('raw').where('id', '=', id).executeTakeFirst()
      return row === undefined ? null : toBody(row)
    },
  }
}

type BodyRow = Omit<QuarantinedBody, 'raw'> & { readonly raw: Uint8Array | null }

/** SQLite returns null for a part of an empty body. */
function toBody(row: BodyRow): QuarantinedBody {
  const { id, reason, receivedAt, secretLabel, sizeBytes, count, raw } = row
  return { id, reason, receivedAt, secretLabel, sizeBytes, count, raw: raw ?? new Uint8Array() }
}
