import { isHoneypot } from './audit.ts'
import { holdersOf, holdingAt, holdingOf, tokenAt, usdOfCoins, type Core } from './core.ts'
import { dealBuy, dealSell, dealSellAll } from './dealing.ts'
import { largestTradeUsd } from './limits.ts'
import { addressFor, fund, openWallet } from './wallets.ts'
import { poolRatio, quoteSale, unitsFor } from './exchange.ts'
import { quoteBuy, type Pool } from './pool.ts'
import type { HoldingState } from './state.ts'

// Trades that bring a price to where a story wants it.

type Move =
  | { readonly kind: 'buy'; readonly coins: bigint }
  | { readonly kind: 'sell'; readonly wallet: number; readonly units: bigint }

type Moves = readonly Move[]

const one = 10n ** 24n

/**
 * Trades until the pool's price is `ratio` times what it is (in coins): up by one purchase, down by sales of the creator and
 * then of the largest holders. False, and nothing has changed, if there is not enough to trade.
 */
export function movePrice(core: Core, token: number, ratio: number): boolean {
  const moves = movesTo(core, token, ratio)
  if (moves === null) return false
  const moved = tokenAt(core, token)
  for (const move of moves) follow(core, token, move)
  moved.fair = poolRatio(moved)
  return true
}

/** A wallet buys until the price is `ratio` times the present one, and sells all of it again after `act`. */
export function atRaisedPrice(core: Core, token: number, ratio: number, act: () => void): void {
  const { pool, network } = tokenAt(core, token)
  const coins = pool && coinsToRaise(pool, pool.feeBps, ratio)
  if (coins === null) throw new RangeError(`token ${token}: its price cannot rise ${ratio} times`)
  const raiser = openWallet(core, network, addressFor(core, network, 'raiser'))
  fund(core, raiser, coins)
  dealBuy(core, raiser, token, coins)
  act()
  dealSellAll(core, raiser, token)
  const moved = tokenAt(core, token)
  moved.fair = poolRatio(moved)
}

/** Whether `movePrice` would get there. */
export function canMovePrice(core: Core, token: number, ratio: number): boolean {
  return movesTo(core, token, ratio) !== null
}

/** The pool's price times 1e24 that is wanted. */
function targetOf(pool: Pool, ratio: number): bigint {
  return (pool.coins * one * BigInt(Math.round(ratio * 1e9))) / (pool.tokens * 10n ** 9n)
}

function movesTo(core: Core, token: number, ratio: number): Moves | null {
  if (!(ratio >= 0.001 && ratio <= 1000)) return null
  return ratio > 1 ? movesUp(core, token, ratio) : movesDown(core, token, ratio)
}

function movesUp(core: Core, token: number, ratio: number): Moves | null {
  const { pool, network } = tokenAt(core, token)
  if (pool === null) return null
  const coins = coinsToRaise(pool, pool.feeBps, ratio)
  if (coins === null || usdOfCoins(core, network, coins) > BigInt(largestTradeUsd) * 1_000_000n) return null
  return unitsFor(core, token, coins) > 0n ? [{ kind: 'buy', coins }] : null
}

/** The purchase that brings a pool's price to `ratio` times what it is; null if there is none. */
export function coinsToRaise(pool: Pool, feeBps: number, ratio: number): bigint | null {
  const target = targetOf(pool, ratio)
  return smallest(pool.coins * 1000n, (paid) => {
    const { received } = quoteBuy(pool, paid, feeBps)
    return (pool.coins + paid) * one >= target * (pool.tokens - received)
  })
}

function movesDown(core: Core, token: number, ratio: number): Moves | null {
  const { pool, creator } = tokenAt(core, token)
  if (pool === null || isHoneypot(tokenAt(core, token))) return null
  const target = targetOf(pool, ratio)
  const isReached = ({ coins, tokens }: Pool) => coins * one <= target * tokens
  const moves: Move[] = []
  let left: Pool = pool

  // The creator sells as much as it takes.
  const allocation = allocationOf(core, token)
  const units = smallest(allocation, (sold) => isReached(afterSale(core, token, pool, sold))) ?? allocation
  left = afterSale(core, token, pool, units)
  if (left !== pool) moves.push({ kind: 'sell', wallet: creator, units })

  for (const { wallet, balance } of largestFirst(core, token)) {
    if (isReached(left)) break
    // Whole positions, so that gains are closed; the last one may be too much.
    const sold = afterSale(core, token, left, balance)
    if (sold !== left) moves.push({ kind: 'sell', wallet, units: balance })
    left = sold
  }
  return isReached(left) && moves.length > 0 ? moves : null
}

/** The pool after a sale; the same pool if the sale fails. */
function afterSale(core: Core, token: number, pool: Pool, units: bigint): Pool {
  const { paid, received } = quoteSale(tokenAt(core, token), pool, units)
  if (received <= 0n || received >= pool.coins) return pool
  return { coins: pool.coins - received, tokens: pool.tokens + paid }
}

/** What the creator holds of its token. */
export function allocationOf(core: Core, token: number): bigint {
  return holdingOf(core, tokenAt(core, token).creator, token)?.balance ?? 0n
}

/** Who bought a token, the largest position first: everybody who holds it but its creator. */
export function largestFirst(core: Core, token: number): readonly HoldingState[] {
  const { creator } = tokenAt(core, token)
  return [...holdersOf(core, token)]
    .map((index) => holdingAt(core, index))
    .filter(({ wallet }) => wallet !== creator)
    .toSorted((a, b) => (a.balance === b.balance ? a.wallet - b.wallet : a.balance < b.balance ? 1 : -1))
}

function follow(core: Core, token: number, move: Move): void {
  if (move.kind === 'sell') {
    dealSell(core, move.wallet, token, move.units)
    return
  }
  const { network } = tokenAt(core, token)
  const mover = openWallet(core, network, addressFor(core, network, 'mover'))
  fund(core, mover, move.coins)
  dealBuy(core, mover, token, move.coins)
}

/** The smallest amount up to `limit` that is enough, by halving; null if `limit` is not. */
function smallest(limit: bigint, isEnough: (amount: bigint) => boolean): bigint | null {
  if (!isEnough(limit)) return null
  let low = 0n
  let high = limit
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (isEnough(middle)) high = middle
    else low = middle
  }
  return high
}
