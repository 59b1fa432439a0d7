import { sql, type RawBuilder } from 'kysely'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import {
  defaultSource,
  maxListedBody,
  runStates,
  type EventListDetail,
  type EventPage,
  type EventQuery,
  type EventStatus,
  type EventSummary,
  type QueryStore,
  sourceOf,
  uidOf,
} from '../port.ts'
import { partsOfKey } from '../replays.ts'
import { statusOf, toProgress, type ProgressRow } from '../status.ts'
import { hourMs } from '../tally.ts'
import { errorOf } from './event-detail.ts'
import { deadRuns, openRuns, turn, type ViewStore } from './tables.ts'

/** A page ends early after this time and has a cursor to continue. With the last portion and details, a page takes 50 ms at most. */
const budgetMs = 25
/** A portion is one statement. Its size shrinks when the previous one took longer than this. */
const portionMs = 8
const firstPortion = 256
/** Maximum events scanned per statement. */
const maxPortion = 8_192
/** Ranges of accept-sequence numbers for one lookup of a key. */
const firstRange = 16_384
const maxRange = 4_194_304
/** Maximum events per lookup of runs, and of events by number. */
const maxSeqs = 500
/** A search by status starts from the open or dead runs if there are no more than this. */
const maxRuns = 20_000
/** Maximum terms of a search. */
const maxTerms = 16
/** Characters of an error's message in a list. */
const maxMessage = 300
const completed = runStates.indexOf('done')

/** A range of the accept sequence, or some of its events. With it, everything down to `reached` is searched. */
type Portion =
  | { readonly reached: number; readonly seqs: readonly number[] }
  | { readonly reached: number; readonly below: number }

/** Statuses that depend on open or dead runs, each with an SQL condition on such a run. */
const runConditions: Partial<Record<EventStatus, RawBuilder<boolean>>> = {
  pending: sql<boolean>`state in (${stateOf('waiting')}, ${stateOf('ready')})`,
  running: sql<boolean>`state = ${stateOf('running')}`,
  retrying: sql<boolean>`state in (${stateOf('ready')}, ${stateOf('suspect')})`,
  held: sql<boolean>`state = ${stateOf('held')}`,
  dead: sql<boolean>`state = ${stateOf('dead')}`,
}

function stateOf(state: (typeof runStates)[number]) {
  return sql.lit(runStates.indexOf(state))
}

/**
 * The list of events, newest first. Address with network uses the index of keys, status the index of runs, and time restricts the range
 * of the accept sequence. All other filters scan in portions and report how far they got.
 */
export function createEvents({ db, bodyHas, seqsOfKey, attemptOrder }: ViewStore): Pick<QueryStore, 'events'> {
  /** Range of the accept sequence received in a time, rounded to hours; null if there is no event. */
  async function rangeOf({ from, to }: EventQuery) {
    const hours = db
      .selectFrom('hour')
      .select(({ fn }) => [fn.min('first_seq').as('first'), fn.max('last_seq').as('last')])
      .$if(from !== undefined, (query) => query.where('hour', '>=', hourOf(from ?? 0)))
      .$if(to !== undefined, (query) => query.where('hour', '<=', hourOf((to ?? 0) - 1)))
    const { first, last } = await hours.executeTakeFirstOrThrow()
    return first === null || last === null ? null : { lowest: Number(first), highest: Number(last) }
  }

  /** Events with a run that this status or group requires, newest first; null if there are too many. */
  async function seqsByRuns({ status, group }: EventQuery): Promise<readonly number[] | null> {
    const condition = group === undefined ? status && runConditions[status] : sql<boolean>`error_group = ${group}`
    if (condition === undefined) return null
    const isDead = group !== undefined || status === 'dead' || status === 'held'
    // Ordered like the partial index, so that the planner uses it.
    const runs = (isDead ? deadRuns(db).orderBy('ended_at').orderBy('id') : openRuns(db))
      .select(['event_seq', 'state', 'error_group'])
      .limit(maxRuns + 1)
      .as('runs')
    const { count } = await db
      .selectFrom(runs)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    if (Number(count) > maxRuns) return null
    const rows = await db
      .selectFrom(runs)
      .select('event_seq')
      .distinct()
      .where(condition)
      .orderBy('event_seq', 'desc')
      .execute()
    return rows.map(({ event_seq: seq }) => seq)
  }

  async function* portionsOf(query: EventQuery, below: number): AsyncGenerator<Portion> {
    const range =
      query.from === undefined && query.to === undefined ? { lowest: 1, highest: below } : await rangeOf(query)
    if (range === null) return
    const { lowest } = range
    const start = Math.min(below, range.highest + 1)
    const seqs = await seqsByRuns(query)
    if (seqs !== null) {
      const inRange = seqs.filter((seq) => seq < start && seq >= lowest)
      for (let at = 0; at < inRange.length; at += maxSeqs) {
        const portion = inRange.slice(at, at + maxSeqs)
        yield { seqs: portion, reached: portion.at(-1) ?? 1 }
      }
      return
    }
    const { network, address } = query
    yield* scan(start, lowest, network === undefined || address === undefined ? null : `${network}:${address}`)
  }

  /** Portions of all events or of a key, from `below` down to `lowest`. Their size adapts to `portionMs`. */
  async function* scan(below: number, lowest: number, key: string | null): AsyncGenerator<Portion> {
    const max = key === null ? maxPortion : maxRange
    let size = key === null ? firstPortion : firstRange
    for (let reached = below; reached > lowest;) {
      const startedAt = performance.now()
      const from = Math.max(lowest, reached - size)
      const seqs = key === null ? null : await seqsOfKey(key, { below: reached, from }, maxSeqs)
      const portion: Portion =
        seqs === null
          ? { below: reached, reached: from }
          : { seqs, reached: seqs.length < maxSeqs ? from : (seqs.at(-1) ?? from) }
      yield portion
      ;({ reached } = portion)
      size = performance.now() - startedAt < portionMs ? Math.min(max, size * 2) : Math.max(16, Math.floor(size / 2))
    }
  }

  /** Events of a portion that match all filters except status. */
  async function select(portion: Portion, query: EventQuery, terms: readonly string[], limit: number | null) {
    const { source, type, network, address, from, to, handler, group } = query
    // The limit makes PostgreSQL use the index, even with outdated statistics.
    const scanned = db
      .selectFrom('event')
      .select(['seq', 'id', 'type', 'created_at', 'received_at', 'key', 'secret_label', 'final_status'])
      .$if('seqs' in portion, (events) => events.where('seq', 'in', 'seqs' in portion ? portion.seqs : []))
      .$if('below' in portion, (events) => {
        const { below, reached } = { below: 1, ...portion }
        return events
          .where('seq', '<', below)
          .where('seq', '>=', reached)
          .orderBy('seq', 'desc')
          .limit(below - reached)
      })
    let matching = db.selectFrom(scanned.as('e')).selectAll().orderBy('e.seq', 'desc')
    if (source === defaultSource) matching = matching.where('e.secret_label', 'not like', '%/%')
    else if (source !== undefined) matching = matching.where(startsWith(sql.ref('e.secret_label'), uidOf(source, '')))
    if (type !== undefined) matching = matching.where('e.type', '=', type)
    if (from !== undefined) matching = matching.where('e.received_at', '>=', Math.ceil(from))
    if (to !== undefined) matching = matching.where('e.received_at', '<', Math.ceil(to))
    // Expressions keep planners from using the index of keys.
    if (network !== undefined) matching = matching.where(startsWith(sql.ref('e.key'), `${network}:`))
    // A network is never empty and has no colon.
    if (network !== undefined && !/^[^:]+$/.test(network)) matching = matching.where(sql<boolean>`1 = 0`)
    if (address !== undefined) matching = matching.where(hasAddress(sql.ref('e.key'), address))
    if (handler !== undefined || group !== undefined) {
      const id = db
        .selectFrom('handler')
        .select('handler.id')
        .where('handler.name', '=', handler ?? '')
      const runs = group === undefined ? db.selectFrom('run') : deadRuns(db).where('run.error_group', '=', group)
      const run = runs
        .select('run.id')
        .whereRef('run.event_seq', '=', 'e.seq' as never)
        .$if(handler !== undefined, (ofEvent) => ofEvent.where('run.handler_id', '=', id))
      matching = matching.where((eb) => eb.exists(run))
    }
    for (const term of terms) {
      const pattern = `%${term.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
      // A subquery per event: a join might read all bodies.
      const has = db.selectFrom('body').select(bodyHas(pattern).as('has')).whereRef('body.seq', '=', sql.ref('e.seq'))
      matching = matching.where(sql<boolean>`(${has})`)
    }
    if (limit !== null) matching = matching.limit(limit)
    return matching.execute()
  }

  type Row = Awaited<ReturnType<typeof select>>[number]

  async function summariesOf(rows: readonly Row[]): Promise<EventSummary[]> {
    const runs = new Map<number, ProgressRow[]>()
    for (let at = 0; at < rows.length; at += maxSeqs) {
      const seqs = rows.slice(at, at + maxSeqs).flatMap(({ seq, final_status: final }) => (final === null ? [seq] : []))
      if (seqs.length === 0) continue
      const progress = await db
        .selectFrom('run')
        .select(['event_seq as seq', 'state', 'attempt', 'replay_id as replayId'])
        .where('event_seq', 'in', seqs)
        .execute()
      for (const [seq, ofEvent] of Map.groupBy(progress, (run) => run.seq)) runs.set(seq, ofEvent)
    }
    return rows.map((row) => ({ ...toEvent(row), status: statusOf(row.final_status, runs.get(row.seq) ?? []) }))
  }

  function toEvent(row: Row) {
    const { seq, id, type, created_at: createdAt, received_at: receivedAt, secret_label: secretLabel, key } = row
    return { seq, id, source: sourceOf({ secretLabel }), type, createdAt, receivedAt, ...partsOfKey(key) }
  }

  async function withDetails(page: EventPage): Promise<EventPage> {
    const seqs = page.data.map(({ seq }) => seq)
    if (seqs.length === 0) return page
    const lastError = (column: 'error_name' | 'error_message') =>
      db
        .selectFrom('attempt')
        .select(sql<string | null>`substr(${sql.ref(column)}, 1, ${sql.lit(maxMessage)})`.as('text'))
        .whereRef('attempt.run_id', '=', sql.ref('run.id'))
        .orderBy(sql.ref(attemptOrder), 'desc')
        .limit(1)
    const runs = await db
      .selectFrom('run')
      .where('run.event_seq', 'in', seqs)
      .select((run) => [
        'run.event_seq as seq',
        run.selectFrom('handler').select('handler.name').whereRef('handler.id', '=', 'run.handler_id').as('handler'),
        'run.state',
        'run.attempt',
        'run.replay_id as replayId',
        lastError('error_name').as('errorName'),
        lastError('error_message').as('errorMessage'),
      ])
      .orderBy('run.id')
      .execute()
    const bodies = await db
      .selectFrom('body')
      .select(['seq', 'raw'])
      .where('seq', 'in', seqs)
      .where(sql<boolean>`length(raw) <= ${sql.lit(maxListedBody)}`)
      .execute()
    const runsBySeq = Map.groupBy(runs, ({ seq }) => seq)
    const bodyBySeq = new Map(bodies.map(({ seq, raw }) => [seq, raw]))
    const detailOf = (seq: number): EventListDetail => ({
      body: bodyBySeq.get(seq) ?? null,
      runs: (runsBySeq.get(seq) ?? []).map((run) => ({
        ...toProgress(run),
        handler: run.handler ?? '',
        error: run.state === completed || run.errorName === null ? null : errorOf({ ...run, errorStack: null }),
      })),
    })
    return { ...page, data: page.data.map((event) => ({ ...event, detail: detailOf(event.seq) })) }
  }

  async function timeOf(seq: number): Promise<number | null> {
    const row = await db
      .selectFrom('event')
      .select('received_at')
      .where('seq', '>=', seq)
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst()
    return row?.received_at ?? null
  }

  async function endPage(data: readonly EventSummary[], reached: number): Promise<EventPage> {
    return { data, nextCursor: reached > 1 ? encodeCursor(reached) : null, searchedTo: await timeOf(reached) }
  }

  async function find(query: EventQuery): Promise<EventPage> {
    const { limit, cursor, status } = query
    const newest = await db.selectFrom('event').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
    const below = Math.min(cursor === undefined ? Infinity : decodeCursor(cursor), (newest?.seq ?? 0) + 1)
    const terms = termsOf(query.q)
    const until = performance.now() + budgetMs
    const data: EventSummary[] = []
    for await (const portion of portionsOf(query, below)) {
      // Status is derived after the read, so only a query without status can limit it.
      const max = status === undefined ? limit - data.length : null
      const isEmpty = 'seqs' in portion && portion.seqs.length === 0
      const rows = isEmpty ? [] : await select(portion, query, terms, max)
      for (const summary of await summariesOf(rows)) {
        if (status !== undefined && summary.status !== status) continue
        data.push(summary)
        if (data.length === limit) return endPage(data, summary.seq)
      }
      if (performance.now() > until) return endPage(data, portion.reached)
      await turn()
    }
    return { data, nextCursor: null, searchedTo: await timeOf(1) }
  }

  return {
    async events(query) {
      const page = await find(query)
      return query.isDetailed ? withDetails(page) : page
    },
  }
}

/** The first 16 distinct terms of a search, separated by white space. */
function termsOf(q: string | undefined): readonly string[] {
  return [...new Set((q ?? '').split(/\s+/u).filter((term) => term !== ''))].slice(0, maxTerms)
}

function hourOf(at: number): number {
  return Math.max(-1, Math.min(Math.floor(at / hourMs), 2 ** 31 - 1))
}

function startsWith(column: RawBuilder<unknown>, text: string) {
  const value = sql`cast(${text} as text)`
  return sql<boolean>`substr(${column}, 1, length(${value})) = ${value}`
}

/** The address of a key follows its first colon; a key that begins with a colon has none: see `partsOfKey`. */
function hasAddress(key: RawBuilder<unknown>, address: string) {
  const value = sql`cast(${`:${address}`} as text)`
  const colons = (text: RawBuilder<unknown>) => sql`length(${text}) - length(replace(${text}, ':', ''))`
  return sql<boolean>`length(${key}) > length(${value}) and ${colons(key)} = ${colons(value)} and
    substr(${key}, length(${key}) - length(${value}) + 1) = ${value}`
}
