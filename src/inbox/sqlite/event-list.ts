import type { Database } from 'better-sqlite3'
import { isFoundBy } from '../insight/event-text.ts'
import { wordsAsked } from '../insight/words.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { eventStatuses, type EventPage, type EventQuery, type EventStatus, type EventSummary } from '../port.ts'
import { partsOfKey } from '../replay-filter.ts'
import type { IndexHandle } from './index/handle.ts'
import type { IndexReads } from './index/reads.ts'
import { matchOf } from './index/terms.ts'
import { statusOfRuns, type ProgressRow } from './progress.ts'
import { state } from './statements.ts'

export interface EventRow {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly created_at: string
  readonly received_at: number
  readonly key: string | null
  readonly secret_label: string
  readonly final_status: number | null
}

/** A step towards older events: everything from `reached` on was looked at, the event itself, if there is one, is to be. */
interface Step {
  readonly reached: number
  readonly row: EventRow | null
  /** Whether the words that are asked for are known to be in it. */
  readonly hasWords: boolean
}

/** For one page it looks for so long, and one more step: where few events match it comes back short, with a cursor. */
const budgetMs = 30
/** The clock is looked at after so many events, or bytes of bodies, so that what is small is never cut short on a slow machine. */
const rowsPerLook = 256
const bytesPerLook = 1024 * 1024
/** Up to so many runs it starts from these; and it does not look through more than so many for them. */
const mostRuns = 5_000
const mostOpenRuns = 20_000

/** What runs an event has that is still to be worked on. */
const statesOf: Partial<Record<EventStatus, readonly number[]>> = {
  pending: [state.waiting, state.ready],
  running: [state.running],
  retrying: [state.ready, state.suspect],
  held: [state.held],
  dead: [state.dead],
}

const eventColumns = 'seq, id, type, created_at, received_at, key, secret_label, final_status'

/**
 * The list of events, newest first. Those that the index has are found by it, newer ones are looked at one by one; without an index
 * all are. `elapsed`: milliseconds of a clock that is never set.
 */
export function createEventList(
  db: Database,
  index: IndexHandle | null,
  elapsed: () => number = () => performance.now(),
): (query: EventQuery) => EventPage {
  const newestSeq = db.prepare<[], number>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1').pluck()
  const eventsBetween = db.prepare<[number, number], EventRow>(
    `SELECT ${eventColumns} FROM event WHERE seq < ? AND seq >= ? ORDER BY seq DESC`,
  )
  const eventAt = db.prepare<[number], EventRow>(`SELECT ${eventColumns} FROM event WHERE seq = ?`)
  const receivedFrom = db
    .prepare<[number], number>('SELECT received_at FROM event WHERE seq >= ? ORDER BY seq LIMIT 1')
    .pluck()
  const bodyOf = db.prepare<[number], Buffer>('SELECT raw FROM body WHERE seq = ?').pluck()
  const progressOf = db.prepare<[number], ProgressRow>(
    'SELECT state, attempt, replay_id AS replayId FROM run INDEXED BY run_event WHERE event_seq = ?',
  )
  const openCount = db
    .prepare<[], number>(
      `SELECT count(*) FROM (SELECT 1 FROM run INDEXED BY run_open WHERE state < 5 LIMIT ${mostOpenRuns + 1})`,
    )
    .pluck()
  const openRuns = db
    .prepare<[number, number], number>(
      `SELECT event_seq FROM run INDEXED BY run_open WHERE state < 5 AND state IN (?, ?) LIMIT ${mostRuns + 1}`,
    )
    .pluck()
  const deadRuns = db
    .prepare<[number, number], number>(
      `SELECT event_seq FROM run INDEXED BY run_dead WHERE state >= 4 AND state <= 5 AND state IN (?, ?) LIMIT ${mostRuns + 1}`,
    )
    .pluck()

  let bytesRead = 0

  /** Of an event that was pruned it is written there; else it follows from its runs. */
  function statusOf({ seq, final_status: final }: EventRow): EventStatus {
    if (final !== null) return eventStatuses[final] ?? 'done'
    return statusOfRuns(progressOf.all(seq))
  }

  function createMatch(query: EventQuery) {
    const asked = query.q === undefined ? [] : wordsAsked(query.q)
    const hasAsked = (row: EventRow, hasWords: boolean) => {
      if (asked.length === 0) return true
      if (row.final_status !== null) return false
      if (hasWords) return true
      const raw = bodyOf.get(row.seq) ?? Buffer.alloc(0)
      bytesRead += raw.length
      return isFoundBy(asked, raw, row)
    }
    return (row: EventRow, hasWords: boolean): EventSummary | null => {
      const { network, address } = partsOfKey(row.key)
      if (query.type !== undefined && row.type !== query.type) return null
      if (query.network !== undefined && network !== query.network) return null
      if (query.address !== undefined && address !== query.address) return null
      if (query.from !== undefined && row.received_at < query.from) return null
      if (query.to !== undefined && row.received_at >= query.to) return null
      const status = statusOf(row)
      if (query.status !== undefined && status !== query.status) return null
      return hasAsked(row, hasWords) ? toSummary(row, status) : null
    }
  }

  function* oneByOne(below: number, lowest: number): Generator<Step> {
    for (const row of eventsBetween.iterate(below, lowest)) yield { reached: row.seq, row, hasWords: false }
  }

  /** The events of all runs that an event of this status has one of; null if there are too many of them. */
  function byRuns(status: EventStatus | undefined, below: number): readonly Step[] | null {
    const [first, second = first] = (status && statesOf[status]) ?? []
    if (first === undefined || second === undefined) return null
    if (status !== 'dead' && (openCount.get() ?? 0) > mostOpenRuns) return null
    const seqs = (status === 'dead' ? deadRuns : openRuns).all(first, second)
    if (seqs.length > mostRuns) return null
    return [...new Set(seqs)]
      .filter((seq) => seq < below)
      .toSorted((a, b) => b - a)
      .flatMap((seq) => {
        const row = eventAt.get(seq)
        return row === undefined ? [] : [{ reached: seq, row, hasWords: false }]
      })
  }

  function* byIndex(reads: IndexReads, query: EventQuery, below: number): Generator<Step> {
    const indexed = reads.indexedSeq()
    if (below > indexed + 1) {
      yield* oneByOne(below, indexed + 1)
      yield { reached: indexed + 1, row: null, hasWords: false }
    }
    const lowest = query.from === undefined ? 1 : reads.lowestSince(query.from)
    const highest = query.to === undefined ? indexed : reads.highestBefore(query.to)
    if (lowest === null || highest === null) return
    const start = Math.min(below, indexed + 1, highest + 1)
    if (start <= lowest) return
    const match = matchOf(query)
    if (match === null) {
      yield* oneByOne(start, lowest)
      return
    }
    for (const { reached, found } of reads.search(match, start, lowest)) {
      yield { reached, row: found === null ? null : (eventAt.get(found) ?? null), hasWords: true }
    }
  }

  function collect(query: EventQuery, steps: Iterable<Step>): EventPage {
    const match = createMatch(query)
    const until = elapsed() + budgetMs
    const data: EventSummary[] = []
    let [rows, bytesLookedAt] = [0, bytesRead]
    for (const { reached, row, hasWords } of steps) {
      const summary = row === null ? null : match(row, hasWords)
      if (summary !== null) data.push(summary)
      rows += 1
      const isLook = row === null || rows % rowsPerLook === 0 || bytesRead - bytesLookedAt > bytesPerLook
      if (isLook) bytesLookedAt = bytesRead
      if (data.length === query.limit || (isLook && elapsed() > until)) {
        return { data, nextCursor: reached > 1 ? encodeCursor(reached) : null, searchedTo: timeOf(reached) }
      }
    }
    return { data, nextCursor: null, searchedTo: timeOf(1) }
  }

  const timeOf = (seq: number): number | null => receivedFrom.get(seq) ?? null

  return (query) => {
    const below = query.cursor === undefined ? (newestSeq.get() ?? 0) + 1 : decodeCursor(query.cursor)
    const runs = byRuns(query.status, below)
    if (runs !== null) return collect(query, runs)
    const isBound = matchOf(query) !== null || query.from !== undefined || query.to !== undefined
    const indexed = isBound && index?.read((reads) => collect(query, byIndex(reads, query, below)))
    return indexed || collect(query, oneByOne(below, 1))
  }
}

function toSummary(row: EventRow, status: EventStatus): EventSummary {
  return {
    seq: row.seq,
    id: row.id,
    type: row.type,
    createdAt: row.created_at,
    receivedAt: row.received_at,
    ...partsOfKey(row.key),
    status,
  }
}
