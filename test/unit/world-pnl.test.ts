import { describe, expect, it } from 'vitest'
import type { Timeframe } from '../../schema/rest/parameters.ts'
import type { WalletRef, World, WorldOptions } from '../../src/emulator/world/port.ts'
import { keepBooks, type Books } from '../support/world-books.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { activeWallets, dayMs, hourMs, openWorld, readAll, startAt } from '../support/world.ts'

const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

function booksOf(world: World, ref: WalletRef, mode: 'closed' | 'disposals' = 'closed'): Books {
  return keepBooks(readAll(world, (page) => world.views.trades(ref, page, null)).toReversed(), mode)
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}

/** What of the answers differs from the books of a wallet by more than the list of trades leaves open. */
function differences(world: World, ref: WalletRef): readonly string[] {
  const { closings, tolerance } = booksOf(world, ref)
  const since = { all: 0, '7d': 0, '24h': world.now() - dayMs }
  return Object.entries(since).flatMap(([timeframe, sinceMs]) => {
    const told = world.views.pnl(ref, timeframe as Timeframe).pnl.realized_usd
    const realized = sumOf(closings.filter(({ at }) => at >= sinceMs).map(({ gain }) => gain))
    const isNear = Math.abs(realized - told) <= tolerance
    return isNear ? [] : [`${ref.network}:${ref.address} ${timeframe}: books ${realized}, told ${told}`]
  })
}

describe('profit and loss', () => {
  it.each(worldSeeds(worldCounts.agreementWorlds))(
    'R22 A12 A13 realized is what the list of trades gives to whoever keeps books (seed %s)',
    { timeout: 120_000 },
    (seed) => {
      const world = openWorld(seed)
      world.advanceTo(startAt + 1.3 * dayMs)
      const wallets = activeWallets(world)
      expect(wallets.length).toBeGreaterThan(100)
      expect(wallets.flatMap((ref) => differences(world, ref)).slice(0, 5)).toEqual([])
    },
  )

  it('R25 A13 roi is the total in percent of what the positions have cost', () => {
    const world = openWorld('roi')
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

/** A world in which nobody acts, and one wallet that does as it is told. */
function stage(options: Partial<WorldOptions> = {}) {
  const world = openWorld('stage', { activity: 0, ...options })
  const [token, other] = world.views.tokens()
  const { network, address } = token!
  const ref = () => world.views.findWallet(network, wallet)!
  return {
    world,
    buy: (usd: number) => world.acts.apply({ kind: 'trade', network, wallet, side: 'buy', token: address, usd }),
    sell: (fraction: number) =>
      world.acts.apply({ kind: 'trade', network, wallet, side: 'sell', token: address, fraction }),
    move: (percent: number) => world.acts.apply({ kind: 'price-move', network, token: address, percent }),
    swap: () => world.acts.apply({ kind: 'swap', network, wallet, from: address, to: other!.address }),
    pnl: (timeframe: Timeframe = 'all') => world.views.pnl(ref(), timeframe).pnl,
    books: (mode: 'closed' | 'disposals') => booksOf(world, ref(), mode),
    ref,
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

  it('A12 closes a position by a swap, and opens the other at what the first has brought', () => {
    const { world, buy, move, swap, pnl, ref } = stage()
    buy(10_000)
    move(20)
    swap()
    expect(pnl().realized_usd).toBeGreaterThan(1500)
    const [position, ...others] = readAll(world, (page) => world.views.portfolio(ref(), page))
    expect(others).toEqual([])
    expect(position?.cost_basis_usd).toBeCloseTo(10_000 + pnl().realized_usd, 1)
  })

  it('A13 has only what was closed within the time as realized, and always all that is open', () => {
    const { world, buy, sell, move, pnl } = stage()
    buy(10_000)
    move(20)
    sell(1)
    const gain = pnl('24h').realized_usd
    expect(gain).toBeGreaterThan(1500)
    world.advanceTo(world.now() + 2 * dayMs)
    buy(500)
    const [day, week, all] = (['24h', '7d', 'all'] as const).map(pnl)
    expect(day?.realized_usd).toBe(0)
    expect([week?.realized_usd, all?.realized_usd]).toEqual([gain, gain])
    expect(new Set([day?.unrealized_usd, week?.unrealized_usd, all?.unrealized_usd]).size).toBe(1)
    world.advanceTo(world.now() + 6 * dayMs)
    expect(pnl('7d').realized_usd).toBe(0)
    expect(pnl('30d').realized_usd).toBe(gain)
  })

  it('A13 has a roi of 0 where nothing has cost anything', () => {
    const { world, buy, sell, pnl } = stage()
    buy(100)
    sell(1)
    world.advanceTo(world.now() + 2 * dayMs)
    expect(pnl('24h')).toEqual({ realized_usd: 0, unrealized_usd: 0, total_usd: 0, roi_pct: 0 })
  })
})

describe('the story of the bag holder', () => {
  it.each(worldSeeds(worldCounts.triggerWorlds * 3))('R27 shows unrealized < 0 < total (seed %s)', (seed) => {
    const world = openWorld(seed)
    for (const hours of [0, 5, 11]) {
      world.advanceTo(startAt + hours * hourMs)
      const { wallet: address, network } = world.acts.apply({ kind: 'story', story: 'bag-holder' })
      const ref = activeWallets(world).find((one) => one.network === network && one.address === address)
      const { pnl } = world.views.pnl(ref!, '30d')
      expect(pnl.unrealized_usd).toBeLessThan(0)
      expect(pnl.total_usd).toBeGreaterThan(0)
    }
  })

  it('R27 is told within every day, also when nobody asks for it', () => {
    const world = openWorld('every day')
    world.advanceTo(startAt + dayMs)
    const found = activeWallets(world).filter((ref) => {
      const { pnl } = world.views.pnl(ref, 'all')
      return pnl.unrealized_usd < 0 && pnl.total_usd > 0
    })
    expect(found.length).toBeGreaterThan(0)
  })
})
