import type { NetworkId } from '../../../schema/index.ts'
import { isHoneypot } from './audit.ts'
import { type Core, coinsForUsd, holdingOf, tokenAt, usdOfCoins, walletAt, numberChange } from './core.ts'
import { executeBuy, executeSellAll } from './trading.ts'
import { poolRatio, quotePurchase, quoteSale } from './exchange.ts'
import { maxTradeUsd } from './port.ts'
import { addressFor, fund, openWallet, transfer } from './wallets.ts'

// Trades that commands and stories make to reach a goal. A seller gets missing units minted.

/** One trade that moves the price to a ratio. `amount`: coins to buy for, or units to sell. */
type Move = { readonly kind: 'buy' | 'sell'; readonly amount: bigint }

/** Brings the pool's price to `ratio` times its present value by one trade. False, and nothing has changed, if it can't. */
export function movePrice(core: Core, token: number, ratio: number): boolean {
  const move = planMove(core, token, ratio)
  if (move === null) return false
  const moved = tokenAt(core, token)
  // A seller never buys, so that it sells whole positions only (A12).
  const name = move.kind === 'buy' ? 'mover' : 'seller'
  const wallet = openWallet(core, moved.network, addressFor(core, moved.network, name))
  if (move.kind === 'buy') {
    fund(core, wallet, move.amount)
    executeBuy(core, wallet, token, move.amount)
  } else {
    supply(core, wallet, token, move.amount)
    executeSellAll(core, wallet, token)
  }
  moved.fair = poolRatio(moved)
  return true
}

export function canMovePrice(core: Core, token: number, ratio: number): boolean {
  return planMove(core, token, ratio) !== null
}

function planMove(core: Core, token: number, ratio: number): Move | null {
  const moved = tokenAt(core, token)
  const { pool, network, contract } = moved
  if (pool === null || !(ratio >= 0.001 && ratio <= 1000)) return null
  const shareAfterFee = 1 - pool.feeBps / 10_000
  if (ratio > 1) {
    const amount = share(pool.coins, ratio, shareAfterFee)
    if (usdOfCoins(core, network, amount) > BigInt(maxTradeUsd) * 1_000_000n) return null
    return quotePurchase(moved, amount) !== null ? { kind: 'buy', amount } : null
  }
  if (isHoneypot(moved)) return null
  const amount = share(pool.tokens, 1 / ratio, shareAfterFee * (1 - contract.sellTaxBps / 10_000))
  return quoteSale(moved, amount) !== null ? { kind: 'sell', amount } : null
}

/** Payment into a reserve that raises its price to `ratio` times: (1 + s)(1 + n·s) = ratio, with s = paid / reserve, n = share after fees. */
function share(reserve: bigint, ratio: number, n: number): bigint {
  const root = Math.sqrt((1 + n) ** 2 + 4 * n * (ratio - 1))
  const s = (root - 1 - n) / (2 * n)
  return (reserve * BigInt(Math.ceil(s * 1e12))) / 1_000_000_000_000n + 1n
}

/** Mints the units that a wallet lacks to sell `units`, at no cost (A12). */
function supply(core: Core, wallet: number, token: number, units: bigint): void {
  const lacking = units - (holdingOf(core, wallet, token)?.balance ?? 0n)
  if (lacking <= 0n) return
  tokenAt(core, token).supply += lacking
  transfer(core, wallet, token, lacking, numberChange(core))
}

/** Units to sell for `coins`; null if the pool doesn't hold them or the token can't be sold. */
function unitsToSellFor(core: Core, token: number, coins: bigint): bigint | null {
  const sold = tokenAt(core, token)
  const { pool, contract } = sold
  if (pool === null || isHoneypot(sold) || coins >= pool.coins) return null
  const net = (pool.tokens * coins) / (pool.coins - coins) + 1n
  return (net * 100_000_000n) / (BigInt(10_000 - pool.feeBps) * BigInt(10_000 - contract.sellTaxBps)) + 2n
}

/** True if `earn` is possible with these amounts. */
export function canEarn(core: Core, token: number, stakeUsd: number, gainUsd: number): boolean {
  const { pool, network } = tokenAt(core, token)
  if (pool === null || isHoneypot(tokenAt(core, token))) return false
  return stakeUsd <= maxTradeUsd && coinsForUsd(core, network, gainUsd * 1.1) < pool.coins
}

/** A wallet buys for `stakeUsd` and sells with a gain of at least `gainUsd`: it sells more units than it bought. */
export function earn(core: Core, wallet: number, token: number, stakeUsd: number, gainUsd: number): void {
  const { network } = walletAt(core, wallet)
  const coins = coinsForUsd(core, network, stakeUsd)
  fund(core, wallet, coins)
  executeBuy(core, wallet, token, coins)
  const units = unitsToSellFor(core, token, coinsForUsd(core, network, stakeUsd + gainUsd + 0.01))
  if (units !== null) supply(core, wallet, token, units)
  executeSellAll(core, wallet, token)
}

/** A new wallet that is tracked from the beginning. It has no archetype, so it never trades on its own. */
export function openTracked(core: Core, network: NetworkId, role: string): number {
  const wallet = openWallet(core, network, addressFor(core, network, `${role}:${core.state.seq}`))
  walletAt(core, wallet).isTracked = true
  return wallet
}
