import type { NetworkId } from '../../../schema/index.ts'
import { placeOf, tokenAt, walletAt, type Core } from './core.ts'
import type { Traded } from './market.ts'
import { toUsd } from './numbers.ts'
import { isWhale } from './portfolio.ts'
import type { AlertState } from './state.ts'

// Alerts on trades of a size: of a wallet, whoever it is, or of a token by whales (A15).

const none: readonly string[] = []

/** The alerts that a trade meets, in the order in which they were set. Each trade counts for itself: none of them rests. */
export function meetTradeAlerts(core: Core, traded: Traded, wasWhale: boolean): readonly string[] {
  const { directory, state } = core
  if (directory.alerts.trade.size === 0) return none
  const met = [...alertsOnWallet(core, traded), ...alertsOnTokens(core, traded, wasWhale)]
  if (met.length === 0) return none
  for (const alert of met) {
    alert.isArmed = !alert.isOneShot
    alert.firedAt = state.now
  }
  return (met.length === 1 ? met : state.alerts.filter((alert) => met.includes(alert))).map(({ alertId }) => alertId)
}

function alertsOnWallet(core: Core, { wallet, kind, value }: Traded): readonly AlertState[] {
  const { network, address } = walletAt(core, wallet)
  return alertsAt(core, network, address).filter((alert) => {
    // A swap is both.
    const isOfKind = alert.type === 'whale_buy' ? kind !== 'sell' : kind !== 'buy'
    return isOfKind && isLargeEnough(alert, value)
  })
}

function alertsOnTokens(core: Core, traded: Traded, wasWhale: boolean): readonly AlertState[] {
  const { wallet, tokens, soldToken, value } = traded
  const met = tokens.flatMap((token) => {
    const { network, address } = tokenAt(core, token)
    const type = token === soldToken ? 'whale_sell' : 'whale_buy'
    return alertsAt(core, network, address).filter((alert) => alert.type === type && isLargeEnough(alert, value))
  })
  return met.length > 0 && (wasWhale || isWhale(core, wallet)) ? met : []
}

function alertsAt({ directory }: Core, network: NetworkId, address: string): readonly AlertState[] {
  return directory.alerts.trade.get(placeOf(network, address)) ?? []
}

function isLargeEnough({ isArmed, threshold }: AlertState, value: bigint): boolean {
  return isArmed && toUsd(value) >= threshold
}

/** Whether somebody watches trades of one of the tokens by whales, and the wallet is one: who sells all is none after it. */
export function isWatchedWhale(core: Core, wallet: number, tokens: readonly number[]): boolean {
  const { trade } = core.directory.alerts
  if (trade.size === 0) return false
  const isWatched = tokens.some((token) => {
    const { network, address } = tokenAt(core, token)
    return trade.has(placeOf(network, address))
  })
  return isWatched && isWhale(core, wallet)
}
