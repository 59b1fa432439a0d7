import { isHoneypot } from './audit.ts'
import { isBack, isOnPrice, isResting, isSpent } from './alerts.ts'
import { coinsForUsd, placeOf, tokenAt, walletAt, type Core } from './core.ts'
import { executeBuy, executeSellAll } from './trading.ts'
import { unitsFor } from './exchange.ts'
import { canMovePrice, movePrice, supply, unitsToBring } from './interventions.ts'
import { maxTradeUsd } from './limits.ts'
import { WorldRefusal } from './port.ts'
import { isWhale } from './portfolio.ts'
import { hourlyVolume, priceUsd, volumeToSpike } from './prices.ts'
import type { AlertState } from './state.ts'
import { establishedOf } from './stories.ts'
import { addressFor, fund, openWallet } from './wallets.ts'

// Makes the condition of an alert true by trades.

type Result = Readonly<Record<string, unknown>>

/** Trades for more than the threshold by this factor, since each trade is rounded. */
const margin = 1.05

/** Makes the condition of an alert true. Throws `WorldRefusal` if that can't be now. */
export function fire(core: Core, alert: AlertState): Result {
  if (isSpent(alert)) throw refusal(alert, 'it fires only once and has fired; create another')
  if (isOnPrice(alert.type)) return cross(core, alert)
  return alert.type === 'volume_spike' ? spike(core, alert) : tradeFor(core, alert)
}

/** Makes the nearest price alert fire. Throws `WorldRefusal` if none can fire now. */
export function fireAPriceAlert(core: Core): Result {
  const plans = core.state.alerts.flatMap((alert) => planCrossing(core, alert) ?? [])
  const distanceOf = ({ token, targets: [target] }: Crossing) => Math.abs(Math.log(target / priceUsd(core, token)))
  const [nearest] = plans.toSorted((a, b) => a.targets.length - b.targets.length || distanceOf(a) - distanceOf(b))
  if (nearest !== undefined) return followCrossing(core, nearest)
  throw new WorldRefusal(
    'no price alert can fire now: create one with POST /v1/alerts, or let five minutes pass after the last one fired',
  )
}

interface Crossing {
  readonly alert: AlertState
  readonly token: number
  /** Prices one after the other, in USD. After a notification the price first goes back, so that the alert re-arms (A17). */
  readonly targets: readonly [number, ...number[]]
}

function cross(core: Core, alert: AlertState): Result {
  const { network, address } = alert
  if (!core.directory.tokens.has(placeOf(network, address))) {
    throw refusal(alert, `there is no token ${address} on ${network}`)
  }
  const plan = planCrossing(core, alert)
  if (plan !== null) return followCrossing(core, plan)
  throw refusal(
    alert,
    'the price cannot cross its line now. Either five minutes have not passed since it fired, or no trade is large enough',
  )
}

function planCrossing(core: Core, alert: AlertState): Crossing | null {
  const { type, network, address, threshold, isArmed } = alert
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined || !isOnPrice(type) || isSpent(alert) || isResting(alert, core.state.now)) return null
  const direction = type === 'price_above' ? 1 : -1
  const beyond = threshold * (1 + direction * 0.001)
  // A re-crossing upwards needs a buyer; downwards it needs a sellable token.
  if (!isArmed && direction < 0 && isHoneypot(tokenAt(core, token))) return null
  const targets = isArmed ? ([beyond] as const) : ([threshold * (1 - direction * 0.006), beyond] as const)
  return canMovePrice(core, token, targets[0] / priceUsd(core, token)) ? { alert, token, targets } : null
}

function followCrossing(core: Core, { token, targets, alert }: Crossing): Result {
  for (const target of targets) movePrice(core, token, target / priceUsd(core, token))
  return { token: tokenAt(core, token).address, alert: alert.alertId }
}

/** Buys and sells a token until the last hour is so far above the mean hour that a volume alert fires (A14). */
function spike(core: Core, alert: AlertState): Result {
  const { network, address, threshold, alertId } = alert
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined) throw refusal(alert, `there is no token ${address} on ${network}`)
  if (tokenAt(core, token).pool === null) {
    throw refusal(alert, `${address} is still on its bonding curve: expected a token with a pool`)
  }
  const hourly = hourlyVolume(core, token)
  if (hourly === null) {
    throw refusal(
      alert,
      `${address} had no trades in the 24 hours before the last hour, so there is no mean to compare with`,
    )
  }
  if (isResting(alert, core.state.now) || !(alert.isArmed || isBack(alert, hourly.increasePct))) {
    throw refusal(
      alert,
      `not armed: the volume, ${hourly.increasePct} % above the mean, must fall back below ${threshold} %, and five ` +
        'minutes must pass since it fired',
    )
  }
  const usd = Math.max(1, (volumeToSpike(hourly, threshold) / 1e6) * 1.01)
  if (usd > maxTradeUsd) throw refusal(alert, `it would need a trade of ${Math.round(usd)} USD`)
  const coins = coinsForUsd(core, network, usd)
  if (unitsFor(core, token, coins) === 0n) {
    throw refusal(alert, `${Math.round(usd)} USD buy nothing of ${address}: its pool is nearly empty`)
  }
  const wallet = openWallet(core, network, addressFor(core, network, 'churner'))
  fund(core, wallet, coins)
  executeBuy(core, wallet, token, coins)
  executeSellAll(core, wallet, token)
  return { token: address, alert: alertId, wallet: walletAt(core, wallet).address, usd }
}

/** A trade of the alert's wallet, or of a whale for an alert on a token (A15). */
function tradeFor(core: Core, alert: AlertState): Result {
  const { alertId, network, address, type, threshold } = alert
  const isSale = type === 'whale_sell'
  const watched = core.directory.tokens.get(placeOf(network, address))
  if (watched !== undefined && tokenAt(core, watched).pool === null) {
    throw refusal(alert, `${address} is still on its bonding curve: expected a token with a pool`)
  }
  const coins = coinsForUsd(core, network, Math.max(1, threshold * margin))
  const possible = (watched === undefined ? establishedOf(core, network) : [watched]).filter(
    (token) => threshold * margin <= maxTradeUsd && unitsFor(core, token, coins) > 0n,
  )
  if (possible.length === 0) throw refusal(alert, `no token allows a trade of ${threshold} USD`)
  const token = watched ?? core.chance.pick(core.state.streams.acts, possible)
  if (isSale && unitsToBring(core, token, 1n) === null)
    throw refusal(alert, `${address} is a honeypot: nobody can sell it`)
  if (watched !== undefined && whaleBps(core) >= 10_000n) throw refusal(alert, 'no wallet can become a whale')
  const wallet = openWallet(core, network, watched === undefined ? address : addressFor(core, network, 'whale'))
  if (watched !== undefined) makeWhale(core, wallet, token)
  const isPoolShort = isSale && unitsToBring(core, token, coins) === null
  if (!isSale || isPoolShort) {
    fund(core, wallet, coins)
    executeBuy(core, wallet, token, coins)
  }
  const units = isSale ? unitsToBring(core, token, coins) : null
  if (units !== null) {
    supply(core, wallet, token, units)
    executeSellAll(core, wallet, token)
  }
  return { wallet: walletAt(core, wallet).address, token: tokenAt(core, token).address, network, alert: alertId }
}

/** Mints a wallet enough of the supply to be a whale (A5). */
function makeWhale(core: Core, wallet: number, token: number): void {
  if (isWhale(core, wallet)) return
  const bps = whaleBps(core)
  supply(core, wallet, token, (tokenAt(core, token).supply * bps) / (10_000n - bps))
}

/** A little more of the supply than makes a whale, in hundredths of a percent. */
function whaleBps({ options }: Core): bigint {
  return BigInt(Math.ceil(options.whaleSupplyPct * 105))
}

function refusal({ alertId }: AlertState, why: string): WorldRefusal {
  return new WorldRefusal(`alert ${alertId}: ${why}`)
}
