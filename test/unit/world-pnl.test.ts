import { expect, it } from 'vitest'
import type { Trade } from '../../src/emulator/world/port.ts'
import { booksOf } from '../support/world-books.ts'
import {
  activeWallets,
  asOfNow,
  hourMs,
  openWorld,
  quietWorld,
  readAll,
  readLedger,
  startAt,
} from '../support/world.ts'

it.each(['closed', 'disposals'] as const)(
  'R23 R24 A12 a wallet has an unrealized gain until it sells and realizes it as in the books (mode %s)',
  (pnlMode) => {
    const { world, refOf, buy, sell, move } = quietWorld('stage', { pnlMode })
    const pnl = () => world.views.pnl(refOf(), 'all').pnl
    const gains = () => booksOf(world, refOf(), pnlMode).closings.reduce((sum, { gain }) => sum + gain, 0)
    buy(10_000)
    move(20)
    expect(pnl()).toMatchObject({ realized_usd: 0, unrealized_usd: pnl().total_usd })
    sell(0.5)
    const half = pnl()
    expect(half.unrealized_usd).toBeGreaterThan(700)
    expect(half.realized_usd).toBeCloseTo(gains(), 1)
    sell(1)
    expect(pnl()).toMatchObject({ unrealized_usd: 0, total_usd: pnl().realized_usd })
    expect(pnl().realized_usd).toBeGreaterThan(1500)
    expect(pnl().realized_usd).toBeCloseTo(gains(), 1)
  },
)

it('R19 R52 A12 the creator of a token holds its allocation and the liquidity it removes at no cost', () => {
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
