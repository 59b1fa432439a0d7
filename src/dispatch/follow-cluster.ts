import type { ClusterPort } from '../inbox/cluster-port.ts'
import type { DispatchOrder, HandlerInfo } from './runner-protocol.ts'

interface ClusterFollower {
  readonly handlers: readonly Pick<HandlerInfo, 'name'>[]
  send(order: DispatchOrder): void
  /** Called when handlers may have crash suspects. */
  lookForSuspects(): void
}

/** Applies changes from other processes: pauses, concurrency, shares of rates, and suspects of dead replicas. */
export function followCluster(cluster: Pick<ClusterPort, 'alive' | 'onState'>, runner: ClusterFollower): void {
  runner.send({ kind: 'share', processes: cluster.alive() })
  cluster.onState((now, before) => {
    if (now.replicas !== before?.replicas) runner.send({ kind: 'share', processes: now.replicas })
    // Another replica may own the runs that have not started.
    if (now.wasSilent) runner.send({ kind: 'recall', handler: null })
    for (const handler of new Set([...now.concurrencies.keys(), ...(before?.concurrencies.keys() ?? [])])) {
      const concurrency = now.concurrencies.get(handler) ?? null
      if (before !== null && concurrency !== (before.concurrencies.get(handler) ?? null))
        runner.send({ kind: 'concurrency', handler, concurrency })
    }
    if (now.isAllPaused && before?.isAllPaused === false) runner.send({ kind: 'recall', handler: null })
    for (const handler of now.paused)
      if (before?.paused.has(handler) === false) runner.send({ kind: 'recall', handler })
    // Only if this replica's handlers have suspects, because counting open runs is expensive.
    if (runner.handlers.some(({ name }) => now.suspects.has(name))) runner.lookForSuspects()
  })
}
