import { setTimeout as wait } from 'node:timers/promises'
import { ask } from '../../support/postgres.ts'
import { benchSecret, runLoad, startProduct } from '../server-process.ts'
import type { BenchPostgres } from './server.ts'

export interface BurstOptions {
  readonly replicas: number
  readonly events: number
  readonly keys: number
  readonly connections: number
  readonly handlersDir: string
  /** `stored`: until each event is. `handled`: until all runs have ended, too. `backlog`: until the runs of events that are there have. */
  readonly until: 'stored' | 'handled' | 'backlog'
}

export interface Burst {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly refused: number
  /** Events in one transaction, in the mean. */
  readonly batch: number
  /** Processor time of the server, and of all replicas, for an event. */
  readonly serverMicros: number
  readonly replicaMicros: number
}

const warmUpEvents = 10_000
let bursts = 0

/** One burst of events to replicas and a database of their own, after a shorter one that does not count. */
export async function measureBurst(postgres: BenchPostgres, options: BurstOptions): Promise<Burst> {
  const { replicas, handlersDir, events, connections, keys, until } = options
  const databaseUrl = await postgres.createDatabase(`burst_${++bursts}`)
  const products = await Promise.all(Array.from({ length: replicas }, () => startProduct({ databaseUrl, handlersDir })))
  try {
    await send(warmUpEvents)
    await allHandled()
    await ask(databaseUrl, 'VACUUM ANALYZE')
    if (until !== 'backlog') return await measure(() => send(events), until === 'handled')
    await products[0]?.pause(true)
    const sent = await send(events)
    return await measure(async () => {
      await products[0]?.pause(false)
      return { ...sent, seconds: 0 }
    }, true)
  } finally {
    for (const product of products) await product.stop()
  }

  async function measure(work: () => Promise<Awaited<ReturnType<typeof send>>>, isWholeWay: boolean): Promise<Burst> {
    const [calls, server, own] = [await acceptCalls(), postgres.cpuSeconds(), replicaCpu()]
    const { seconds, ...load } = await work()
    const answeredAt = performance.now()
    if (isWholeWay) await allHandled()
    const wholeSeconds = seconds + (isWholeWay ? (performance.now() - answeredAt) / 1_000 : 0)
    return {
      ...load,
      perSecond: events / wholeSeconds,
      batch: events / ((await acceptCalls()) - calls),
      serverMicros: ((postgres.cpuSeconds() - server) * 1e6) / events,
      replicaMicros: ((replicaCpu() - own) * 1e6) / events,
    }
  }

  async function send(count: number) {
    const { seconds, p50Ms, p99Ms, refused } = await runLoad({
      ports: products.map(({ port }) => port),
      path: '/webhooks',
      secret: benchSecret,
      connections,
      events: count,
      idPrefix: `${process.pid}-${++bursts}-`,
      randomIds: false,
      keys,
    })
    return { seconds, p50Ms, p99Ms, refused }
  }

  /** Asks the database, for a replica would have to count all of them. */
  async function allHandled(): Promise<void> {
    while ((await ask(databaseUrl, 'SELECT 1 FROM inbox.run WHERE state < 5 LIMIT 1')).length > 0) await wait(20)
  }

  function replicaCpu(): number {
    return products.reduce((sum, product) => sum + product.cpuSeconds(), 0)
  }

  async function acceptCalls(): Promise<number> {
    const [row] = await ask<{ calls: string }>(
      databaseUrl,
      `SELECT calls FROM pg_stat_user_functions WHERE schemaname = 'inbox' AND funcname = 'accept'`,
    )
    return Number(row?.calls ?? 0)
  }
}
