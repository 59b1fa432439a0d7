import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createCurve,
  quoteBuy,
  quoteCurveBuy,
  quoteCurveSell,
  quoteSell,
  withdraw,
} from '../../src/emulator/world/exchange.ts'
import type { Pool } from '../../src/emulator/world/state.ts'
import { worldCounts } from '../counts.ts'

const fees = fc.constantFrom(0, 25, 30, 100)
const reserve = fc.bigInt({ min: 1n, max: 10n ** 30n })
const trade = fc.record({
  isBuy: fc.boolean(),
  amount: fc.oneof(fc.bigInt({ min: 0n, max: 10n ** 6n }), fc.bigInt({ min: 0n, max: 10n ** 31n })),
  feeBps: fees,
})

function follow(pool: Pool, { isBuy, amount, feeBps }: { isBuy: boolean; amount: bigint; feeBps: number }): bigint {
  const { paid, received } = isBuy ? quoteBuy(pool, amount, feeBps) : quoteSell(pool, amount, feeBps)
  pool.coins += isBuy ? paid : -received
  pool.tokens += isBuy ? -received : paid
  return received
}

describe('a pool', () => {
  it('never has a smaller product after a trade, and never is empty', () => {
    fc.assert(
      fc.property(reserve, reserve, fc.array(trade, { maxLength: 30 }), (coins, tokens, trades) => {
        const pool = { coins, tokens }
        let product = coins * tokens
        for (const one of trades) {
          follow(pool, one)
          expect(pool.coins > 0n && pool.tokens > 0n).toBe(true)
          expect(pool.coins * pool.tokens >= product).toBe(true)
          product = pool.coins * pool.tokens
        }
      }),
      { numRuns: worldCounts.numberRuns },
    )
  })

  it('R100 keeps its price to one base unit when liquidity is removed', () => {
    const bps = fc.integer({ min: 0, max: 9999 })
    fc.assert(
      fc.property(reserve, reserve, bps, (coins, tokens, bpsTaken) => {
        const pool = { coins, tokens }
        const taken = withdraw(pool, bpsTaken)
        expect([pool.coins + taken.coins, pool.tokens + taken.tokens]).toEqual([coins, tokens])
        const left = BigInt(10_000 - bpsTaken)
        // The rest is the exact share, rounded up.
        expect(pool.coins).toBe((coins * left + 9999n) / 10_000n)
        expect(pool.tokens).toBe((tokens * left + 9999n) / 10_000n)
      }),
      { numRuns: worldCounts.numberRuns },
    )
  })
})

describe('a bonding curve', () => {
  const lamports = fc.oneof(fc.bigInt({ min: 100n, max: 10_000n }), fc.bigInt({ min: 10n ** 6n, max: 20n * 10n ** 9n }))

  it('A67 raises 85,005,359,057 lamports by any path of purchases', () => {
    fc.assert(
      fc.property(fc.array(lamports, { maxLength: 300 }), (amounts) => {
        const curve = createCurve()
        for (const coins of [...amounts, 1000n * 10n ** 9n]) {
          if (curve.realTokens === 0n) break
          const { paid, fee, received } = quoteCurveBuy(curve, coins)
          expect(paid <= coins && fee >= 0n).toBe(true)
          curve.virtualCoins += paid - fee
          curve.realCoins += paid - fee
          curve.virtualTokens -= received
          curve.realTokens -= received
        }
        expect(curve).toEqual({
          virtualCoins: 115_005_359_057n,
          virtualTokens: 279_900_000_000_000n,
          realTokens: 0n,
          realCoins: 85_005_359_057n,
        })
      }),
      { numRuns: worldCounts.curveRuns },
    )
  })

  it('never pays out more than it took', () => {
    const step = fc.record({ isBuy: fc.boolean(), coins: lamports, share: fc.integer({ min: 1, max: 100 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const curve = createCurve()
        let held = 0n
        for (const { isBuy, coins, share } of steps) {
          if (curve.realTokens === 0n) break
          const product = curve.virtualCoins * curve.virtualTokens
          const shared = (held * BigInt(share)) / 100n
          const { paid, received, fee } = isBuy ? quoteCurveBuy(curve, coins) : quoteCurveSell(curve, shared)
          const moved = isBuy ? received : -paid
          const raised = (isBuy ? paid : -received) - fee
          curve.virtualCoins += raised
          curve.realCoins += raised
          curve.virtualTokens -= moved
          curve.realTokens -= moved
          held += moved
          expect(curve.virtualCoins * curve.virtualTokens >= product).toBe(true)
          expect(curve.realCoins >= 0n).toBe(true)
          expect(curve.realTokens + held).toBe(793_100_000_000_000n)
        }
      }),
      { numRuns: worldCounts.curveRuns },
    )
  })
})
