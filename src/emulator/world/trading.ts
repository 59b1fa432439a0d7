import { coinsForUsd, holdingOf, tokenAt, walletAt, type Core } from './core.ts'
import { isWatchedWhale } from './alerts.ts'
import { graduate } from './token-creation.ts'
import { buy, sell, swap, type Traded } from './market.ts'
import { reportTrade } from './rules.ts'

// Executes trades: books them in the ledger, emits events, checks alerts, and graduates completed bonding curves.

/** Buys for `coins`; null if impossible. */
export function executeBuy(core: Core, wallet: number, token: number, coins: bigint): Traded | null {
  const traded = buy(core, wallet, token, coins)
  if (traded === null) return null
  // A buyer who is a whale before is one after the purchase too, so the check after it suffices.
  reportTrade(core, traded, false)
  if (tokenAt(core, token).curve?.realTokens === 0n) graduate(core, token)
  return traded
}

/** Buys for `usd`, or for all the wallet's coins if that is less. */
export function executeBuyUsd(core: Core, wallet: number, token: number, usd: number): Traded | null {
  const { coins, network } = walletAt(core, wallet)
  const wanted = coinsForUsd(core, network, usd)
  return executeBuy(core, wallet, token, wanted < coins ? wanted : coins)
}

/** Sells the whole balance; null if it is empty or the sale fails. */
export function executeSellAll(core: Core, wallet: number, token: number): Traded | null {
  return executeSell(core, wallet, token, holdingOf(core, wallet, token)?.balance ?? 0n)
}

export function executeSell(core: Core, wallet: number, token: number, units: bigint): Traded | null {
  const wasWhale = isWatchedWhale(core, wallet, [token])
  const traded = sell(core, wallet, token, units)
  if (traded !== null) reportTrade(core, traded, wasWhale)
  return traded
}

export function executeSwap(core: Core, wallet: number, from: number, to: number): Traded | null {
  const wasWhale = isWatchedWhale(core, wallet, [from, to])
  const traded = swap(core, wallet, from, to)
  if (traded !== null) reportTrade(core, traded, wasWhale)
  return traded
}
