import type { AlertState } from './state.ts'

// When an alert on something that goes up and down fires (A17).

/** How long an alert rests before it fires again. */
const rearmMs = 300_000
/** How far what it watches must go back meanwhile. */
const rearmShare = 0.005

/** Whether a value is beyond the line of an alert: one on the line is not. */
export function isBeyond({ type, threshold }: AlertState, value: number): boolean {
  return type === 'price_below' ? value < threshold : value > threshold
}

/**
 * Whether an alert fires, now that what it watches has a value: once when its line is crossed, and again only after it was
 * armed anew. Keeps in mind what it has seen.
 */
export function isCrossed(alert: AlertState, value: number, now: number): boolean {
  if (!alert.isArmed) {
    rearm(alert, value, now)
    return false
  }
  if (!isBeyond(alert, value)) return false
  alert.isArmed = false
  alert.firedAt = now
  return true
}

/** Arms an alert that waits, if the value is back far enough and long enough after the last time. */
export function rearm(alert: AlertState, value: number, now: number): void {
  alert.isArmed ||= canFireAgain(alert, now) && isBack(alert, value)
}

/** Whether an alert that is not armed has rested, or never fired; one that fires once is done with. */
export function canFireAgain({ firedAt, isOneShot }: AlertState, now: number): boolean {
  return firedAt === null || (!isOneShot && now >= firedAt + rearmMs)
}

/** Whether a value is back on the other side, and far enough if the alert has fired. */
export function isBack(alert: AlertState, value: number): boolean {
  const { type, threshold, firedAt } = alert
  if (firedAt === null) return !isBeyond(alert, value)
  return type === 'price_below' ? value >= threshold * (1 + rearmShare) : value <= threshold * (1 - rearmShare)
}
