import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const trimAfterMs = 30_000

/**
 * Collects this thread's garbage once, half a minute after its start, and gives the freed memory back to the system: a start
 * uses far more memory than a thread at rest. Blocks the thread for some 50 ms.
 */
export function trimMemoryAfterStart(): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as (options: object) => void
    // This flavor also shrinks the space for new objects.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, trimAfterMs).unref()
}
