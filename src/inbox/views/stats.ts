import { type InboxStats, runStates, type RunCounts } from '../port.ts'
import type { Clock } from '../../base/clock.ts'
import { hourMs } from '../tally.ts'
import { runState } from '../run-sql.ts'
import { deadRuns, openRuns, type ViewStore } from './tables.ts'
import { sql } from 'kysely'

/** Larger tables are not counted on every call. */
const fewRows = 5_000
const isLarge = (count: number) => count > fewRows

/** Counts for people and metrics. */
export function createStats(store: ViewStore, clock: Pick<Clock, 'now'>) {
  const { db } = store
  const runCounts = createRunCounts(store)
  const all = db.fn.countAll<number>().as('count')
  const countRows = (table: 'conflict' | 'quarantine') =>
    createCachedCount(async () => (await db.selectFrom(table).select(all).executeTakeFirstOrThrow()).count, isLarge)
  const conflicts = countRows('conflict')
  const quarantined = countRows('quarantine')
  const deadLastHour = createCachedCount(async () => {
    const dead = deadRuns(db).where('ended_at', '>=', clock.now() - hourMs)
    return (await dead.select(all).executeTakeFirstOrThrow()).count
  }, isLarge)

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

interface CountRow {
  readonly handlerId: number
  readonly state: number
  readonly count: number
  readonly oldest: number
}

const { held } = runState

/** Counts open and dead runs by handler, from their indexes alone. More than `few` runs are not counted on every call. */
export function createRunCounts({ db }: ViewStore, few = 20_000): () => Promise<ReadonlyMap<number, HandlerCounts>> {
  const columns = ['handler_id', 'state', 'id'] as const
  const allOpen = openRuns(db).where('state', '<', sql.lit(held)).select(columns)
  const allDead = deadRuns(db).orderBy('id').select(columns)

  const counted = (runs: typeof allOpen) =>
    db
      .selectFrom(runs.as('counted'))
      .groupBy(['handler_id', 'state'])
      .select((eb) => [
        'handler_id as handlerId',
        'state',
        eb.fn.countAll<number>().as('count'),
        eb.fn.min('id').as('oldest'),
      ])
  // Without an order, because PostgreSQL might sort all of the runs.
  const manyOpen = createCachedCount(() => counted(allOpen.clearOrderBy()).execute())
  const manyDead = createCachedCount(() => counted(allDead.clearOrderBy()).execute())

  return async () => {
    // One statement, so that no run is missed or counted twice.
    const rows = await counted(allOpen.limit(few + 1))
      .unionAll(counted(allDead.limit(few + 1)))
      .execute()
    const open = rows.filter((row) => row.state < held)
    const dead = rows.filter((row) => row.state >= held)
    return byHandler([
      // A count that takes too long leaves the limited one.
      ...(totalOf(open) > few ? await manyOpen().catch(() => open) : open),
      ...(totalOf(dead) > few ? await manyDead().catch(() => dead) : dead),
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

/** A slow count uses at most 1/20 of the time, however often it is called. Failures within a second are exempt. */
const shareOfTime = 20
const minCachedMs = 1_000
/** Calls get a cached count up to this age, or up to twice its cache time if that is longer. */
const maxCachedMs = 60_000

/**
 * Caches a large count for a time that depends on how long it took, then counts again in the background. A count that fails after more than
 * a second is not repeated for twenty times its duration, at most a minute. Until then calls get the cached value, or the error if there is
 * no recent one. `elapsed`: monotonic milliseconds.
 */
export function createCachedCount<T>(
  count: () => Promise<T>,
  isLarge: (value: T) => boolean = () => true,
  elapsed: () => number = () => performance.now(),
): () => Promise<T> {
  let cached: { readonly value: T; readonly at: number; readonly cachedMs: number } | undefined
  let counting: Promise<T> | undefined
  let failed = { error: undefined as unknown, until: -Infinity }

  async function countAnew(): Promise<T> {
    const startedAt = elapsed()
    const value = await count().catch((error: unknown) => {
      const now = elapsed()
      const tookMs = now - startedAt
      failed = { error, until: now + (tookMs < minCachedMs ? 0 : Math.min(maxCachedMs, tookMs * shareOfTime)) }
      throw error
    })
    const at = elapsed()
    cached = isLarge(value) ? { value, at, cachedMs: Math.max(minCachedMs, (at - startedAt) * shareOfTime) } : undefined
    return value
  }

  return async () => {
    const ageMs = cached === undefined ? Infinity : elapsed() - cached.at
    if (cached !== undefined && ageMs <= cached.cachedMs) return cached.value
    if (elapsed() >= failed.until) counting ??= countAnew().finally(() => (counting = undefined))
    if (cached === undefined || ageMs > Math.max(maxCachedMs, 2 * cached.cachedMs)) {
      if (counting === undefined) throw failed.error
      return counting
    }
    // A failure here reaches no caller.
    counting?.catch(() => {})
    return cached.value
  }
}
