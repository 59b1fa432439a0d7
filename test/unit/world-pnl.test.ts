import { describe, expect, it } from 'vitest'
import type { NetworkId } from '../../schema/index.ts'
import type { Timeframe } from '../../schema/rest/parameters.ts'
import { networkFacts } from '../../src/emulator/world/networks.ts'
import type { Trade, WalletRef, World, WorldOptions } from '../../src/emulator/world/port.ts'
import { keepBooks, type Books } from '../support/world-books.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import {
  activeWallets,
  asOfNow,
  dayMs,
  hourMs,
  minuteMs,
  openWorld,
  quietWorld,
  readAll,
  readLedger,
  startAt,
  type WorldLedger,
} from '../support/world.ts'

function booksOf(world: World, ref: WalletRef, mode: 'closed' | 'disposals' = 'closed'): Books {
  return keepBooks(readAll(world, (page) => world.views.trades(ref, page, null)).toReversed(), mode)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** What a dollar in coins of a network at a moment is worth now. */
function revaluation({ state }: WorldLedger, network: NetworkId): (at: number) => number {
  const { price, prices } = state.coins[networkFacts[network].coin]
  return (at) => Number(price) / Number(prices[Math.floor((at - startAt) / minuteMs)])
}

/** What of the answers differs from the books of a wallet by more than the list of trades leaves open. */
function differences(world: World, ledger: WorldLedger, ref: WalletRef): readonly string[] {
  const { closings, tolerance } = booksOf(world, ref)
  const revalue = revaluation(ledger, ref.network)
  const since = { all: 0, '7d': 0, '24h': world.now() - dayMs }
  return Object.entries(since).flatMap(([timeframe, sinceMs]) => {
    const told = world.views.pnl(ref, timeframe as Timeframe).pnl.realized_usd
    const realized = sumOf(closings.filter(({ at }) => at >= sinceMs).map(({ gain, at }) => gain * revalue(at)))
    const isNear = Math.abs(realized - told) <= tolerance
    return isNear ? [] : [`${ref.network}:${ref.address} ${timeframe}: books ${realized}, told ${told}`]
  })
}

describe('profit and loss', () => {
  it.each(worldSeeds(worldCounts.agreementWorlds))(
    'R22 R26 A12 A13 realized is the gain that books of the trades give, at the present rate of the coin (seed %s)',
    { timeout: 120_000 },
    (seed) => {
      const world = openWorld(seed, { activity: 0.3 })
      world.advanceTo(startAt + 1.3 * dayMs)
      const wallets = activeWallets(world)
      expect(wallets.length).toBeGreaterThan(100)
      const ledger = readLedger(world)
      expect(wallets.flatMap((ref) => differences(world, ledger, ref)).slice(0, 5)).toEqual([])
    },
  )

  it('R25 A13 roi is the total in percent of what the positions have cost', () => {
    const world = openWorld('roi', { activity: 0.3 })
    world.advanceTo(startAt + 12 * hourMs)
    const wrong = activeWallets(world).flatMap((ref) => {
      const { closings, open, tolerance } = booksOf(world, ref)
      const base = sumOf(closings.map(({ cost }) => cost)) + sumOf([...open.values()].map(({ cost }) => cost))
      const { total_usd, roi_pct } = world.views.pnl(ref, 'all').pnl
      const expected = base === 0 ? 0 : (total_usd / base) * 100
      const isNear = Math.abs(roi_pct - expected) <= 0.001 + Math.abs(expected) * ((2 * tolerance) / Math.max(base, 1))
      return isNear ? [] : [`${ref.address}: told ${roi_pct}, books ${expected}`]
    })
    expect(wrong.slice(0, 5)).toEqual([])
  })
})

/** A quiet world, and the profit and loss of its one wallet. */
function stage(options: Partial<WorldOptions> = {}) {
  const quiet = quietWorld('stage', options)
  return {
    ...quiet,
    pnl: (timeframe: Timeframe = 'all') => quiet.world.views.pnl(quiet.refOf(), timeframe).pnl,
    books: (mode: 'closed' | 'disposals') => booksOf(quiet.world, quiet.refOf(), mode),
  }
}

describe('a wallet', () => {
  it('R23 R24 has an unrealized gain while it holds, and a realized one once it has sold all', () => {
    const { buy, sell, move, pnl } = stage()
    buy(10_000)
    move(20)
    const held = pnl()
    expect(held.realized_usd).toBe(0)
    expect(held.unrealized_usd).toBeGreaterThan(1500)
    expect(held.total_usd).toBe(held.unrealized_usd)
    sell(1)
    const sold = pnl()
    expect(sold.unrealized_usd).toBe(0)
    expect(sold.realized_usd).toBeGreaterThan(1500)
    expect(sold.realized_usd).toBeLessThan(held.unrealized_usd)
    expect(sold.total_usd).toBe(sold.realized_usd)
  })

  it('A12 has no realized gain from a part until the position is closed, and then all of it', () => {
    const { buy, sell, move, pnl, books } = stage()
    buy(1000)
    move(20)
    const before = pnl()
    sell(0.5)
    expect(pnl().realized_usd).toBe(0)
    // The gain of the part is still told as unrealized, less what the sale has cost.
    expect(Math.abs(pnl().unrealized_usd - before.unrealized_usd)).toBeLessThan(10)
    sell(1)
    expect(pnl().unrealized_usd).toBe(0)
    expect(pnl().realized_usd).toBeCloseTo(sumOf(books('closed').closings.map(({ gain }) => gain)), 1)
  })

  it('A12 has the gain of each part at once in the mode disposals', () => {
    const { buy, sell, move, pnl, books } = stage({ pnlMode: 'disposals' })
    buy(10_000)
    move(20)
    sell(0.5)
    const half = pnl()
    expect(half.realized_usd).toBeGreaterThan(700)
    expect(half.unrealized_usd).toBeGreaterThan(700)
    expect(half.realized_usd).toBeCloseTo(sumOf(books('disposals').closings.map(({ gain }) => gain)), 1)
    sell(1)
    expect(pnl().realized_usd).toBeCloseTo(sumOf(books('disposals').closings.map(({ gain }) => gain)), 1)
  })

  it('A13 has only what was closed within the time as realized, and always all that is open', () => {
    const { world, buy, sell, move, pnl } = stage()
    buy(10_000)
    move(20)
    sell(1)
    expect(pnl('24h').realized_usd).toBeGreaterThan(1500)
    world.advanceTo(world.now() + 2 * dayMs)
    buy(500)
    const [day, week, all] = (['24h', '7d', 'all'] as const).map(pnl)
    expect(day?.realized_usd).toBe(0)
    expect(week?.realized_usd).toBeGreaterThan(1000)
    expect(all?.realized_usd).toBe(week?.realized_usd)
    expect(new Set([day?.unrealized_usd, week?.unrealized_usd, all?.unrealized_usd]).size).toBe(1)
    world.advanceTo(world.now() + 6 * dayMs)
    expect(pnl('7d').realized_usd).toBe(0)
    expect(pnl('30d').realized_usd).toBe(pnl('all').realized_usd)
  })
})

describe('the creator of a token', () => {
  it('R19 R52 A12 shows its allocation, and the liquidity it takes out, at no cost', () => {
    const world = openWorld('creator', { activity: 0 })
    const listed = { kind: 'list', network: 'base', symbol: 'ABC', name: 'A B C', liquidityUsd: 50_000 } as const
    const place = { network: 'base', token: String(world.acts.apply(listed)['token']) } as const
    const token = world.views.findToken('base', place.token)!
    const { state } = readLedger(world)
    const creator = state.wallets[state.tokens[token.index]!.creator]!
    const ref = world.views.findWallet('base', creator.address)!
    const shown = (asOf = asOfNow(world)) => world.views.portfolio(ref, { limit: 9, after: null, asOf }).items[0]
    const supply = () => Math.round(world.views.token(token).market_cap_usd / world.views.token(token).price_usd)

    const first = { asOf: asOfNow(world), position: shown() }
    expect(shown()).toMatchObject({ symbol: 'ABC', cost_basis_usd: 0, unrealised_pnl_pct: 0 })
    expect(shown()!.balance / supply()).toBeCloseTo(0.2, 6)
    world.acts.apply({ kind: 'rug', ...place, percent: 50 })
    expect(shown()!.balance / supply()).toBeCloseTo(0.6, 6)
    expect(shown()).toMatchObject({ cost_basis_usd: 0 })
    expect(world.views.overview(ref)).toMatchObject({ total_tokens_held: 1, total_trades_all_time: 0 })

    const held = shown()!.balance
    world.acts.apply({ kind: 'trade', ...place, wallet: creator.address, side: 'sell', fraction: 0.1 })
    const [sale, ...others] = readAll(world, (page) => world.views.trades(ref, page, place.token)) as [Trade]
    expect([sale.type, others]).toEqual(['sell', []])
    expect(shown()!.balance).toBeCloseTo(held - sale.token_in.amount, 6)
    expect(shown(first.asOf)).toEqual(first.position)
  })
})

describe('the story of the bag holder', () => {
  it.each(worldSeeds(worldCounts.triggerWorlds * 3))('R27 shows unrealized < 0 < total (seed %s)', (seed) => {
    const world = openWorld(seed, { activity: 0.3 })
    for (const hours of [0, 5, 11]) {
      world.advanceTo(startAt + hours * hourMs)
      const { wallet: address, network } = world.acts.apply({ kind: 'story', story: 'bag-holder' })
      const ref = activeWallets(world).find((one) => one.network === network && one.address === address)
      const { pnl } = world.views.pnl(ref!, '30d')
      expect(pnl.unrealized_usd).toBeLessThan(0)
      expect(pnl.total_usd).toBeGreaterThan(0)
    }
  })
})
