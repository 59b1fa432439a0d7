import { coinsForUsd, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { dealBuy, dealSellAll } from './dealing.ts'
import { largestTradeUsd } from './limits.ts'
import { addressFor, fund, openWallet } from './wallets.ts'
import { atRaisedPrice, coinsToRaise } from './moving.ts'
import type { NetworkId } from '../../../schema/index.ts'
import { quoteBuy, quoteSell, type Pool } from './pool.ts'

/** A purchase after which the price rises so far that its sale brings a gain. */
export interface GainPlan {
  readonly token: number
  /** What the purchase costs. */
  readonly coins: bigint
  /** What the price is multiplied by before the sale. */
  readonly rise: number
}

const rises = [1.35, 2, 4, 10]

/** How `stakeUsd` can bring a gain of `gainUsd` with a token, with as small a rise as will do; null if it cannot. */
export function planGain(core: Core, token: number, stakeUsd: number, gainUsd: number): GainPlan | null {
  const { pool, network } = tokenAt(core, token)
  if (pool === null || stakeUsd > largestTradeUsd) return null
  const coins = coinsForUsd(core, network, stakeUsd)
  const wanted = BigInt(Math.ceil(gainUsd * 1e6))
  const microOf = (some: bigint) => usdOfCoins(core, network, some)
  const rise = rises.find((ratio) => {
    const risen = sellAfter(pool, coins, pool.feeBps, ratio)
    if (risen === null || microOf(risen.more) > BigInt(largestTradeUsd) * 1_000_000n) return false
    return microOf(risen.proceeds - coins) >= wanted
  })
  return rise === undefined ? null : { token, coins, rise }
}

interface Risen {
  /** What it takes to raise the price. */
  readonly more: bigint
  readonly proceeds: bigint
}

/** A purchase for so many coins that is sold after a rise; null if the price cannot rise so far. */
function sellAfter(pool: Pool, coins: bigint, feeBps: number, rise: number): Risen | null {
  const bought = quoteBuy(pool, coins, feeBps).received
  const before = { coins: pool.coins + coins, tokens: pool.tokens - bought }
  const more = coinsToRaise(before, feeBps, rise)
  if (more === null) return null
  const after = { coins: before.coins + more, tokens: before.tokens - quoteBuy(before, more, feeBps).received }
  return { more, proceeds: quoteSell(after, bought, feeBps).received }
}

/** Follows the plan; then the price returns to about its old level. */
export function earn(core: Core, wallet: number, { token, coins, rise }: GainPlan): void {
  fund(core, wallet, coins)
  dealBuy(core, wallet, token, coins)
  atRaisedPrice(core, token, rise, () => void dealSellAll(core, wallet, token))
}

/** Somebody nobody has seen yet, and who is tracked from the beginning. Acts only as stories want it. */
export function openTracked(core: Core, network: NetworkId, role: string): number {
  const wallet = openWallet(core, network, addressFor(core, network, `${role}:${core.state.seq}`))
  walletAt(core, wallet).isTracked = true
  return wallet
}
