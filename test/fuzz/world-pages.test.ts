import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { coinAddress } from '../../src/emulator/world/addresses.ts'
import type { AsOf, Page, PageRequest, TokenRef, WalletRef, World } from '../../src/emulator/world/port.ts'
import { worldCounts } from '../counts.ts'
import { activeWallets, asOfNow, hourMs, minuteMs, openWorld, readAll, startAt } from '../support/world.ts'

const { pageRuns } = worldCounts
/** One world for all runs of a property: it only goes on. */
const openBusyWorld = () => {
  const world = openWorld('pages', { activity: 3 })
  world.advanceTo(startAt + 3 * hourMs)
  return world
}

interface Walk<T> {
  readonly items: readonly T[]
  readonly totals: readonly number[]
}

/** Reads page by page, and between any two pages lets so much happen. */
function walk<T>(read: (page: PageRequest) => Page<T>, asOf: AsOf, limit: number, between: () => void): Walk<T> {
  const items: T[] = []
  const totals: number[] = []
  for (let after: number | null = null; ;) {
    const page = read({ limit, after, asOf })
    expect(page.items.length).toBeLessThanOrEqual(limit)
    if (page.lastKey !== null) expect(page.items).toHaveLength(limit)
    items.push(...page.items)
    totals.push(page.total)
    if (page.lastKey === null) return { items, totals }
    after = page.lastKey
    between()
  }
}

const how = fc.record({ chance: fc.nat(999), limit: fc.integer({ min: 1, max: 100 }), waitMs: fc.nat(3 * minuteMs) })

function pick<T>(items: readonly T[], chance: number): T {
  return items[Math.floor((chance / 1000) * items.length)]!
}

/** Something happens, to the wallet whose list is read as well. */
function disturb(world: World, wallet: WalletRef, waitMs: number): void {
  const { network, address } = wallet
  const tokens = world.views.tokens().filter((token) => token.network === network)
  world.acts.apply({ kind: 'trade', network, wallet: address, side: 'buy', token: tokens[0]!.address, usd: 100 })
  world.acts.apply({ kind: 'trade', network, wallet: address, side: 'buy', token: tokens[2]!.address, usd: 100 })
  world.acts.apply({ kind: 'trade', network, wallet: address, side: 'sell', token: tokens[0]!.address, fraction: 1 })
  world.advanceTo(world.now() + waitMs)
}

describe('pages', () => {
  it('R122 A60 of trades miss and repeat nothing while more trades come', { timeout: 120_000 }, () => {
    const world = openBusyWorld()
    const { views } = world
    fc.assert(
      fc.property(how, ({ chance, limit, waitMs }) => {
        const wallet = pick(activeWallets(world), chance)
        const whole = readAll(world, (page) => views.trades(wallet, page, null))
        const { items, totals } = walk(
          (page) => views.trades(wallet, page, null),
          asOfNow(world),
          Math.min(100, Math.max(limit, Math.ceil(whole.length / 8))),
          () => disturb(world, wallet, waitMs),
        )
        expect(items).toEqual(whole)
        // Each says how many there are when it is read.
        expect(totals).toEqual(totals.toSorted((a, b) => a - b))
        expect(totals[0]).toBe(whole.length)
        if (totals.length > 1) expect(totals.at(-1)).toBeGreaterThan(whole.length)
      }),
      { numRuns: pageRuns },
    )
  })

  it(
    'R56 R122 of the trades with one token, or with the coin, are those of all trades that have it',
    { timeout: 120_000 },
    () => {
      const world = openBusyWorld()
      const { views } = world
      fc.assert(
        fc.property(how, fc.nat(999), ({ chance, limit, waitMs }, which) => {
          const wallet = pick(activeWallets(world), chance)
          const { network } = wallet
          const tokens = [...views.tokens().filter((one) => one.network === network), { address: coinAddress(network) }]
          const { address } = pick<Pick<TokenRef, 'address'>>(tokens, which)
          const whole = readAll(world, (page) => views.trades(wallet, page, null))
          const wanted = whole.filter(({ token_in, token_out }) =>
            [token_in.address, token_out.address].includes(address),
          )
          const size = Math.max(1, Math.min(100, Math.max(limit, Math.ceil(wanted.length / 6))))
          const { items, totals } = walk(
            (page) => views.trades(wallet, page, address),
            asOfNow(world),
            size,
            () => disturb(world, wallet, waitMs),
          )
          expect(items).toEqual(wanted)
          expect(totals[0]).toBe(wanted.length)
        }),
        { numRuns: pageRuns },
      )
    },
  )

  it('A21 of trades come newest first', () => {
    const world = openBusyWorld()
    for (const wallet of activeWallets(world)) {
      const times = readAll(world, (page) => world.views.trades(wallet, page, null)).map(({ timestamp }) => timestamp)
      expect(times.toSorted().toReversed()).toEqual(times)
    }
  })

  it('A59 R122 of a portfolio show it as it was at the first page, in its prices too', { timeout: 120_000 }, () => {
    const world = openBusyWorld()
    const { views } = world
    fc.assert(
      fc.property(how, ({ chance, limit, waitMs }) => {
        const wallet = pick(activeWallets(world), chance)
        const whole = readAll(world, (page) => views.portfolio(wallet, page))
        const asOf = asOfNow(world)
        const size = 1 + (limit % 5)
        const { items, totals } = walk(
          (page) => views.portfolio(wallet, page),
          asOf,
          size,
          () => disturb(world, wallet, waitMs),
        )
        expect(items).toEqual(whole)
        expect(totals[0]).toBe(whole.length)
      }),
      { numRuns: pageRuns },
    )
  })

  it(
    'A59 of a portfolio are the same ever after, across graduations, removals and falling prices',
    { timeout: 120_000 },
    () => {
      const world = openWorld('frozen')
      const seen: { readonly wallet: WalletRef; readonly asOf: AsOf; readonly items: readonly unknown[] }[] = []
      const look = () => {
        const asOf = asOfNow(world)
        for (const wallet of activeWallets(world)) {
          if (wallet.index % 3 !== seen.length % 3) continue
          seen.push({ wallet, asOf, items: world.views.portfolio(wallet, { limit: 100, after: null, asOf }).items })
        }
      }
      world.onEvent(({ event }) => {
        if (event.type === 'token.new_listing' || event.type === 'contract.liquidity_removed') look()
      })
      world.advanceTo(startAt + 2 * hourMs)
      for (const network of networkIds) {
        const [token] = world.views.tokens().filter((one) => one.network === network)
        world.acts.apply({ kind: 'rug', network, token: token!.address, percent: 40 })
        world.acts.apply({ kind: 'price-move', network, token: token!.address, percent: -30 })
        look()
      }
      for (let n = 0; n < 3; n++) {
        world.acts.apply({ kind: 'graduate' })
        look()
      }
      world.advanceTo(startAt + 4 * hourMs)
      expect(seen.length).toBeGreaterThan(300)
      for (const { wallet, asOf, items } of seen) {
        expect(world.views.portfolio(wallet, { limit: 100, after: null, asOf }).items).toEqual(items)
      }
    },
  )

  it('A20 R122 of a search miss and repeat no token while more are listed', { timeout: 120_000 }, () => {
    const world = openBusyWorld()
    const { views } = world
    const query = fc.constantFrom('a', 'E', 'er', 'moon', 'pump', 'no such token')
    const where = fc.option(fc.constantFrom(...networkIds))
    fc.assert(
      fc.property(query, where, how, (q, network, { limit, waitMs }) => {
        const fits = ({ symbol, name }: { symbol: string; name: string }) =>
          [symbol, name].some((text) => text.toLowerCase().includes(q.toLowerCase()))
        const tokens = views.tokens().map((token) => views.token(token))
        const wanted = tokens.filter((token) => (network === null || token.network === network) && fits(token))
        // Not after every page: what is listed makes the next lists longer.
        let pages = 0
        const { items, totals } = walk(
          (page) => views.searchTokens(q, network, page),
          asOfNow(world),
          1 + (limit % 9),
          () => {
            if (++pages > 4) return
            world.acts.apply({
              kind: 'list',
              network: network ?? 'base',
              symbol: 'NEWA',
              name: 'New E moon',
              liquidityUsd: 5000,
            })
            world.advanceTo(world.now() + waitMs / 10)
          },
        )
        expect(items.map(({ address }) => address)).toEqual(wanted.map(({ address }) => address))
        expect(totals[0]).toBe(wanted.length)
      }),
      { numRuns: pageRuns },
    )
  })

  it('A20 of a search find a token by its exact address, on EVM networks in any case', () => {
    const world = openWorld('addresses')
    const page = { limit: 20, after: null, asOf: asOfNow(world) }
    for (const { network, address } of world.views.tokens()) {
      const find = (q: string) => world.views.searchTokens(q, null, page).items.map((token) => token.address)
      expect(find(address)).toEqual([address])
      expect(find(address.toLowerCase())).toEqual(network === 'solana' ? [] : [address])
      expect(find(address.slice(0, -1))).toEqual([])
      expect(world.views.searchTokens(address, network === 'base' ? 'bnb' : 'base', page).items).toEqual([])
    }
  })
})
