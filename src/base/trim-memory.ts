import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const periodMs = 30_000
/** Share of a period in which this thread runs code. */
const busyShare = 0.1
/** Maximum number of periods between two collections. */
const maxPeriods = 20

/**
 * Collects this thread's garbage and returns the freed memory to the system: in the first quiet half-minute after the start and after each
 * busy period, and at least every ten minutes. That blocks the thread for some 50 ms.
 */
export function trimMemory(): void {
  let wasBusy = true
  let periods = 0
  let last = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const isBusy = performance.eventLoopUtilization(now, last).utilization > busyShare
    last = now
    if ((wasBusy && !isBusy) || ++periods >= maxPeriods) {
      collectGarbage(isBusy ? 'regular' : 'last-resort')
      periods = 0
    }
    wasBusy = isBusy
  }, periodMs).unref()
}

/** Tunes V8 for many short-lived objects. Call it before other threads start. */
export function tuneGarbageCollector(): void {
  // By default V8 allocates objects in the old generation if earlier ones from the same line of code survived. After a slow start that
  // affected objects of requests: a fifth of all garbage stayed in memory.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // A collection of few survivors is too short to be worth waking other threads: 7 % more events per second.
  setFlagsFromString('--no-parallel-scavenge')
}

function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  // The second flavor takes longer, and also shrinks the space for new objects.
  collect({ type: 'major', execution: 'sync', flavor })
}
