import { eventStatuses, type ReplayFilter } from '../port.ts'
import { matchesFilter, partsOfKey } from '../replay-filter.ts'
import type { Rows } from './database.ts'
import { progressOf } from './progress.ts'
import { fromStored, fromStoredOrNull, toStored } from './text.ts'

/** An event as a replay or a backfill looks at it. */
export interface ScannedEvent {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly receivedAt: number
  /** Null: the event's own id. */
  readonly key: string | null
  readonly hasBody: boolean
}

interface ScannedRow extends ScannedEvent {
  /** Of one that was pruned. */
  readonly finalStatus: number | null
}

/** A part of the accept sequence: from one number on, so many at the most, up to a last one. */
export interface Stretch {
  readonly fromSeq: number
  readonly size: number
  readonly lastSeq: number
}

export interface Scanned {
  /** In accept order. */
  readonly found: readonly ScannedEvent[]
  /** Where to go on. */
  readonly nextSeq: number
}

const columns = `e.seq, e.id, e.type, e.received_at AS "receivedAt", e.key, e.final_status AS "finalStatus",
  coalesce(body.is_there, false) AS "hasBody"`

const withBody = `LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.body b WHERE b.seq = e.seq LIMIT 1) body ON true`

/** What a filter finds in a stretch, whatever its handler; of one that names ids, in all that is left. */
export async function scan(rows: Rows, filter: ReplayFilter, stretch: Stretch): Promise<Scanned> {
  const { ids } = filter
  const read = ids === undefined ? await readStretch(rows, filter, stretch) : await readIds(rows, ids, stretch)
  const found = read.map((row) => ({
    ...row,
    id: fromStored(row.id),
    type: fromStored(row.type),
    key: fromStoredOrNull(row.key),
  }))
  const nextSeq =
    ids === undefined ? Math.min(stretch.fromSeq + stretch.size, stretch.lastSeq + 1) : stretch.lastSeq + 1
  return { found: await filtered(rows, filter, found), nextSeq }
}

/** The database leaves out most of what is not wanted; what it gives is looked at again. */
function readStretch(rows: Rows, filter: ReplayFilter, { fromSeq, size, lastSeq }: Stretch): Promise<ScannedRow[]> {
  const { type, network, from, to } = filter
  return rows.query<ScannedRow>(
    `SELECT ${columns} FROM inbox.event e ${withBody}
     WHERE e.seq >= $1 AND e.seq <= $2 AND ($3::text IS NULL OR e.type = $3) AND ($4::text IS NULL OR starts_with(e.key, $4))
       AND ($5::bigint IS NULL OR e.received_at >= $5) AND ($6::bigint IS NULL OR e.received_at < $6)
     ORDER BY e.seq`,
    [
      fromSeq,
      Math.min(fromSeq + size - 1, lastSeq),
      type === undefined ? null : toStored(type),
      network === undefined ? null : toStored(`${network}:`),
      from === undefined ? null : Math.ceil(from),
      to === undefined ? null : Math.ceil(to),
    ],
  )
}

function readIds(rows: Rows, ids: readonly string[], { fromSeq, lastSeq }: Stretch): Promise<ScannedRow[]> {
  return rows.query<ScannedRow>(
    `SELECT ${columns} FROM inbox.event e ${withBody} WHERE e.id = ANY ($1::text[]) AND e.seq >= $2 AND e.seq <= $3 ORDER BY e.seq`,
    [ids.map((id) => toStored(id)), fromSeq, lastSeq],
  )
}

async function filtered(rows: Rows, filter: ReplayFilter, events: readonly ScannedRow[]): Promise<ScannedEvent[]> {
  const { status, ...others } = filter
  const found = events.filter((event) =>
    matchesFilter(others, { ...event, ...partsOfKey(event.key), status: () => 'done' }),
  )
  if (status === undefined) return found
  const kept = found.filter(({ finalStatus }) => finalStatus === null).map(({ seq }) => seq)
  const progress = await progressOf(rows, kept)
  return found.filter(({ seq, finalStatus }) => {
    return status === (finalStatus === null ? progress.get(seq)?.status : (eventStatuses[finalStatus] ?? 'done'))
  })
}
