import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { ask } from '../../support/postgres.ts'
import { benchSecret, runLoad, startProduct } from '../server-process.ts'
import type { BenchPostgres } from './server.ts'

export interface BurstOptions {
  readonly replicas: number
  readonly events: number
  readonly keys: number
  readonly connections: number
  readonly handlersDir: string
  /** End of the measurement: events stored, runs ended too, or runs of stored events ended. */
  readonly until: 'stored' | 'handled' | 'backlog'
  /** True: a transaction stays open, so that VACUUM removes no row version. Default: false. */
  readonly hasOldSnapshot?: boolean
}

const warmUpEvents = 10_000
let bursts = 0

/** Sends one burst of events to replicas with their own database, after a shorter warm-up. */
export async function measureBurst(postgres: BenchPostgres, options: BurstOptions) {
  const { replicas, handlersDir, events, connections, keys, until, hasOldSnapshot = false } = options
  const databaseUrl = await postgres.createBenchDatabase()
  const products = await Promise.all(Array.from({ length: replicas }, () => startProduct({ databaseUrl, handlersDir })))

  const reader = new Client({ connectionString: databaseUrl })

  async function send(count: number) {
    const { seconds, p50Ms, p99Ms, refused } = await runLoad({
      ports: products.map(({ port }) => port),
      path: '/webhooks',
      secret: benchSecret,
      connections,
      events: count,
      idPrefix: `${process.pid}-${++bursts}-`,
      keys,
    })
    return { seconds, p50Ms, p99Ms, refused }
  }

  /** Asks the database, because a replica would count all runs. */
  async function untilHandled(): Promise<number> {
    const from = performance.now()
    while ((await ask(databaseUrl, 'SELECT 1 FROM inbox.run WHERE state < 5 LIMIT 1')).length > 0) await wait(20)
    return (performance.now() - from) / 1_000
  }

  async function counters() {
    const [row] = await ask<{ calls: string }>(
      databaseUrl,
      `SELECT calls FROM pg_stat_user_functions WHERE schemaname = 'inbox' AND funcname = 'accept'`,
    )
    // Approximate: a session reports its row counts up to ten seconds late.
    const [written] = await ask<{ wal: string; dead: string }>(
      databaseUrl,
      `SELECT pg_current_wal_insert_lsn() - '0/0' AS wal, sum(n_tup_upd + n_tup_del) AS dead FROM pg_stat_user_tables WHERE schemaname = 'inbox'`,
    )
    const replicaCpu = products.reduce((sum, product) => sum + product.cpuSeconds(), 0)
    return {
      calls: Number(row?.calls ?? 0),
      server: postgres.cpuSeconds(),
      replicas: replicaCpu,
      walBytes: Number(written?.wal ?? 0),
      deadRows: Number(written?.dead ?? 0),
    }
  }

  try {
    if (hasOldSnapshot) {
      await reader.connect()
      await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM inbox.event LIMIT 1')
    }
    await send(warmUpEvents)
    await untilHandled()
    await ask(databaseUrl, 'VACUUM ANALYZE')
    // The next change of each page writes the whole page to the log, as after every checkpoint.
    await ask(databaseUrl, 'CHECKPOINT')
    let before = await counters()
    if (until === 'backlog') await products[0]?.pause(true)
    const { seconds: sendSeconds, ...load } = await send(events)
    if (until === 'backlog') {
      before = { ...(await counters()), calls: before.calls }
      await products[0]?.pause(false)
    }
    const handleSeconds = until === 'stored' ? 0 : await untilHandled()
    const after = await counters()
    return {
      ...load,
      perSecond: events / (handleSeconds + (until === 'backlog' ? 0 : sendSeconds)),
      /** Mean number of events per transaction. */
      batch: events / (after.calls - before.calls),
      /** Processor time per event of the server, and of all replicas. */
      serverMicros: ((after.server - before.server) * 1e6) / events,
      replicaMicros: ((after.replicas - before.replicas) * 1e6) / events,
      walBytes: (after.walBytes - before.walBytes) / events,
      /** Row versions that updates and deletions leave to VACUUM. */
      deadRows: (after.deadRows - before.deadRows) / events,
    }
  } finally {
    await reader.end()
    for (const product of products) await product.stop()
  }
}
