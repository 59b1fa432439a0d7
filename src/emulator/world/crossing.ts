import { isResting, isSpent } from './arming.ts'
import { isHoneypot } from './audit.ts'
import type { Result } from './act-targets.ts'
import { placeOf, tokenAt, type Core } from './core.ts'
import { allocationOf, canMovePrice, movePrice } from './moving.ts'
import { WorldRefusal } from './port.ts'
import { isOnPrice } from './price-alerts.ts'
import { priceUsd } from './prices.ts'
import type { AlertState } from './state.ts'

/** A price alert with where its token's price must go, step by step, for it to fire. USD. */
interface Candidate {
  readonly alert: AlertState
  readonly token: number
  readonly targets: readonly [number, ...number[]]
}

/**
 * The price of a token goes over the line of the alert that is nearest. One that has fired and rested first sees the price
 * go back (A17). Throws `WorldRefusal` if none can fire now.
 */
export function crossAnAlert(core: Core): Result {
  const candidates = core.state.alerts.flatMap((alert) => toCandidate(core, alert) ?? [])
  const [nearest] = candidates
    .toSorted((a, b) => a.targets.length - b.targets.length || distanceOf(core, a) - distanceOf(core, b))
    .filter((one) => canCross(core, one))
  if (nearest === undefined) {
    throw new WorldRefusal(
      'no price alert can fire now: create one with POST /v1/alerts, or let five minutes pass after the last one fired',
    )
  }
  return cross(core, nearest)
}

/** The price of a token goes over the line of one alert on it, in the same way. Throws `WorldRefusal` if it cannot now. */
export function crossAlert(core: Core, alert: AlertState): Result {
  const { alertId, network, address } = alert
  if (!core.directory.tokens.has(placeOf(network, address))) {
    throw new WorldRefusal(`alert ${alertId}: there is no token ${address} on ${network}, whose price could move`)
  }
  const candidate = toCandidate(core, alert)
  if (candidate !== null && canCross(core, candidate)) return cross(core, candidate)
  throw new WorldRefusal(
    `alert ${alertId}: the price cannot cross its line now. Either five minutes have not passed since it fired, or nobody ` +
      'has enough to trade to get there',
  )
}

function canCross(core: Core, { token, targets }: Candidate): boolean {
  return canMovePrice(core, token, targets[0] / priceUsd(core, token))
}

function cross(core: Core, { token, targets, alert }: Candidate): Result {
  // From wherever the step before has led: who sells may sell too much.
  for (const target of targets) movePrice(core, token, target / priceUsd(core, token))
  return { token: tokenAt(core, token).address, alert: alert.alertId }
}

function toCandidate(core: Core, alert: AlertState): Candidate | null {
  const { type, network, address, threshold, isArmed } = alert
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined || !isOnPrice(type)) return null
  if (isSpent(alert) || isResting(alert, core.state.now)) return null
  const direction = type === 'price_above' ? 1 : -1
  const beyond = threshold * (1 + direction * 0.001)
  if (isArmed) return { alert, token, targets: [beyond] }
  const back = threshold * (1 - direction * 0.006)
  // Up again anybody can buy; down again there must be enough to sell.
  if (direction < 0 && !hasReserve(core, token)) return null
  return { alert, token, targets: [back, beyond] }
}

/** Whether the creator alone could bring the price down by a few percent. */
function hasReserve(core: Core, token: number): boolean {
  const { pool } = tokenAt(core, token)
  return pool !== null && allocationOf(core, token) * 10n > pool.tokens && !isHoneypot(tokenAt(core, token))
}

function distanceOf(core: Core, { token, targets: [target] }: Candidate): number {
  return Math.abs(Math.log(target / priceUsd(core, token)))
}
