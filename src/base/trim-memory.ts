import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const periodMs = 30_000
/** Share of a period in which this thread runs code. */
const busyShare = 0.1
/** Maximum number of periods between two collections. */
const maxPeriods = 4

/**
 * Collects this thread's garbage at least every two minutes (some 40 ms). The first quiet half-minute after the start or a busy period gets a
 * thorough collection (some 130 ms), because much memory can be returned to the system then.
 */
export function trimMemory(): void {
  let wasBusy = true
  let periods = 0
  let last = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    const isBusy = performance.eventLoopUtilization(now, last).utilization > busyShare
    last = now
    const isQuietAgain = wasBusy && !isBusy
    if (isQuietAgain || ++periods >= maxPeriods) {
      collectGarbage(isQuietAgain ? 'last-resort' : 'regular')
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
  // `last-resort` also shrinks the space for new objects.
  collect({ type: 'major', execution: 'sync', flavor })
}
