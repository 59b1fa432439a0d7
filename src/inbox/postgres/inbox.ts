import type { Clock } from '../../clock.ts'
import { InboxError, messageOf } from '../../errors.ts'
import type { ClusterPort, ClusterState } from '../cluster-port.ts'
import { Jobs } from '../jobs.ts'
import type { HandlerRoute, Inbox } from '../port.ts'
import { patternsOf } from '../routes.ts'
import { createAccept } from './accept.ts'
import { createActs } from './acts.ts'
import { readClusterState } from './cluster-state.ts'
import { createDatabase, type Database } from './database.ts'
import { createGaps } from './gaps.ts'
import { heedClock } from './heed-clock.ts'
import { createIndex, type IndexFilling } from './index/index.ts'
import { limited } from './limited.ts'
import { listen } from './listen.ts'
import { openSchema, type MigrateSetting } from './migrate.ts'
import { refuseMoving } from './moving.ts'
import { createReplays } from './replays.ts'
import { joinCluster, newReplicaId } from './replicas.ts'
import { createSubscriptions } from './subscriptions.ts'
import { createViews } from './views/views.ts'
import { createWork } from './work.ts'

export interface PostgresInboxOptions {
  readonly url: string
  readonly clock: Clock
  /** What to do about a schema that is older than this program: default `refuse`. An empty database gets its schema in any case. */
  readonly migrate?: MigrateSetting
  /** Is told of what goes wrong in the background. */
  readonly onWarning?: (text: string) => void
  /** How long a replica may be silent before its runs are taken from it, in milliseconds of the database's clock. Default 10,000. */
  readonly silentMs?: number
  /** Who fills the index: default `by itself`. */
  readonly indexFilling?: IndexFilling
}

export interface PostgresInbox extends Inbox, ClusterPort {}

/** Always the same one: what is made of routes is made once. */
const noRoutes: readonly HandlerRoute[] = []

/**
 * The inbox of a cluster: every process that opens the same database is a replica of it. Throws `database_newer`, `database_older`,
 * `config_invalid` or `store_unavailable` if the database cannot be served.
 */
export async function createPostgresInbox(options: PostgresInboxOptions): Promise<PostgresInbox> {
  const { url, clock, migrate = 'refuse', onWarning = () => {}, silentMs = 10_000, indexFilling } = options
  await openSchema(url, migrate)
  const id = newReplicaId()
  const applicationName = `onchain-inbox ${id}`
  const db = createDatabase({ url, applicationName })
  await refuseMoving(db).catch(async (error: unknown) => {
    await db.close()
    throw error
  })
  let routes: readonly HandlerRoute[] | undefined
  let closing: Promise<void> | undefined

  const cluster = await orClose(db, joinCluster({ db, clock, id, silentMs, onWarning, onReaped: () => work.wake() }))
  const heed = await orClose(db, heedClock(db, clock))
  const work = createWork({ db, clock, replicaId: cluster.id, onWarning, heed })
  const gaps = createGaps({ db, clock, onWarning })
  const accept = createAccept({ db, clock, routes: () => routes ?? noRoutes, gaps, heed })
  const index = createIndex({
    db,
    clock,
    isLeader: () => cluster.isLeader(),
    onWarning,
    ...(indexFilling && { filling: indexFilling }),
  })
  // However many people look, there are connections for deliveries and runs.
  const views = createViews({ db: limited(db, 4), clock, find: index.find })
  const wake = () => work.wake()
  const replays = createReplays({ db, clock, routes: () => routes, isLeader: () => cluster.isLeader(), wake })
  const jobs = new Jobs(replays.jobs, clock, (job, error) => onWarning(`${job} does not go on: ${messageOf(error)}`))
  const listener = listen({
    url,
    applicationName,
    onWake() {
      work.wake()
      jobs.poke()
    },
    onWarning,
  })
  const acts = createActs({ db, clock, accept, replays, wake, heed })
  const subscriptions = createSubscriptions({ db, clock })
  const stateListeners: Parameters<ClusterPort['onState']>[0][] = []
  let state: ClusterState | null = null
  let beatenAt = performance.now()
  cluster.onBeat(async () => {
    await gaps.beat()
    await replays.refresh()
    jobs.poke()
    const before = state
    const wasSilent = performance.now() - beatenAt > silentMs
    beatenAt = performance.now()
    const now = await readClusterState(db, { replicas: cluster.alive(), wasSilent })
    state = now
    for (const listener of stateListeners) listener(now, before)
  })

  async function closeAll(): Promise<void> {
    jobs.stop()
    await work.close()
    await index.close()
    await listener.close()
    await gaps.end().catch(() => {})
    await cluster.leave().catch(() => {})
    await db.close()
  }

  function assertOpen(): void {
    if (closing !== undefined) throw new InboxError('shutting_down', 'the inbox is closed')
  }

  return {
    ...views,
    ...acts,
    ...subscriptions,
    ...index.views,
    replicaId: cluster.id,
    replicas: () => cluster.replicas(),
    alive: () => cluster.alive(),
    onState: (listener) => void stateListeners.push(listener),
    tellLoad: (load) => cluster.tellLoad(load),
    async accept(batch) {
      assertOpen()
      const results = await accept.accept(batch)
      work.wake()
      return results
    },
    async register(given) {
      assertOpen()
      const concurrencies = await work.register(given)
      routes = given
      await replays.refresh()
      jobs.poke()
      return concurrencies
    },
    claim: (request) => work.claim(request),
    readState: (handler, query) => work.readState(handler, query),
    settle: (outcomes) => work.settle(outcomes),
    retire: (owner) => work.retire(owner),
    release: (leases) => work.release(leases),
    reap: (owner) => work.reap(owner),
    async startReplay(replay, by) {
      const record = await replays.start(replay, by)
      jobs.poke()
      return record
    },
    cancelReplay: (id, by) => replays.cancel(id, by),
    countReplay: async (filter) => replays.count(filter, patternsOf(filter.handler, routes)),
    gaps: () => gaps.list(),
    startServing: () => gaps.start(),
    acknowledgeGaps: (by) => gaps.acknowledge(by),
    async rebuildIndex(by) {
      await acts.note('index.rebuild', {}, by)
      await index.rebuild()
    },
    health: () => (closing === undefined ? cluster.health() : { ok: false, reason: 'the inbox is closed' }),
    // A database that is away comes back: there is no failure that only a new start would mend.
    onFailure() {},
    close: () => (closing ??= closeAll()),
  }
}

/** What fails at the start leaves nothing open. */
async function orClose<T>(db: Database, step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (error) {
    await db.close()
    throw error
  }
}
