import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { coinAddress } from '../../src/emulator/world/addresses.ts'
import type { Page, PageRequest, Ref } from '../../src/emulator/world/port.ts'
import { worldCounts } from '../counts.ts'
import { activeWallets, asOfNow, hourMs, minuteMs, openWorld, readAll, startAt } from '../support/world.ts'

const { pageRuns } = worldCounts

/** One world for all properties, which only move its time forward. */
const world = openWorld('pages', { activity: 3 })
const { views, commands } = world
world.advanceTo(startAt + 2 * hourMs)

/** Reads page by page as of now, and calls `disturb` between pages. Expects the present items. Returns the totals. */
function expectStable<T>(read: (page: PageRequest) => Page<T>, limit: number, disturb: () => void): readonly number[] {
  const whole = readAll(world, read)
  const asOf = asOfNow(world)
  const items: T[] = []
  const totals: number[] = []
  for (let after: number | null = null; ;) {
    const page = read({ limit, after, asOf })
    items.push(...page.items)
    totals.push(page.total)
    if (page.lastKey === null) break
    expect(page.items).toHaveLength(limit)
    after = page.lastKey
    disturb()
  }
  expect(items).toEqual(whole)
  expect(totals[0]).toBe(whole.length)
  return totals
}

const how = fc.record({ chance: fc.nat(999), which: fc.nat(999), waitMs: fc.nat(2 * minuteMs) })

function pick<T>(items: readonly T[], chance: number): T {
  return items[Math.floor((chance / 1000) * items.length)]!
}

/** About six pages. */
function sixth(count: number): number {
  return Math.max(1, Math.min(100, Math.ceil(count / 6)))
}

/** Trades of the wallet whose list is read, and of others. */
function tradeMore({ network, address: wallet }: Ref, waitMs: number): void {
  const [first, , third] = views.tokens().filter((token) => token.network === network)
  commands.apply({ kind: 'trade', network, wallet, side: 'buy', token: first!.address, usd: 100 })
  commands.apply({ kind: 'trade', network, wallet, side: 'buy', token: third!.address, usd: 100 })
  commands.apply({ kind: 'trade', network, wallet, side: 'sell', token: first!.address, fraction: 1 })
  world.advanceTo(world.now() + waitMs)
}

describe('pages show the world as of the first one', { timeout: 120_000 }, () => {
  it('R56 R122 A21 A60 trades, newest first, all of them or those with a token or the coin', () => {
    fc.assert(
      fc.property(how, ({ chance, which, waitMs }) => {
        const wallet = pick(activeWallets(world), chance)
        const { network } = wallet
        const disturb = () => tradeMore(wallet, waitMs)
        const all = readAll(world, (page) => views.trades(wallet, page, null))
        const times = all.map(({ timestamp }) => timestamp)
        expect(times.toSorted().toReversed()).toEqual(times)
        const totals = expectStable((page) => views.trades(wallet, page, null), sixth(all.length), disturb)
        if (totals.length > 1) expect(totals.at(-1)).toBeGreaterThan(all.length)

        const tokens = views.tokens().filter((token) => token.network === network)
        const address = pick([...tokens.map((token) => token.address), coinAddress(network)], which)
        const wanted = readAll(world, (page) => views.trades(wallet, page, null)).filter((trade) =>
          [trade.token_in.address, trade.token_out.address].includes(address),
        )
        expect(readAll(world, (page) => views.trades(wallet, page, address))).toEqual(wanted)
        expectStable((page) => views.trades(wallet, page, address), sixth(wanted.length), disturb)
      }),
      { numRuns: pageRuns },
    )
  })

  it('A59 R122 a portfolio, with its prices', () => {
    fc.assert(
      fc.property(how, ({ chance, which, waitMs }) => {
        const wallet = pick(activeWallets(world), chance)
        expectStable(
          (page) => views.portfolio(wallet, page),
          1 + (which % 5),
          () => tradeMore(wallet, waitMs),
        )
      }),
      { numRuns: pageRuns },
    )
  })

  it('A20 R122 a search, while tokens are listed', () => {
    const query = fc.constantFrom('a', 'E', 'er', 'moon', 'no such token')
    fc.assert(
      fc.property(query, fc.option(fc.constantFrom(...networkIds)), (q, network) => {
        const fits = ({ symbol, name }: { symbol: string; name: string }) =>
          [symbol, name].some((text) => text.toLowerCase().includes(q.toLowerCase()))
        const tokens = views.tokens().map((token) => views.token(token))
        const wanted = tokens.filter((token) => (network === null || token.network === network) && fits(token))
        const search = (page: PageRequest) => {
          const { items, ...rest } = views.searchTokens(q, network, page)
          // Prices move between requests.
          return { ...rest, items: items.map(({ address }) => address) }
        }
        expect(readAll(world, search)).toEqual(wanted.map(({ address }) => address))
        const listed = { network: network ?? 'base', symbol: 'NEWA', name: 'New E moon', liquidityUsd: 5000 } as const
        expectStable(search, sixth(wanted.length), () => void commands.apply({ kind: 'list', ...listed }))
      }),
      { numRuns: pageRuns },
    )
  })
})

it('A20 a search finds a token by its exact address, on EVM networks in any case', () => {
  const page = { limit: 20, after: null, asOf: asOfNow(world) }
  for (const { network, address } of views.tokens().slice(0, 21)) {
    const find = (q: string) => views.searchTokens(q, null, page).items.map((token) => token.address)
    expect(find(address)).toEqual([address])
    expect(find(address.toLowerCase())).toEqual(network === 'solana' ? [] : [address])
    expect(find(address.slice(0, -1))).toEqual([])
    expect(views.searchTokens(address, network === 'base' ? 'bnb' : 'base', page).items).toEqual([])
  }
})
