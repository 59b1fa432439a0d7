import { describe, expect, it } from 'vitest'
import type { Timeframe } from '../../schema/rest/parameters.ts'
import type { Trade, WorldOptions } from '../../src/emulator/world/port.ts'
import { booksOf, type Books } from '../support/world-books.ts'
import {
  activeWallets,
  asOfNow,
  dayMs,
  hourMs,
  openWorld,
  quietWorld,
  readAll,
  readLedger,
  startAt,
} from '../support/world.ts'

const gainsOf = ({ closings }: Books) => closings.reduce((sum, { gain }) => sum + gain, 0)

/** A quiet world with the PnL of its only active wallet. */
function stage(options: Partial<WorldOptions> = {}) {
  const quiet = quietWorld('stage', options)
  return {
    ...quiet,
    pnl: (timeframe: Timeframe = 'all') => quiet.world.views.pnl(quiet.refOf(), timeframe).pnl,
    books: (mode: 'closed' | 'disposals') => booksOf(quiet.world, quiet.refOf(), mode),
  }
}

describe('a wallet', () => {
  it('R23 R24 has an unrealized gain while it holds, and a realized gain once it has sold all', () => {
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

  it('A12 realizes the gain of a partial sale when the position is closed', () => {
    const { buy, sell, move, pnl, books } = stage()
    buy(1000)
    move(20)
    const before = pnl()
    sell(0.5)
    expect(pnl().realized_usd).toBe(0)
    // The gain of the part stays unrealized, less the fee of the sale.
    expect(Math.abs(pnl().unrealized_usd - before.unrealized_usd)).toBeLessThan(10)
    sell(1)
    expect(pnl().unrealized_usd).toBe(0)
    expect(pnl().realized_usd).toBeCloseTo(gainsOf(books('closed')), 1)
  })

  it('A12 realizes the gain of each partial sale at once in mode disposals', () => {
    const { buy, sell, move, pnl, books } = stage({ pnlMode: 'disposals' })
    buy(10_000)
    move(20)
    sell(0.5)
    const half = pnl()
    expect(half.realized_usd).toBeGreaterThan(700)
    expect(half.unrealized_usd).toBeGreaterThan(700)
    expect(half.realized_usd).toBeCloseTo(gainsOf(books('disposals')), 1)
    sell(1)
    expect(pnl().realized_usd).toBeCloseTo(gainsOf(books('disposals')), 1)
  })

  it('A13 counts positions closed in the timeframe as realized, and all open ones as unrealized', () => {
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
  it('R19 R52 A12 holds its allocation and the liquidity it removes at no cost', () => {
    const world = openWorld('creator', { activity: 0 })
    const listed = { kind: 'list', network: 'base', symbol: 'ABC', name: 'A B C', liquidityUsd: 50_000 } as const
    const place = { network: 'base', token: String(world.commands.apply(listed)['token']) } as const
    const token = world.views.findToken('base', place.token)!
    const { state } = readLedger(world)
    const creator = state.wallets[state.tokens[token.index]!.creator]!
    const ref = world.views.findWallet('base', creator.address)!
    const shown = (asOf = asOfNow(world)) => world.views.portfolio(ref, { limit: 9, after: null, asOf }).items[0]
    const supply = () => Math.round(world.views.token(token).market_cap_usd / world.views.token(token).price_usd)

    const first = { asOf: asOfNow(world), position: shown() }
    expect(shown()).toMatchObject({ symbol: 'ABC', cost_basis_usd: 0, unrealised_pnl_pct: 0 })
    expect(shown()!.balance / supply()).toBeCloseTo(0.2, 6)
    world.commands.apply({ kind: 'rug', ...place, percent: 50 })
    expect(shown()!.balance / supply()).toBeCloseTo(0.6, 6)
    expect(shown()).toMatchObject({ cost_basis_usd: 0 })
    expect(world.views.overview(ref)).toMatchObject({ total_tokens_held: 1, total_trades_all_time: 0 })

    const held = shown()!.balance
    world.commands.apply({ kind: 'trade', ...place, wallet: creator.address, side: 'sell', fraction: 0.1 })
    const [sale, ...others] = readAll(world, (page) => world.views.trades(ref, page, place.token)) as [Trade]
    expect([sale.type, others]).toEqual(['sell', []])
    expect(shown()!.balance).toBeCloseTo(held - sale.token_in.amount, 6)
    expect(shown(first.asOf)).toEqual(first.position)
  })
})

it('R27 a wallet of the story `bag-holder` has unrealized < 0 < total', () => {
  const world = openWorld('world-1', { activity: 0.3 })
  for (const hours of [0, 5]) {
    world.advanceTo(startAt + hours * hourMs)
    const { wallet: address, network } = world.commands.apply({ kind: 'story', story: 'bag-holder' })
    const ref = activeWallets(world).find((one) => one.network === network && one.address === address)
    const { pnl } = world.views.pnl(ref!, '30d')
    expect(pnl.unrealized_usd).toBeLessThan(0)
    expect(pnl.total_usd).toBeGreaterThan(0)
  }
})
