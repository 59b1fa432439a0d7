import type { ClusterPort } from './cluster-port.ts'
import type { Runner } from '../dispatch/runner.ts'

/** Does in this process what was decided in another: pauses, concurrency, shares of rates, and runs that a replica left behind. */
export function followCluster(
  cluster: Pick<ClusterPort, 'alive' | 'onState'>,
  runner: Pick<Runner, 'handlers' | 'setConcurrency' | 'recall' | 'shareRates' | 'lookForSuspects'>,
): void {
  runner.shareRates(cluster.alive())
  cluster.onState((now, before) => {
    if (now.replicas !== before?.replicas) runner.shareRates(now.replicas)
    // What it has claimed and not begun may be somebody else's by now.
    if (now.wasSilent) runner.recall(null)
    for (const handler of new Set([...now.concurrencies.keys(), ...(before?.concurrencies.keys() ?? [])])) {
      const concurrency = now.concurrencies.get(handler) ?? null
      if (before !== null && concurrency !== (before.concurrencies.get(handler) ?? null))
        runner.setConcurrency(handler, concurrency)
    }
    if (now.isAllPaused && before?.isAllPaused === false) runner.recall(null)
    for (const handler of now.paused) if (before?.paused.has(handler) === false) runner.recall(handler)
    // A look counts all that is open: so not for those that wait for somebody, or that none of the handlers here is for.
    if (runner.handlers.some(({ name }) => now.suspects.has(name))) runner.lookForSuspects()
  })
}
