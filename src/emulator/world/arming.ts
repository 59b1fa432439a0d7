import { plan, type Core } from './core.ts'
import type { AlertState } from './state.ts'

// When an alert on a price or a volume fires (A17).

/** Minimum time between two notifications of one alert. */
const restMs = 300_000
/** How far the value must go back after a notification, as a share of the threshold. */
const rearmShare = 0.005

/** Whether a value is past the threshold of an alert. A value equal to the threshold isn't. */
export function isBeyond({ type, threshold }: AlertState, value: number): boolean {
  return type === 'price_below' ? value < threshold : value > threshold
}

/**
 * Whether an alert fires at this value. It fires once per crossing: right away, or at the end of its rest if the value is
 * still beyond the threshold then.
 */
export function isCrossed(core: Core, alert: AlertState, value: number): boolean {
  rearm(alert, value)
  const { now } = core.state
  if (!alert.isArmed || isResting(alert, now) || !isBeyond(alert, value)) return false
  alert.isArmed = false
  alert.firedAt = now
  if (!alert.isOneShot) plan(core, { kind: 'rested', alertId: alert.alertId }, restMs, false)
  return true
}

/** Re-arms an alert whose value went back far enough. */
export function rearm(alert: AlertState, value: number): void {
  alert.isArmed ||= !isSpent(alert) && isBack(alert, value)
}

/** True within 5 minutes of a notification. */
export function isResting({ firedAt }: AlertState, now: number): boolean {
  return firedAt !== null && now < firedAt + restMs
}

/** True once a one-shot alert has fired. */
export function isSpent({ firedAt, isOneShot }: AlertState): boolean {
  return isOneShot && firedAt !== null
}

/** Whether a value is back on the other side of the threshold; after a notification by at least 0.5 %. */
export function isBack(alert: AlertState, value: number): boolean {
  const { type, threshold, firedAt } = alert
  if (firedAt === null) return !isBeyond(alert, value)
  return type === 'price_below' ? value >= threshold * (1 + rearmShare) : value <= threshold * (1 - rearmShare)
}
