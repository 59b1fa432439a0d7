import { isHoneypot } from './audit.ts'
import { holdersOf, holdingAt, tokenAt, usdOfCoins, type Core } from './core.ts'
import { dealBuy, dealSell } from './dealing.ts'
import { largestTradeUsd } from './limits.ts'
import { addressFor, fund, openWallet } from './wallets.ts'
import { poolRatio, unitsFor } from './exchange.ts'
import { releaseReserve } from './positions.ts'
import { quoteBuy, quoteSell, type Pool } from './pool.ts'
import type { HoldingState } from './state.ts'

// Trades that bring a price to where a story wants it.

type Move =
  | { readonly kind: 'buy'; readonly coins: bigint }
  /** The creator sells some of what was kept back. */
  | { readonly kind: 'release'; readonly units: bigint }
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
  const { pool, reserved } = tokenAt(core, token)
  if (pool === null || isHoneypot(tokenAt(core, token))) return null
  const target = targetOf(pool, ratio)
  const isReached = ({ coins, tokens }: Pool) => coins * one <= target * tokens
  const moves: Move[] = []
  let left: Pool = pool

  const units = smallest(reserved, (sold) => isReached(afterSale(core, token, left, sold))) ?? reserved
  const released = afterSale(core, token, left, units)
  if (released !== left) moves.push({ kind: 'release', units })
  left = released

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
  const { contract, pool: now } = tokenAt(core, token)
  const { paid, received } = quoteSell(pool, units - (units * BigInt(contract.sellTaxBps)) / 10_000n, now?.feeBps ?? 0)
  if (received <= 0n || received >= pool.coins) return pool
  return { coins: pool.coins - received, tokens: pool.tokens + paid }
}

/** Who holds a token, the largest position first. */
export function largestFirst(core: Core, token: number): readonly HoldingState[] {
  return [...holdersOf(core, token)]
    .map((index) => holdingAt(core, index))
    .toSorted((a, b) => (a.balance === b.balance ? a.wallet - b.wallet : a.balance < b.balance ? 1 : -1))
}

function follow(core: Core, token: number, move: Move): void {
  const { network, creator } = tokenAt(core, token)
  switch (move.kind) {
    case 'buy': {
      const mover = openWallet(core, network, addressFor(core, network, 'mover'))
      fund(core, mover, move.coins)
      dealBuy(core, mover, token, move.coins)
      return
    }
    case 'release': {
      const wallet = openWallet(core, network, creator)
      releaseReserve(core, wallet, token, move.units)
      dealSell(core, wallet, token, move.units)
      return
    }
    case 'sell':
      dealSell(core, move.wallet, token, move.units)
  }
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
