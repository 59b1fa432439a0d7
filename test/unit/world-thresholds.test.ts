import { expect, it } from 'vitest'
import { otherWallet, dataOf, quietWorld, newWallet } from '../support/world.ts'

/** A quiet world. `list` returns the address of a new token on Base. */
function stage(options = {}) {
  const quiet = quietWorld('quiet', options)
  const { act, events } = quiet
  return {
    ...quiet,
    list: (liquidityUsd: number) => {
      const listed = act({ kind: 'list', network: 'base', symbol: 'ABC', name: 'A B C', liquidityUsd })
      return String(listed['token'])
    },
    rug: (token: string, percent: number) => act({ kind: 'rug', network: 'base', token, percent }),
    /** Buys, moves the price, and sells all. */
    round: (usd: number, percent: number) => {
      quiet.buy(usd)
      quiet.move(percent)
      quiet.sell()
    },
    realized: () => quiet.world.views.pnl(quiet.refOf(), 'all').pnl.realized_usd,
    milestones: () => dataOf(events, 'wallet.pnl_milestone').map((data) => data.milestone_usd),
  }
}

it('A68 a graduation emits no listing if graduationAlsoLists is off', () => {
  const { act, wait, events } = stage({ graduationAlsoLists: false })
  act({ kind: 'graduate' })
  wait(1)
  expect(dataOf(events, 'pump.graduation')).toHaveLength(1)
  expect(dataOf(events, 'token.new_listing')).toEqual([])
})

it('R94 a listing shows the initial liquidity', () => {
  const { list, rug, wait, events } = stage()
  const token = list(25_000)
  rug(token, 50)
  wait(1)
  expect(dataOf(events, 'token.new_listing')).toMatchObject([
    { token_address: token, initial_liquidity_usd: 25_000, symbol: 'ABC' },
  ])
})

it('R100 A39 a removal counts from 20 % or 10,000 USD on', () => {
  const { list, rug, events } = stage()
  for (const [usd, percent] of [
    [20_000, 19.99],
    [20_000, 20],
    [500_000, 1.99],
    [500_000, 2.01],
  ] as const) {
    rug(list(usd), percent)
  }
  const removals = dataOf(events, 'contract.liquidity_removed')
  expect(removals.map(({ liquidity_removed_pct }) => liquidity_removed_pct)).toEqual([20, 2.01])
  for (const data of removals) {
    const whole = data.liquidity_removed_usd + data.remaining_liquidity_usd
    expect(data.liquidity_removed_usd / whole).toBeCloseTo(data.liquidity_removed_pct / 100, 4)
  }
})

it('R98 A35 each milestone counts once, for gains and losses, several at once', () => {
  const { act, track, round, milestones } = stage()
  act({ kind: 'thresholds', milestonesUsd: [500, 1000, 2000] })
  track()
  round(10_000, 20)
  expect(milestones()).toEqual([500, 1000])
  round(10_000, 20)
  expect(milestones()).toEqual([500, 1000, 2000])
  for (let n = 0; n < 4; n++) round(10_000, -30)
  expect(milestones()).toEqual([500, 1000, 2000, -500, -1000, -2000])
  for (let n = 0; n < 6; n++) round(10_000, 40)
  expect(milestones()).toHaveLength(6)
})

it('R98 ignores milestones passed before tracking', () => {
  const { track, buy, sell, round, milestones } = stage()
  round(20_000, 25)
  track()
  buy(10)
  sell()
  expect(milestones()).toEqual([])
  round(20_000, 25)
  expect(milestones()).toEqual([5000])
})

it('R96 a large trade is a trade of a tracked wallet above the threshold', () => {
  const { track, buy, events } = stage()
  track()
  buy(10_000)
  buy(10_000.01)
  buy(50_000, { wallet: otherWallet })
  expect(dataOf(events, 'wallet.large_trade')).toMatchObject([
    { wallet_address: newWallet, trade_type: 'buy', amount_usd: 10_000.01 },
  ])
  track(newWallet, false)
  buy(20_000)
  expect(dataOf(events, 'wallet.large_trade')).toHaveLength(1)
})
