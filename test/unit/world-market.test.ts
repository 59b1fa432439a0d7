import { describe, expect, it } from 'vitest'
import {
  createCurve,
  curveDecimals,
  curveSupply,
  migrationFee,
  migrationTokens,
  quoteCurveBuy,
  quoteCurveSell,
  type Curve,
} from '../../src/emulator/world/curve.ts'
import { quoteBuy, quoteSell, withdraw } from '../../src/emulator/world/pool.ts'
import { collectEvents, dataOf, openWorld } from '../support/world.ts'

const sol = 1_000_000_000n
const wholeToken = 10n ** BigInt(curveDecimals)

describe('a pool', () => {
  it('R28 moves its price by 4.748 % when 5 come into 100 at a fee of 0.30 %', () => {
    const pool = { coins: 100n * sol, tokens: 1_000_000n * wholeToken }
    expect(quoteBuy(pool, 5n * sol, 30)).toEqual({
      paid: 5n * sol,
      // 4.985 · 1,000,000 / 104.985
      received: 47_482_973_758n,
      fee: 15_000_000n,
      impactPct: 4.748297,
    })
  })

  it('R28 takes the fee from what comes in on either side', () => {
    const pool = { coins: 100n * sol, tokens: 1_000_000n * wholeToken }
    const { fee, received, impactPct } = quoteSell(pool, 10_000n * wholeToken, 25)
    expect(fee).toBe(25n * wholeToken)
    // 9,975 · 100 / 1,009,975
    expect(received).toBe(987_648_209n)
    expect(impactPct).toBe(0.987648)
  })

  it('gives nothing for nothing, and never all that it has', () => {
    const pool = { coins: 100n, tokens: 1000n }
    expect(quoteBuy(pool, 0n, 30).received).toBe(0n)
    expect(quoteBuy(pool, 10n ** 30n, 30).received).toBeLessThan(1000n)
  })

  it('R100 keeps its price when liquidity leaves it', () => {
    const pool = { coins: 400n * sol, tokens: 12_000_000n * wholeToken }
    expect(withdraw(pool, 9250)).toEqual({ coins: 370n * sol, tokens: 11_100_000n * wholeToken })
    expect(pool).toEqual({ coins: 30n * sol, tokens: 900_000n * wholeToken })
  })
})

describe('a bonding curve', () => {
  it('gives 34,199,203 tokens for the first SOL at a fee of 1.25 %', () => {
    const { received, paid } = quoteCurveBuy(createCurve(), sol)
    expect(received / wholeToken).toBe(34_199_203n)
    expect(paid).toBe(sol)
  })

  it('A67 has raised 85,005,359,057 lamports when all of it is bought', () => {
    const { net, received, paid } = quoteCurveBuy(createCurve(), 1000n * sol)
    expect(received).toBe(793_100_000n * wholeToken)
    expect(net).toBe(85_005_359_057n)
    // The fee comes on top, and what was too much stays with the buyer.
    expect(paid - net).toBeGreaterThanOrEqual((net * 125n) / 10_000n)
    expect(paid - net).toBeLessThanOrEqual((net * 125n) / 10_000n + 2n)
  })

  it('raises its price 14.7 times, and the value of all tokens from 27.96 to 410.9 SOL', () => {
    const opening = createCurve()
    const completed = complete(createCurve())
    const value = ({ virtualCoins, virtualTokens }: Curve) =>
      Number((virtualCoins * curveSupply) / virtualTokens) / Number(sol)
    expect(value(opening)).toBeCloseTo(27.96, 2)
    expect(value(completed)).toBeCloseTo(410.9, 1)
    expect(value(completed) / value(opening)).toBeCloseTo(14.7, 2)
  })

  it('R102 opens its pool within 0.025 % of its own last price', () => {
    const { realCoins, virtualCoins, virtualTokens } = complete(createCurve())
    const last = Number(virtualCoins) / Number(virtualTokens)
    const opening = Number(realCoins - migrationFee) / Number(migrationTokens)
    expect(Math.abs(opening / last - 1)).toBeLessThan(0.000_25)
  })

  it('takes its fee from what a sale brings', () => {
    const curve = complete(createCurve())
    const { gross, received } = quoteCurveSell(curve, 1_000_000n * wholeToken)
    expect(received).toBe((gross * 9875n) / 10_000n)
    expect(gross).toBeLessThan((1_000_000n * wholeToken * curve.virtualCoins) / curve.virtualTokens)
  })

  it('R102 A67 is told with what it raised, and its token goes on at the same price in the pool', () => {
    const world = openWorld('graduation')
    const events = collectEvents(world)
    const prices: number[] = []
    const priceNow = () => world.views.token(world.views.tokens().at(-1)!).price_usd
    world.onEvent(({ event }) => event.type === 'pump.graduation' && prices.push(priceNow()))
    const { token } = world.acts.apply({ kind: 'graduate', symbol: 'ABC', name: 'A B C' })
    prices.push(priceNow())
    const [graduation, ...others] = dataOf(events, 'pump.graduation')
    expect(others).toEqual([])
    expect(graduation).toMatchObject({
      token_address: token,
      symbol: 'ABC',
      name: 'A B C',
      bonding_curve_completed: true,
    })
    expect(graduation?.sol_raised).toBe(85.005359057)
    expect(Object.keys(graduation ?? {})).not.toContain('network')
    expect(prices).toHaveLength(2)
    expect(Math.abs(prices[1]! / prices[0]! - 1)).toBeLessThan(0.000_25)
  })
})

function complete(curve: Curve): Curve {
  const { net, received } = quoteCurveBuy(curve, 1000n * sol)
  curve.virtualCoins += net
  curve.realCoins += net
  curve.virtualTokens -= received
  curve.realTokens -= received
  return curve
}
