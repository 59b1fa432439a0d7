import type { Clock } from './clock.ts'

/** Returns log fields if a line may be written (`leftOut`: number of lines skipped before it), or null to skip it. */
export type LogLimit = () => { readonly leftOut?: number } | null

const maxLines = 10
const windowMs = 10_000

/** Limits log lines to ten per ten seconds, so that external requests can't fill the disk. */
export function createLogLimit(clock: Clock): LogLimit {
  let windowStart = -Infinity
  let lines = 0
  let leftOut = 0

  return () => {
    const now = clock.now()
    if (now - windowStart >= windowMs || now < windowStart) {
      windowStart = now
      lines = 0
    }
    if (++lines > maxLines) {
      leftOut++
      return null
    }
    const before = leftOut
    leftOut = 0
    return before > 0 ? { leftOut: before } : {}
  }
}
