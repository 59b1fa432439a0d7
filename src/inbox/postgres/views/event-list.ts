import { isFoundBy } from '../../insight/event-text.ts'
import { wordsAsked } from '../../insight/words.ts'
import { decodeCursor, encodeCursor } from '../../cursor.ts'
import type { EventPage, EventQuery, EventSummary } from '../../port.ts'
import type { Rows } from '../database.ts'
import type { EventFinder } from '../index/finder.ts'
import { createEventPortions, type CandidateRow, type Portion } from './event-portions.ts'
import { toSummary } from './event-rows.ts'

/** For one page it looks for so long, and one more portion: where few events match it comes back short, with a cursor. */
const budgetMs = 50
/**
 * The clock is looked at after so many events, or bytes of bodies, which are also read at once: so what is small is never cut short on
 * a slow machine.
 */
const eventsPerLook = 256
const bytesPerLook = 1024 * 1024

/** A portion without what its words rule out. `isLook`: now is the time to look at the clock. */
type Matched = Pick<Portion, 'rows' | 'reached'> & { readonly isLook: boolean }

/**
 * The list of events, newest first. Those that the index has are found by it, newer ones are looked at one by one; without an index
 * all are. `elapsed`: milliseconds of a clock that is never set.
 */
export function createEventList(
  db: Rows,
  find: EventFinder | null,
  elapsed: () => number = () => performance.now(),
): (query: EventQuery) => Promise<EventPage> {
  const portionsOf = createEventPortions(db, find)

  async function newestSeq(): Promise<number> {
    const [row] = await db.query<{ seq: number }>('SELECT seq FROM inbox.event ORDER BY seq DESC LIMIT 1')
    return row?.seq ?? 0
  }

  async function timeOf(seq: number): Promise<number | null> {
    const [row] = await db.query<{ at: number }>(
      'SELECT received_at AS at FROM inbox.event WHERE seq >= $1::bigint ORDER BY seq LIMIT 1',
      [seq],
    )
    return row?.at ?? null
  }

  /** Of a portion, in smaller ones, the events with all the words. */
  async function* withWords({ rows, reached }: Portion, asked: readonly string[]): AsyncGenerator<Matched> {
    for (const [some, isLast] of inBatches(rows)) {
      const bodies = await db.query<{ seq: number; raw: Buffer }>(
        'SELECT seq, raw FROM inbox.body WHERE seq = ANY ($1::bigint[])',
        [some.map(({ seq }) => seq)],
      )
      const rawOf = new Map(bodies.map(({ seq, raw }) => [seq, raw]))
      const found = some.filter((row) => isFoundBy(asked, rawOf.get(row.seq) ?? Buffer.alloc(0), toSummary(row)))
      yield { rows: found, reached: isLast ? reached : (some.at(-1)?.seq ?? reached), isLook: !isLast }
    }
    if (rows.length === 0) yield { rows, reached, isLook: false }
  }

  async function* matching(portions: AsyncIterable<Portion>, asked: readonly string[]): AsyncGenerator<Matched> {
    for await (const portion of portions) {
      if (portion.hasWords || asked.length === 0) yield { ...portion, isLook: false }
      else yield* withWords(portion, asked)
    }
  }

  async function collect(limit: number, below: number, portions: AsyncIterable<Matched>): Promise<EventPage> {
    const until = elapsed() + budgetMs
    const data: EventSummary[] = []
    let lookedAt = below
    for await (const { rows, reached, isLook } of portions) {
      for (const row of rows) {
        data.push(toSummary(row))
        if (data.length === limit) return cut(data, row.seq)
      }
      if (!isLook && lookedAt - reached < eventsPerLook) continue
      lookedAt = reached
      if (elapsed() > until) return cut(data, reached)
    }
    return { data, nextCursor: null, searchedTo: await timeOf(1) }
  }

  async function cut(data: readonly EventSummary[], reached: number): Promise<EventPage> {
    return { data, nextCursor: reached > 1 ? encodeCursor(reached) : null, searchedTo: await timeOf(reached) }
  }

  return async (query) => {
    const { limit, cursor, q, type, network, address, status, from, to } = query
    const place = cursor === undefined ? Infinity : decodeCursor(cursor)
    const below = Math.min(place, (await newestSeq()) + 1)
    const asked = q === undefined ? [] : wordsAsked(q)
    const filter = { type, network, address, status, from, to }
    const search = { filter, q: asked.length === 0 ? null : (q ?? null), limit }
    return collect(limit, below, matching(portionsOf(query, search, below), asked))
  }
}

/** Rows whose bodies take no more than what is read at once, unless it is one alone. */
function* inBatches(rows: readonly CandidateRow[]): Generator<readonly [readonly CandidateRow[], boolean]> {
  let batch: CandidateRow[] = []
  let bytes = 0
  for (const row of rows) {
    const size = row.size ?? 0
    if (batch.length > 0 && bytes + size > bytesPerLook) {
      yield [batch, false]
      batch = []
      bytes = 0
    }
    batch.push(row)
    bytes += size
  }
  if (batch.length > 0) yield [batch, true]
}
