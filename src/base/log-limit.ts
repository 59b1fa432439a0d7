import type { Clock } from './clock.ts'

/** Says of each line whether it may be written: how many were left out before it, or null if it is to be left out itself. */
export type LogLimit = () => { readonly leftOut?: number } | null

const maxLines = 10
const windowMs = 10_000

/** At most ten lines in ten seconds, so that what others cause fills no disk; the next line says how many were left out. */
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
