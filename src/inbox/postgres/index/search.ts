import type { EventQuery } from '../../port.ts'
import type { Rows } from '../database.ts'
import type { Asked, EventFinder, Found, Reach } from './finder.ts'
import { indexVersion } from './schema.ts'
import { queryOf } from './terms.ts'

/** A search comes back after so long, and one more step. */
const budgetMs = 30

interface ReachRow {
  readonly seq: number
  readonly lowest: number | null
  readonly highest: number | null
}

/** `seqs` and `reached` are null where the index does not go up to where it was asked. */
interface FoundRow {
  readonly seqs: readonly (number | string)[] | null
  readonly reached: number | null
}

/** Searches of the index, each of which reads a bounded piece of it. */
export function createSearch(db: Rows): EventFinder {
  return {
    canFind: (asked) => queryOf(asked) !== null,
    async reach(time): Promise<Reach> {
      const from = time.from === undefined ? null : placeOf(time.from)
      const to = time.to === undefined ? null : placeOf(time.to - 1)
      const [row] = await db.query<ReachRow>(reachText, [indexVersion, from?.minute, from?.hour, to?.minute, to?.hour])
      if (row === undefined) return { indexedSeq: 0, lowest: 1, highest: 0 }
      const [lowest, highest] = [from === null ? 1 : row.lowest, to === null ? row.seq : row.highest]
      if (lowest === null || highest === null) return { indexedSeq: row.seq, lowest: 1, highest: 0 }
      return { indexedSeq: row.seq, lowest, highest }
    },
    async find(asked: Asked, below: number, lowest: number, limit: number): Promise<Found | null> {
      const query = queryOf(asked)
      if (query === null) return null
      const [row] = await db.query<FoundRow>('SELECT seqs, reached FROM inbox.index_search($1, $2, $3, $4, $5, $6)', [
        indexVersion,
        query,
        below,
        lowest,
        limit,
        budgetMs,
      ])
      if (row === undefined || row.seqs === null || row.reached === null) return null
      return { seqs: row.seqs.map(Number), reached: row.reached }
    },
  }
}

/** Minute and hour of a time, since 1970: within what the tables can hold. */
function placeOf(at: NonNullable<EventQuery['from']>) {
  const minute = Math.max(-1, Math.min(Math.floor(at / 60_000), 2 ** 31 - 61))
  return { minute, hour: Math.floor(minute / 60) }
}

/** Of the hour at an edge the minutes that count; where those are no longer kept, the whole of it. `least` and `greatest` leave nulls out. */
const reachText = `
  SELECT m.seq, least(
      CASE WHEN EXISTS (SELECT 1 FROM inbox.index_tally t WHERE t.minute >= $3::integer * 60 AND t.minute < $3::integer * 60 + 60)
        THEN (SELECT min(t.min_seq) FROM inbox.index_tally t WHERE t.minute >= $2::integer AND t.minute < $3::integer * 60 + 60)
        ELSE (SELECT h.min_seq FROM inbox.index_hour h WHERE h.hour = $3::integer) END,
      (SELECT min(h.min_seq) FROM inbox.index_hour h WHERE h.hour > $3::integer)
    ) AS lowest, greatest(
      CASE WHEN EXISTS (SELECT 1 FROM inbox.index_tally t WHERE t.minute >= $5::integer * 60 AND t.minute < $5::integer * 60 + 60)
        THEN (SELECT max(t.max_seq) FROM inbox.index_tally t WHERE t.minute >= $5::integer * 60 AND t.minute <= $4::integer)
        ELSE (SELECT h.max_seq FROM inbox.index_hour h WHERE h.hour = $5::integer) END,
      (SELECT max(h.max_seq) FROM inbox.index_hour h WHERE h.hour < $5::integer)
    ) AS highest
  FROM inbox.index_meta m WHERE m.version = $1`
