import { placeOf, tokenAt, type Core } from './core.ts'
import { canMovePrice, movePrice } from './moving.ts'
import { WorldRefusal } from './port.ts'
import { priceUsd } from './prices.ts'
import { rearmMs } from './rules.ts'
import type { AlertState } from './state.ts'

/** A price alert with what its token's price must be multiplied by, step by step, for it to fire. */
interface Candidate {
  readonly alert: AlertState
  readonly token: number
  readonly ratios: readonly [number, ...number[]]
}

/**
 * The price of a token goes over the line of the alert that is nearest. One that has fired and rested first sees the price
 * go back (A17). Throws `WorldRefusal` if none can fire now.
 */
export function crossAnAlert(core: Core): Readonly<Record<string, unknown>> {
  const candidates = core.state.alerts.flatMap((alert) => toCandidate(core, alert) ?? [])
  const [nearest] = candidates
    .toSorted((a, b) => a.ratios.length - b.ratios.length || distanceOf(a) - distanceOf(b))
    .filter(({ token, ratios }) => canMovePrice(core, token, ratios[0]))
  if (nearest === undefined) {
    throw new WorldRefusal(
      'no price alert can fire now: create one with POST /v1/alerts, or let five minutes pass after the last one fired',
    )
  }
  const { token, ratios, alert } = nearest
  for (const ratio of ratios) movePrice(core, token, ratio)
  return { token: tokenAt(core, token).address, alert: alert.alertId }
}

function toCandidate(core: Core, alert: AlertState): Candidate | null {
  const { type, network, address, threshold, isArmed, firedAt } = alert
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined || (type !== 'price_above' && type !== 'price_below')) return null
  const direction = type === 'price_above' ? 1 : -1
  const toLine = threshold / priceUsd(core, token)
  const beyond = 1 + direction * 0.001
  if (isArmed) return { alert, token, ratios: [toLine * beyond] }
  const isRested = firedAt === null || core.state.now >= firedAt + rearmMs
  const back = 1 - direction * 0.006
  // Up again anybody can buy; down again there must be enough to sell.
  if (!isRested || (direction < 0 && !hasReserve(core, token))) return null
  return { alert, token, ratios: [toLine * back, beyond / back] }
}

/** Whether the creator alone could bring the price down by a few percent. */
function hasReserve(core: Core, token: number): boolean {
  const { pool, reserved } = tokenAt(core, token)
  return pool !== null && reserved * 10n > pool.tokens
}

function distanceOf({ ratios: [ratio] }: Candidate): number {
  return Math.abs(Math.log(ratio))
}
