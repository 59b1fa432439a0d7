import PQueue from 'p-queue'
import type { Clock } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { ClusterPort, ClusterState } from '../cluster-port.ts'
import { Jobs } from '../jobs.ts'
import { viewNames, type Inbox } from '../port.ts'
import { selectionsOf } from '../routes.ts'
import { remote } from '../rpc.ts'
import { isClaimable, runState } from '../run-sql.ts'
import type { Views } from '../views/views.ts'
import { createAccept } from './accept.ts'
import { createActions } from './operator-actions.ts'
import { createDatabase, type Database, type Rows } from './database.ts'
import { createDefinitions } from './definitions.ts'
import { createGaps } from './gaps.ts'
import type { MigrateSetting, OnUpgrade, OnWarning } from '../types.ts'
import { openSchema } from './migrate.ts'
import { createSourceKeys, refuseHalfMoved } from './records.ts'
import type { Health } from './pulse.ts'
import { createReplays } from './replays.ts'
import { joinCluster, newReplicaId } from './replicas.ts'
import { createWork } from './claims.ts'

export interface PostgresInboxOptions {
  readonly url: string
  readonly clock: Clock
  /** Handling of an older schema. Default `refuse`. An empty database always gets its schema. */
  readonly migrate?: MigrateSetting
  readonly onWarning?: OnWarning
  readonly onUpgrade?: OnUpgrade
  /** Milliseconds without a heartbeat after which other replicas take over a replica's runs. Default 10,000. */
  readonly silentMs?: number
  /** Milliseconds that a handler still gets runs after no replica holds it. Default 24 hours. */
  readonly orphanMs?: number
  /** See `DatabaseOptions`. */
  readonly now?: () => number
}

export interface PostgresInbox extends Inbox, ClusterPort {}

/**
 * The inbox of a cluster: every process that opens the same database is a replica of it. Throws `database_newer`, `database_older`,
 * `config_invalid` or `store_unavailable` if the database cannot be served.
 */
export async function createPostgresInbox(options: PostgresInboxOptions): Promise<PostgresInbox> {
  const { url, clock, migrate = 'refuse', onWarning = () => {}, onUpgrade, silentMs = 10_000, now } = options
  const { orphanMs = 86_400_000 } = options
  await openSchema(url, migrate, undefined, onUpgrade)
  const id = newReplicaId()
  const applicationName = `onchain-inbox ${id}`
  let onWake = () => {}
  const listener = { onWake: () => onWake(), onWarning }
  const db = createDatabase({ url, applicationName, listener, ...(now && { now }) })
  let closing: Promise<void> | undefined

  await orClose(db, refuseHalfMoved(db))
  const cluster = await orClose(db, joinCluster({ db, id, silentMs, onWarning, onReaped: () => work.wake() }))
  const work = createWork({ db, clock, replicaId: cluster.id, onWarning })
  const gaps = createGaps({ db, onWarning })
  const wake = () => work.wake()
  const definitions = createDefinitions({ db, replicaId: cluster.id, silentMs, orphanMs })
  const accept = createAccept({ db, clock, definitions, gaps, work })
  // Leaves connections for deliveries and runs, however many people use the console.
  const reads = new PQueue({ concurrency: 4 })
  const readDb: Rows = { query: (text, values) => reads.add(() => db.query(text, values)) }
  let loadedViews: Promise<Views> | undefined
  // The first call loads Kysely.
  const loadViews = () => (loadedViews ??= import('./views.ts').then(({ createViews }) => createViews(readDb, clock)))
  const views = remote<Views>(async (name, args) => {
    const view = (await loadViews())[name as keyof Views] as (...args: readonly unknown[]) => Promise<unknown>
    return view(...args)
  }, viewNames)
  const replays = createReplays({ db, definitions, isLeader: () => cluster.isLeader(), wake })
  const jobs = new Jobs(replays.jobs, clock, (job, error) =>
    onWarning('job step failed', { job, error: messageOf(error) }),
  )
  onWake = () => {
    work.wake()
    jobs.poke()
  }
  const actions = createActions({ db, clock, accept, definitions, wake })
  const stateListeners: Parameters<ClusterPort['onState']>[0][] = []
  let state: ClusterState | null = null
  let wasSilent = false
  cluster.onBeat(async (beat) => {
    wasSilent ||= beat.wasSilent
    await gaps.beat()
    await definitions.beat()
    await replays.refresh()
    jobs.poke()
    const before = state
    const now = await readClusterState(db, { replicas: cluster.alive(), wasSilent })
    state = now
    wasSilent = false
    for (const listener of stateListeners) listener(now, before)
  })

  async function closeAll(): Promise<void> {
    jobs.stop()
    await work.close()
    await gaps.end().catch(() => {})
    await accept.flushed()
    await cluster.leave().catch(() => {})
    await db.close()
  }

  function assertOpen(): void {
    if (closing !== undefined) throw new InboxError('shutting_down', 'the inbox is closed')
  }

  function health(): Health {
    if (closing !== undefined) return { ok: false, reason: 'the inbox is closed' }
    return cluster.health()
  }

  return {
    ...views,
    ...actions,
    ...createSourceKeys(db),
    ...work,
    replicaId: cluster.id,
    replicas: () => cluster.replicas(),
    alive: () => cluster.alive(),
    onState: (listener) => void stateListeners.push(listener),
    isLeader: () => cluster.isLeader(),
    async accept(batch) {
      assertOpen()
      return accept.accept(batch)
    },
    async register(routes) {
      assertOpen()
      const concurrencies = await definitions.register(routes)
      // If this fails, the next heartbeat reads them.
      await replays.refresh().catch(() => {})
      jobs.poke()
      return concurrencies
    },
    async startReplay(replay, by) {
      const record = await replays.start(replay, by)
      jobs.poke()
      return record
    },
    cancelReplay: (id, by) => replays.cancel(id, by),
    countReplay: async (filter) =>
      views.countReplay(filter, selectionsOf(filter.handler, (await definitions.read(db)).routes)),
    async retryQuarantined(id, event, by) {
      const result = await actions.retryQuarantined(id, event, by)
      if (result === 'accepted') gaps.arrived(event)
      return result
    },
    async gaps() {
      await gaps.flush()
      return views.gaps()
    },
    startServing: () => gaps.start(),
    acknowledgeGaps: (by) => gaps.acknowledge(by),
    health,
    revision: async () => null,
    // An unavailable database recovers.
    onFailure() {},
    close: () => (closing ??= closeAll()),
  }
}

/** Closes `opened` if a step of the start fails. */
async function orClose<T>(opened: Pick<Database, 'close'>, step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (error) {
    await opened.close()
    throw error
  }
}

interface HandlerRow {
  readonly name: string
  readonly paused: boolean
  /** Null unless an operator set one. */
  readonly concurrency: number | null
  readonly hasSuspects: boolean
}

/** Reads state that other replicas can change. `known`: the part that this process knows without reading. */
async function readClusterState(
  db: Database,
  known: Pick<ClusterState, 'replicas' | 'wasSilent'>,
): Promise<ClusterState> {
  const handlers = await db.query<HandlerRow>(
    `SELECT h.name, h.paused, h.concurrency, coalesce(s.is_there, false) AS "hasSuspects"
     FROM inbox.handler h LEFT JOIN LATERAL (
       SELECT true AS is_there FROM inbox.run r WHERE r.state = ${runState.suspect} AND ${isClaimable('r.')} AND r.handler_id = h.id LIMIT 1
     ) s ON true`,
  )
  const [row] = await db.query<{ paused: boolean }>(
    `SELECT coalesce((SELECT value = 1 FROM inbox.meta WHERE name = 'paused'), false) AS paused`,
  )
  const isAllPaused = row?.paused ?? false
  const suspects = handlers.filter(({ hasSuspects, paused }) => hasSuspects && !paused && !isAllPaused)
  return {
    ...known,
    paused: new Set(handlers.filter(({ paused }) => paused).map(({ name }) => name)),
    isAllPaused,
    concurrencies: new Map(
      handlers.flatMap(({ name, concurrency }) => (concurrency === null ? [] : [[name, concurrency]])),
    ),
    suspects: new Set(suspects.map(({ name }) => name)),
  }
}
