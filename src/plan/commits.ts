/** What group commit makes of a stream of events. */
export interface Commits {
  readonly perSecond: number
  /** Events in one of them, on average. */
  readonly batch: number
  /** Milliseconds that one takes. */
  readonly ms: number
  /** Milliseconds from the arrival of an event to its acknowledgement: the mean, and where it just misses a commit. */
  readonly acknowledgeMs: { readonly mean: number; readonly slow: number }
}

/**
 * All that gathers while a commit runs goes into the next one. A commit takes `syncMs`, and `eventMicros` for each event in it; so at
 * `perSecond` events it takes as long as the events that come meanwhile make it. An event that comes while nothing runs (arrivals are
 * taken to be independent) waits for its own commit, any other for half of the one that runs, too. Null where the writer cannot keep up.
 */
export function groupCommit(perSecond: number, syncMs: number, eventMicros: number): Commits | null {
  const busy = (perSecond * eventMicros) / 1e6
  if (busy >= 1) return null
  if (perSecond === 0) return { perSecond: 0, batch: 1, ms: syncMs, acknowledgeMs: { mean: syncMs, slow: 2 * syncMs } }
  const ms = (syncMs + eventMicros / 1_000) / (1 - busy)
  const none = Math.exp((-perSecond * ms) / 1_000)
  const idleMs = (none * 1_000) / perSecond
  const cycleMs = ms + idleMs
  const foundIdle = idleMs / cycleMs
  return {
    perSecond: 1_000 / cycleMs,
    batch: (perSecond * cycleMs) / 1_000,
    ms,
    acknowledgeMs: { mean: ms * (1.5 - foundIdle / 2), slow: 2 * ms },
  }
}
