import { setTimeout as wait } from 'node:timers/promises'
import { hostname } from 'node:os'
import { InboxError } from '../base/errors.ts'
import type { Runner } from '../dispatch/runner.ts'
import type { ClusterPort, SinkTry } from '../inbox/cluster-port.ts'
import { openRunsOf, type Inbox } from '../inbox/port.ts'

/** How long one attempt may take, and how long all replicas together. */
const attemptMs = 5_000
const totalMs = 8_000
const pollMs = 50

export interface TrySinkOptions {
  readonly inbox: Pick<Inbox, 'stats' | 'note'>
  readonly runner: Pick<Runner, 'handlers' | 'openBreakers' | 'send'>
  readonly cluster: Pick<ClusterPort, 'replicaId' | 'replicas' | 'requestTry' | 'tryResults' | 'onTry'> | undefined
}

export interface ReplicaTry extends SinkTry {
  readonly replica: string
}

/**
 * Has every process send one item of a sink whose breaker is open. Resolves with each process's result. Throws `not_found` for a name
 * that is not a loaded sink.
 */
export function createTrySink({ inbox, runner, cluster }: TrySinkOptions) {
  async function tryHere(handler: string): Promise<SinkTry> {
    const before = runner.openBreakers.get(handler)
    if (before?.reason !== 'breaker') return { result: 'closed', error: null }
    const row = (await inbox.stats()).handlers.find((stats) => stats.handler === handler)
    if (row === undefined || openRunsOf(row) + row.running === 0) return { result: 'idle', error: null }
    runner.send({ kind: 'try', handler })
    for (const end = performance.now() + attemptMs; performance.now() < end;) {
      await wait(pollMs)
      const now = runner.openBreakers.get(handler)
      if (now?.reason !== 'breaker') return { result: 'sent', error: null }
      if (now.failures > before.failures) return { result: 'failed', error: now.error }
    }
    return { result: 'unanswered', error: null }
  }
  cluster?.onTry(tryHere)

  return async (handler: string, by?: string): Promise<readonly ReplicaTry[]> => {
    if (!runner.handlers.some(({ name, kind }) => name === handler && kind === 'sink'))
      throw new InboxError('not_found', `there is no loaded sink ${JSON.stringify(handler)}`)
    if (cluster === undefined) {
      const result = await tryHere(handler)
      await inbox.note('handler.try', { handler, ...result }, by)
      return [{ replica: `${hostname()}-${process.pid}`, ...result }]
    }
    const living = (await cluster.replicas()).filter(({ isAlive }) => isAlive).map(({ id }) => id)
    const id = await cluster.requestTry(handler, by)
    let results = await cluster.tryResults(id)
    for (
      const end = performance.now() + totalMs;
      performance.now() < end && living.some((replica) => !results.has(replica));
    ) {
      await wait(4 * pollMs)
      results = await cluster.tryResults(id)
    }
    return living.map((replica) => ({ replica, ...(results.get(replica) ?? { result: 'unanswered', error: null }) }))
  }
}
