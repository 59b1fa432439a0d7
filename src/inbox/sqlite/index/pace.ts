/** So long after the last look for new events it looks again. */
const idleMs = 250
const longestRestMs = 1_000

/** Of its time a thread works this share, by how many events come per second. */
const shares: readonly (readonly [perSecond: number, share: number])[] = [
  [20, 0.8],
  [200, 0.3],
  [1_000, 0.1],
  [Infinity, 0.04],
]

/** So much the last look counts beside those before. */
const weight = 0.3

/** Decides how long the thread of the index rests: the longer, the more events come, for the receiver needs the processor. */
export function createPace() {
  let perSecond = 0
  let last: { readonly seq: number; readonly at: number } | undefined

  /** To be told now and then which number the newest event has; `at` in milliseconds of a clock that is never set. */
  function sees(seq: number, at: number): void {
    if (last === undefined) last = { seq, at }
    const spanMs = at - last.at
    if (spanMs < idleMs / 2) return
    const now = (Math.max(0, seq - last.seq) * 1_000) / spanMs
    // At once when more come, slowly when fewer do.
    perSecond = now > perSecond ? now : perSecond * (1 - weight) + now * weight
    last = { seq, at }
  }

  /** How long to rest after work that took so long. */
  function restAfter(workMs: number): number {
    const share = shares.find(([most]) => perSecond < most)?.[1] ?? 0.04
    return Math.min(longestRestMs, Math.max(1, workMs * (1 / share - 1)))
  }

  return { sees, restAfter, idleMs }
}
