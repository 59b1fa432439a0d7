import { type InboxStats, type QueryStore, runStates, type RunCounts } from '../port.ts'
import type { Clock } from '../../base/clock.ts'
import { hourMs } from '../tally.ts'
import { runState } from '../run-sql.ts'
import { turn, type ViewStore, type Tables } from './tables.ts'
import { sql, type ExpressionBuilder } from 'kysely'

/** Larger tables are not counted on every call. */
const fewRows = 5_000
const isLarge = (count: number) => count > fewRows

/** Counts for people and metrics. */
export function createStats(
  store: ViewStore,
  { quarantineGroups }: Pick<QueryStore, 'quarantineGroups'>,
  clock: Pick<Clock, 'now'>,
) {
  const { db } = store
  const runCounts = createRunCounts(store)
  const conflicts = createCachedCount(countConflicts, isLarge)
  const quarantined = createCachedCount(async () => {
    return (await quarantineGroups()).reduce((total, { count }) => total + count, 0)
  }, isLarge)

  const deadLastHour = createCachedCount(countDeadLastHour, isLarge)

  /** Counts in the order of the time of death. */
  function countDeadLastHour(): Promise<number> {
    const since = clock.now() - hourMs
    const dead = db.selectFrom('run').select(['ended_at', 'id']).where(isDead).orderBy('ended_at').orderBy('id')
    return countInParts({ ended_at: since, id: 0 }, ({ ended_at: at, id }) =>
      dead.where((eb) => eb(eb.refTuple('ended_at', 'id'), '>', eb.tuple(at, id))).limit(fewRows),
    )
  }

  function countConflicts(): Promise<number> {
    const columns = ['received_at', 'event_seq', 'digest'] as const
    const conflicts = db
      .selectFrom('conflict')
      .select(columns)
      .orderBy('received_at')
      .orderBy('event_seq')
      .orderBy('digest')
    return countInParts({ received_at: -1, event_seq: 0, digest: '' }, ({ received_at: at, event_seq: seq, digest }) =>
      conflicts.where((eb) => eb(eb.refTuple(...columns), '>', eb.tuple(at, seq, digest))).limit(fewRows),
    )
  }

  /** When the events of these runs were received, by run id. */
  async function receivedAtOf(runIds: readonly number[]): Promise<ReadonlyMap<number, number | null>> {
    if (runIds.length === 0) return new Map()
    const rows = await db
      .selectFrom('run')
      .where('run.id', 'in', runIds)
      .select((eb) => [
        'run.id',
        eb.selectFrom('event').select('event.received_at').whereRef('event.seq', '=', 'run.event_seq').as('at'),
      ])
      .execute()
    return new Map(rows.map(({ id, at }) => [id, at]))
  }

  return {
    deadLastHour,
    async stats(): Promise<InboxStats> {
      const newest = await db.selectFrom('event').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
      const meta = await db
        .selectFrom('meta')
        .select(['name', 'value'])
        .where('name', 'in', ['paused', 'missing_seqs'])
        .execute()
      const metaOf = (name: string) => meta.find((row) => row.name === name)?.value ?? 0
      const handlers = await db
        .selectFrom('handler')
        .select(['id', 'name as handler', 'paused', 'concurrency', 'superseded', 'backfill_seq as backfillSeq'])
        .orderBy('name')
        .execute()
      const loaded = await store.loadedHandlers?.()
      const counts = await runCounts()
      const oldestRuns = [...counts.values()].map(({ oldestRun }) => oldestRun).filter(Number.isFinite)
      const receivedAt = await receivedAtOf(oldestRuns)
      return {
        lastSeq: newest?.seq ?? 0,
        quarantined: await quarantined(),
        conflicts: await conflicts(),
        paused: metaOf('paused') === 1,
        handlers: handlers.map(({ id, paused, ...handler }) => {
          const { oldestRun, ...runs } = counts.get(id) ?? noCounts
          return {
            ...handler,
            paused: Boolean(paused),
            ...runs,
            oldestOpenAt: receivedAt.get(oldestRun) ?? null,
            ...(loaded && { isLoaded: loaded.has(handler.handler) }),
          }
        }),
        oldestOpenAt: receivedAt.get(Math.min(...oldestRuns)) ?? null,
        sizeBytes: await store.sizeBytes(),
        missingSeqs: metaOf('missing_seqs'),
      }
    },
  }
}

/** Counts rows in index order, `fewRows` at a time. `next`: the query for the rows after a row. */
async function countInParts<T>(first: T, next: (after: T) => { execute(): Promise<T[]> }): Promise<number> {
  let total = 0
  for (let after: T | undefined = first; after !== undefined; await turn()) {
    const rows: T[] = await next(after).execute()
    total += rows.length
    after = rows.length === fewRows ? rows.at(-1) : undefined
  }
  return total
}

/** Open and dead runs of a handler. `oldestRun`: id of its oldest open run, dead letters excluded; Infinity if none is open. */
export interface HandlerCounts extends RunCounts {
  readonly oldestRun: number
}

const noCounts: HandlerCounts = {
  waiting: 0,
  ready: 0,
  suspect: 0,
  running: 0,
  held: 0,
  dead: 0,
  oldestRun: Infinity,
}

export interface CountLimits {
  /** More runs are not counted on every call. */
  readonly few: number
  readonly perStatement: number
}

interface CountRow {
  readonly handlerId: number
  readonly state: number
  readonly count: number
  readonly oldest: number
}

type Part = CountRow & { readonly lastKey: string | null; readonly lastId: number | null }
type Runs = ExpressionBuilder<Tables, 'run'>

const { held } = runState
// Literal numbers, because they must match the conditions of the indexes.
const isOpen = (eb: Runs) => eb.and([eb('state', '<', eb.lit(runState.dead)), eb('state', '<', eb.lit(runState.held))])
const isDead = (eb: Runs) =>
  eb.and([eb('state', '>=', eb.lit(runState.held)), eb('state', '<=', eb.lit(runState.dead))])

/**
 * Counts open and dead runs by handler, from their indexes alone. A few runs are counted on every call. More are counted in parts,
 * because a long statement blocks checkpoints and vacuum; that count is cached for some time.
 */
export function createRunCounts(
  { db }: ViewStore,
  { few, perStatement }: CountLimits = { few: 20_000, perStatement: 20_000 },
): () => Promise<ReadonlyMap<number, HandlerCounts>> {
  const manyOpen = createCachedCount(countOpen)
  const manyDead = createCachedCount(() => countById(deadRuns))

  // In index order, so that only the index is read.
  const openRuns = db
    .selectFrom('run')
    .select(['handler_id', 'state', 'key', 'id'])
    .where(isOpen)
    .orderBy('handler_id')
    .orderBy('replay_id')
    .orderBy('key')
    .orderBy('id')
  const deadRuns = db
    .selectFrom('run')
    .select(['handler_id', 'state', sql<string | null>`cast(null as text)`.as('key'), 'id'])
    .where(isDead)
    .orderBy('id')
  type Selected = typeof openRuns

  const counted = (runs: Selected) =>
    db
      .selectFrom(runs.as('part'))
      .groupBy(['handler_id', 'state'])
      .select((eb) => [
        'handler_id as handlerId',
        'state',
        eb.fn.countAll<number>().as('count'),
        eb.fn.min('id').as('oldest'),
      ])

  /** Counts the first of these runs, and returns where to continue. */
  function readPart(runs: Selected): Promise<Part[]> {
    return db
      .with(
        (cte) => cte('part').materialized(),
        () => runs.limit(perStatement),
      )
      .with('place', (of) =>
        of.selectFrom('part').select(['key', 'id']).orderBy('key', 'desc').orderBy('id', 'desc').limit(1),
      )
      .selectFrom('part')
      .groupBy(['handler_id', 'state'])
      .select((eb) => [
        'handler_id as handlerId',
        'state',
        eb.fn.countAll<number>().as('count'),
        eb.fn.min('id').as('oldest'),
        eb.selectFrom('place').select('place.key').as('lastKey'),
        eb.selectFrom('place').select('place.id').as('lastId'),
      ])
      .execute()
  }

  /** Counts runs in the order of their ids. */
  async function countById(runs: Selected, after = 0): Promise<CountRow[]> {
    const all: CountRow[] = []
    for (let id: number | null = after; id !== null; await turn()) {
      const part: Part[] = await readPart(runs.where('id', '>', id))
      all.push(...part)
      id = totalOf(part) === perStatement ? (part[0]?.lastId ?? null) : null
    }
    return all
  }

  async function countOpen(): Promise<CountRow[]> {
    const all: CountRow[] = []
    let generation = await nextGeneration(0, -1)
    while (generation !== undefined) {
      const { handlerId, replayId } = generation
      const runs = openRuns.where('handler_id', '=', handlerId).where('replay_id', '=', replayId)
      all.push(...(await countById(runs.where('key', 'is', null))))
      let [key, id]: [string | null, number] = ['', 0]
      while (key !== null) {
        // Don't use `(key, id) > …`: SQLite would read all runs of the key each time.
        all.push(...(await countById(runs.where('key', '=', key), id)))
        const part: Part[] = await readPart(runs.where('key', '>', key))
        all.push(...part)
        const last: Part | undefined = totalOf(part) === perStatement ? part[0] : undefined
        ;[key, id] = [last?.lastKey ?? null, last?.lastId ?? 0]
      }
      generation = await nextGeneration(handlerId, replayId)
    }
    return all
  }

  function nextGeneration(handlerId: number, replayId: number) {
    return db
      .selectFrom('run')
      .select(['handler_id as handlerId', 'replay_id as replayId'])
      .where('state', '<', (eb) => eb.lit(runState.dead))
      .where((eb) => eb(eb.refTuple('handler_id', 'replay_id'), '>', eb.tuple(handlerId, replayId)))
      .orderBy('handler_id')
      .orderBy('replay_id')
      .limit(1)
      .executeTakeFirst()
  }

  return async () => {
    // One statement, so that no run is missed or counted twice.
    const rows = await counted(openRuns.limit(few + 1))
      .unionAll(counted(deadRuns.limit(few + 1)))
      .execute()
    const open = rows.filter((row) => row.state < held)
    const dead = rows.filter((row) => row.state >= held)
    return byHandler([
      ...(totalOf(open) > few ? await manyOpen() : open),
      ...(totalOf(dead) > few ? await manyDead() : dead),
    ])
  }
}

function totalOf(rows: readonly CountRow[]): number {
  return rows.reduce((total, { count }) => total + count, 0)
}

function byHandler(rows: readonly CountRow[]): ReadonlyMap<number, HandlerCounts> {
  const counts = new Map<number, { -readonly [K in keyof HandlerCounts]: HandlerCounts[K] }>()
  for (const { handlerId, state, count, oldest } of rows) {
    const ofHandler = counts.get(handlerId) ?? { ...noCounts }
    counts.set(handlerId, ofHandler)
    const name = runStates[state]
    if (name !== undefined && name in ofHandler) ofHandler[name as keyof RunCounts] += count
    if (state < held) ofHandler.oldestRun = Math.min(ofHandler.oldestRun, oldest)
  }
  return counts
}

/** A slow count uses at most 1/20 of the time, however often it is called. */
const shareOfTime = 20
const minCachedMs = 1_000
/** Maximum age of a cached count. */
const maxCachedMs = 60_000

/** Caches a large count for a time that depends on how long it took, then counts again in the background. `elapsed`: monotonic milliseconds. */
export function createCachedCount<T>(
  count: () => Promise<T>,
  isLarge: (value: T) => boolean = () => true,
  elapsed: () => number = () => performance.now(),
): () => Promise<T> {
  let cached: { readonly value: T; readonly at: number; readonly cachedMs: number } | undefined
  let counting: Promise<T> | undefined

  async function countAnew(): Promise<T> {
    const startedAt = elapsed()
    const value = await count()
    const at = elapsed()
    cached = isLarge(value) ? { value, at, cachedMs: Math.max(minCachedMs, (at - startedAt) * shareOfTime) } : undefined
    return value
  }

  return async () => {
    const ageMs = cached === undefined ? Infinity : elapsed() - cached.at
    if (cached !== undefined && ageMs <= cached.cachedMs) return cached.value
    counting ??= countAnew().finally(() => (counting = undefined))
    if (cached === undefined || ageMs > Math.max(maxCachedMs, 2 * cached.cachedMs)) return counting
    // A failure here reaches no caller. The next call counts again.
    counting.catch(() => {})
    return cached.value
  }
}
