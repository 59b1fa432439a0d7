import type { EventQuery } from '../../port.ts'
import type { Rows } from '../database.ts'
import type { EventFinder } from '../index/finder.ts'
import {
  compose,
  conditionsOf,
  eventColumns,
  rowsPerStatement,
  type EventFilter,
  type EventRow,
  type Parameter,
} from './event-rows.ts'
import { createOpenEvents } from './open-events.ts'

/** An event with how large its body is; null: it has none. */
export interface CandidateRow extends EventRow {
  readonly size: number | null
}

/** A step towards older events: those of it that match in everything but perhaps in their words, newest first. */
export interface Portion {
  readonly rows: readonly CandidateRow[]
  /** Everything from there on was looked at. */
  readonly reached: number
  /** Whether the words that are asked for are known to be in them. */
  readonly hasWords: boolean
}

/** What is looked for, and where. */
export interface Search {
  readonly filter: EventFilter
  /** Null: no words are asked for. */
  readonly q: string | null
  readonly limit: number
}

/** Where words have to be looked for in bodies, so few at once. */
const rowsWithWords = 256
const firstWindow = 1_024

/**
 * The ways to events that match a query, newest first, in portions. Each portion is one statement (of the index: two) that looks at a
 * bounded number of rows.
 */
export function createEventPortions(db: Rows, find: EventFinder | null) {
  const openEvents = createOpenEvents(db)

  /** `source`: what is looked at, as a subquery. */
  async function select({ filter, q }: Search, source: (parameter: Parameter) => string, limit: number) {
    const { text, values } = compose((parameter) => {
      const looked = `(SELECT * FROM inbox.event WHERE ${source(parameter)}) e`
      const conditions = ['true', ...conditionsOf(filter, parameter)]
      // Of a pruned event no word is known.
      if (q !== null) conditions.push('e.final_status IS NULL')
      const size = q === null ? 'NULL::integer' : '(SELECT length(b.raw) FROM inbox.body b WHERE b.seq = e.seq)'
      return `SELECT ${eventColumns}, ${size} AS size FROM ${looked} WHERE ${conditions.join(' AND ')}
        ORDER BY e.seq DESC LIMIT ${parameter(limit)}::bigint`
    })
    return db.query<CandidateRow>(text, values)
  }

  /** Events one after the other, from `below` down to `lowest`. */
  async function* oneByOne(search: Search, below: number, lowest: number): AsyncGenerator<Portion> {
    const most = search.q === null ? search.limit : rowsWithWords
    const isFiltered = Object.values(search.filter).some((value) => value !== undefined)
    let window = isFiltered ? firstWindow : most
    for (let reached = below; reached > lowest;) {
      const from = Math.max(lowest, reached - window)
      const until = reached
      // The limit has it read by the index whatever statistics say, also old ones that know the lowest numbers only.
      const inWindow = (p: Parameter) =>
        `seq < ${p(until)}::bigint AND seq >= ${p(from)}::bigint ORDER BY seq DESC LIMIT ${p(until - from)}::bigint`
      const rows = await select(search, inWindow, most)
      reached = (rows.length === most ? rows.at(-1)?.seq : undefined) ?? from
      yield { rows, reached, hasWords: false }
      if (isFiltered) window = Math.min(window * 4, rowsPerStatement)
    }
  }

  /** Events with these numbers, which stand newest first; of those that do not match nothing is given. */
  async function* ofSeqs(search: Search, seqs: readonly number[]): AsyncGenerator<Portion> {
    for (let at = 0; at < seqs.length; at += rowsWithWords) {
      const some = seqs.slice(at, at + rowsWithWords)
      const rows = await select(search, (p) => `seq = ANY (${p(some)}::bigint[])`, some.length)
      yield { rows, reached: some.at(-1) ?? 1, hasWords: false }
    }
  }

  async function* byIndex(
    finder: EventFinder,
    search: Search,
    asked: EventQuery,
    below: number,
  ): AsyncGenerator<Portion> {
    const { indexedSeq, lowest, highest } = await finder.reach(asked)
    if (below > indexedSeq + 1) {
      yield* oneByOne(search, below, indexedSeq + 1)
      yield { rows: [], reached: indexedSeq + 1, hasWords: false }
    }
    const start = Math.min(below, indexedSeq + 1, highest + 1)
    if (!finder.canFind(asked)) {
      yield* oneByOne(search, start, lowest)
      return
    }
    for (let reached = start; reached > lowest;) {
      const found = await finder.find(asked, reached, lowest, search.limit)
      if (found === null) {
        // It is made anew, and no longer knows what lies between.
        yield* oneByOne(search, reached, 1)
        return
      }
      const { seqs } = found
      const rows = seqs.length === 0 ? [] : await select(search, (p) => `seq = ANY (${p(seqs)}::bigint[])`, seqs.length)
      reached = found.reached
      yield { rows, reached, hasWords: true }
    }
  }

  /** `below`: only older events. */
  return async function* portionsOf(query: EventQuery, search: Search, below: number): AsyncGenerator<Portion> {
    const open = await openEvents(query.status)
    if (open !== null) {
      yield* ofSeqs(
        search,
        open.filter((seq) => seq < below),
      )
      return
    }
    const { from, to } = query
    if (find !== null && (find.canFind(query) || from !== undefined || to !== undefined)) {
      yield* byIndex(find, search, query, below)
      return
    }
    yield* oneByOne(search, below, 1)
  }
}
