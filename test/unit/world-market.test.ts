import { expect, it } from 'vitest'
import { createCurve, curveDecimals, quoteCurveBuy, quoteSale, quoteSwap } from '../../src/emulator/world/exchange.ts'
import type { TokenState } from '../../src/emulator/world/state.ts'
import { collectEvents, dataOf, openWorld, quietWorld } from '../support/world.ts'

const sol = 1_000_000_000n
const wholeToken = 10n ** BigInt(curveDecimals)

it('R28 a pool has an impact of 4.748 % for 5 coins into 100 at a fee of 0.30 %', () => {
  expect(quoteSwap(100n * sol, 1_000_000n * wholeToken, 5n * sol, 30)).toEqual({
    paid: 5n * sol,
    // 4.985 · 1,000,000 / 104.985
    received: 47_482_973_758n,
    fee: 15_000_000n,
    impactPct: 4.748297,
  })
})

it('R28 a sale costs 0.30 % of its value at the price before', () => {
  const pool = { coins: 100n * sol, tokens: 1_000_000n * wholeToken, feeBps: 30 }
  const token = { contract: { sellTaxBps: 0 }, pool, curve: null } as unknown as TokenState
  // 3 of 1,000 tokens, at 0.0001 coins each.
  expect(quoteSale(token, 1000n * wholeToken)?.fee).toBe(300_000n)
})

it('a bonding curve sells 34,199,203 tokens for the first SOL at a fee of 1.25 %', () => {
  const { received, paid } = quoteCurveBuy(createCurve(), sol)
  expect(received / wholeToken).toBe(34_199_203n)
  expect(paid).toBe(sol)
})

it('R102 A67 a bonding curve graduates with the coins raised and keeps the price in the pool', () => {
  const world = openWorld('graduation')
  const events = collectEvents(world)
  const prices: number[] = []
  const priceNow = () => world.views.token(world.views.tokens().at(-1)!).price_usd
  world.onEvent(({ event }) => event.type === 'pump.graduation' && prices.push(priceNow()))
  const { token } = world.commands.apply({ kind: 'graduate', symbol: 'ABC', name: 'A B C' })
  prices.push(priceNow())
  const [graduation, ...others] = dataOf(events, 'pump.graduation')
  expect(others).toEqual([])
  const named = { token_address: token, symbol: 'ABC', name: 'A B C' }
  expect(graduation).toMatchObject({ ...named, bonding_curve_completed: true, sol_raised: 85.005359057 })
  expect(Object.keys(graduation ?? {})).not.toContain('network')
  expect(prices).toHaveLength(2)
  expect(Math.abs(prices[1]! / prices[0]! - 1)).toBeLessThan(0.000_25)
})

it('a market goes on after a fall to nearly nothing', () => {
  const { move, wait } = quietWorld('fall', { activity: 1 })
  for (let n = 0; n < 16; n++) move(-99.8)
  expect(() => wait(10)).not.toThrow()
})
