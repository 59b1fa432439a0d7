import { sql } from 'kysely'
import { decodeCursor, toPage } from '../cursor.ts'
import { previewBytes, type QuarantinedBody, type QuarantineGroup, type QueryStore } from '../port.ts'
import { turn, type ViewStore } from './tables.ts'

const bodiesPerStatement = 5_000

/** Reads the quarantine. Reads by reason use an index without bodies. */
export function createQuarantine({
  db,
}: ViewStore): Pick<QueryStore, 'quarantine' | 'quarantined' | 'quarantineGroups'> {
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

  /** Sums over the next bodies with a reason, grouped by label. */
  function sumsAfter(reason: string, seq: number) {
    return db
      .with(
        (cte) => cte('part').materialized(),
        (of) =>
          of
            .selectFrom('quarantine')
            .select((eb) => ['seq', 'secret_label', 'received_at', eb.fn<number>('length', ['raw']).as('size')])
            .where('reason', '=', reason)
            .where('seq', '>', seq)
            .orderBy('reason')
            .orderBy('seq')
            .limit(bodiesPerStatement),
      )
      .selectFrom('part')
      .groupBy('secret_label')
      .select((eb) => [
        'secret_label as secretLabel',
        eb.fn.countAll<number>().as('count'),
        eb.fn.sum<number>('size').as('sizeBytes'),
        eb.fn.min('received_at').as('firstAt'),
        eb.fn.max('received_at').as('lastAt'),
        eb.fn.max('seq').as('lastSeq'),
      ])
      .execute()
  }

  async function sumReason(reason: string): Promise<QuarantineGroup[]> {
    const groups = new Map<string, QuarantineGroup>()
    for (let seq: number | null = 0; seq !== null; await turn()) {
      const sums: Awaited<ReturnType<typeof sumsAfter>> = await sumsAfter(reason, seq)
      for (const { lastSeq: _, ...sum } of sums) {
        const known = groups.get(sum.secretLabel)
        groups.set(sum.secretLabel, {
          reason,
          secretLabel: sum.secretLabel,
          count: sum.count + (known?.count ?? 0),
          sizeBytes: sum.sizeBytes + (known?.sizeBytes ?? 0),
          firstAt: Math.min(sum.firstAt, known?.firstAt ?? Infinity),
          lastAt: Math.max(sum.lastAt, known?.lastAt ?? -Infinity),
        })
      }
      const count = sums.reduce((total, sum) => total + sum.count, 0)
      seq = count === bodiesPerStatement ? Math.max(...sums.map(({ lastSeq }) => lastSeq)) : null
    }
    return [...groups.values()]
  }

  function nextReason(after: string) {
    return db
      .selectFrom('quarantine')
      .select('reason')
      .where('reason', '>', after)
      .orderBy('reason')
      .limit(1)
      .executeTakeFirst()
  }

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
    async quarantineGroups() {
      const groups: QuarantineGroup[] = []
      for (let next = await nextReason(''); next !== undefined; next = await nextReason(next.reason)) {
        groups.push(...(await sumReason(next.reason)))
      }
      return groups.toSorted((a, b) => b.count - a.count || b.lastAt - a.lastAt)
    },
  }
}

type BodyRow = Omit<QuarantinedBody, 'raw'> & { readonly raw: Uint8Array | null }

/** SQLite returns null for a part of an empty body. */
function toBody(row: BodyRow): QuarantinedBody {
  const { id, reason, receivedAt, secretLabel, sizeBytes, count, raw } = row
  return { id, reason, receivedAt, secretLabel, sizeBytes, count, raw: raw ?? new Uint8Array() }
}
