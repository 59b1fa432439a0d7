/** So long after the last look for new events it looks again. */
const idleMs = 250
const longestRestMs = 1_000
/** So long it keeps off when a burst begins: most are over then. */
const burstRestMs = 500
const burstPerSecond = 1_000

/** Of its time a thread works this share, by how many events come per second. */
const shares: readonly (readonly [perSecond: number, share: number])[] = [
  [20, 0.8],
  [200, 0.3],
  [burstPerSecond, 0.1],
  [Infinity, 0.04],
]

/** What came counts for about so long. */
const memoryMs = 500

/** Decides how long the thread of the index rests: the longer, the more events come, for the receiver needs the processor. */
export function createPace() {
  let perSecond = 0
  let last: { readonly seq: number; readonly at: number } | undefined

  /**
   * To be told before each piece of work which number the newest event has; `at` in milliseconds of a clock that is never set. Gives
   * how long to rest before that work: 0, unless a burst has just begun.
   */
  function sees(seq: number, at: number): number {
    const before = perSecond
    const came = last === undefined ? 0 : Math.max(0, seq - last.seq)
    const spanMs = last === undefined ? 0 : at - last.at
    perSecond = before * Math.exp(-spanMs / memoryMs) + (came * 1_000) / Math.max(memoryMs, spanMs)
    last = { seq, at }
    return before < burstPerSecond && perSecond >= burstPerSecond ? burstRestMs : 0
  }

  /** How long to rest after work that took so long. */
  function restAfter(workMs: number): number {
    const share = shares.find(([most]) => perSecond < most)?.[1] ?? 0.04
    return Math.min(longestRestMs, Math.max(1, workMs * (1 / share - 1)))
  }

  return { sees, restAfter, idleMs }
}
