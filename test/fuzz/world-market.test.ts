import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCurve, quoteCurveBuy, withdraw } from '../../src/emulator/world/exchange.ts'
import { worldCounts } from '../counts.ts'

const reserve = fc.bigInt({ min: 1n, max: 10n ** 30n })

describe('a pool', () => {
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
})
