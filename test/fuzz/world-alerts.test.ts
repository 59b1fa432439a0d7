import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { networkIds, type NetworkId } from '../../schema/index.ts'
import type { Trade, World } from '../../src/emulator/world/port.ts'
import { worldCounts } from '../counts.ts'
import { activeWallets, dayMs, openWorld, readAll, startAt } from '../support/world.ts'

const usd = fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.integer({ min: 2000, max: 30_000 }))
const plannedAlert = fc.record({
  type: fc.constantFrom('whale_buy', 'whale_sell'),
  network: fc.constantFrom(...networkIds),
  isWallet: fc.boolean(),
  /** Which of the wallets or tokens of the network, as a share of their number. */
  place: fc.nat(999).map((thousandths) => thousandths / 1000),
  threshold: usd,
  isOneShot: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
})
type PlannedAlert = typeof plannedAlert extends fc.Arbitrary<infer T> ? T : never

interface SetAlert extends PlannedAlert {
  readonly alertId: string
  readonly address: string
}

/** Sets alerts on what is there when the world begins. */
function setAlerts(world: World, planned: readonly PlannedAlert[]): readonly SetAlert[] {
  const { views } = world
  return planned.map((alert, index) => {
    const { isWallet, network, place, type, threshold, isOneShot } = alert
    const places = (isWallet ? views.wallets() : views.tokens()).filter((one) => one.network === network)
    const { address } = places[Math.floor(place * places.length)]!
    const alertId = `alrt_${index}`
    world.acts.apply({ kind: 'add-alert', alertId, type, network, address, threshold, isOneShot })
    return { ...alert, alertId, address }
  })
}

interface Traded extends Trade {
  readonly network: NetworkId
  readonly wallet: string
  readonly isTracked: boolean
}

/** What REST shows of the trades of all wallets. */
function tradesOf(world: World): readonly Traded[] {
  const tracked = new Set(world.views.trackedWallets().map(({ index }) => index))
  return activeWallets(world).flatMap((wallet) => {
    const { network, address, index } = wallet
    const trades = readAll(world, (page) => world.views.trades(wallet, page, null))
    return trades.map((trade) => ({ ...trade, network, wallet: address, isTracked: tracked.has(index) }))
  })
}

function sizeOf({ type, token_in, token_out }: Trade): number {
  return type === 'sell' ? token_out.value_usd : token_in.value_usd
}

/** Whether a trade meets an alert, in a world in which everybody is a whale. */
function isMet(alert: SetAlert, trade: Traded): boolean {
  if (trade.network !== alert.network || sizeOf(trade) < alert.threshold) return false
  if (alert.isWallet) return trade.wallet === alert.address && trade.type !== opposite[alert.type]
  return (alert.type === 'whale_buy' ? trade.token_out : trade.token_in).address === alert.address
}
const opposite = { whale_buy: 'sell', whale_sell: 'buy' } as const

function expectEachTradeTold(world: World, alerts: readonly SetAlert[]): void {
  const trades = new Map(tradesOf(world).map((trade) => [trade.tx_hash, trade]))
  const told = world
    .eventsAfter(0, Infinity)
    .flatMap((one) => (one.event.type === 'wallet.large_trade' ? [{ ...one, data: one.event.data }] : []))
  for (const { data, alertIds, audience } of told) {
    const trade = trades.get(data.tx_hash)!
    const traded = trade.type === 'sell' ? trade.token_in : trade.token_out
    expect(data).toEqual({
      wallet_address: trade.wallet,
      network: trade.network,
      trade_type: trade.type,
      token_address: traded.address,
      token_symbol: traded.symbol,
      amount_usd: sizeOf(trade),
      tx_hash: trade.tx_hash,
    })
    expect(audience).toBe(trade.isTracked && sizeOf(trade) > 10_000 ? 'all' : 'alerts')
    if (audience === 'alerts') expect(alertIds.length).toBeGreaterThan(0)
  }
  const hashes = told.map(({ data }) => data.tx_hash)
  expect(new Set(hashes).size).toBe(hashes.length)
  for (const alert of alerts) {
    const expected = [...trades.values()].filter((trade) => isMet(alert, trade)).map(({ tx_hash }) => tx_hash)
    const actual = told.filter(({ alertIds }) => alertIds.includes(alert.alertId)).map(({ data }) => data.tx_hash)
    if (!alert.isOneShot) expect(new Set(actual), JSON.stringify(alert)).toEqual(new Set(expected))
    else {
      expect(actual, JSON.stringify(alert)).toHaveLength(Math.min(1, expected.length))
      for (const hash of actual) expect(expected).toContain(hash)
    }
  }
}

function runADay(seed: string, planned: readonly PlannedAlert[]): void {
  const world = openWorld(seed, { whaleUsd: 0 })
  const alerts = setAlerts(world, planned)
  world.advanceTo(startAt + dayMs)
  expectEachTradeTold(world, alerts)
}

describe('alerts on trades, whatever they are on', () => {
  it(
    'A15 A42 R105 tell of each trade that meets them, once, with the numbers of GET trades',
    { timeout: 3_600_000 },
    () => {
      const seed = fc.stringMatching(/^[a-z]{1,4}$/)
      // What chance might leave out: a wallet and a token of each kind, all trades of them, and one that fires once.
      const some = { network: 'ethereum', place: 0, threshold: 1, isOneShot: false } as const
      const certain: readonly PlannedAlert[] = (['whale_buy', 'whale_sell'] as const).flatMap((type) =>
        [true, false].flatMap((isWallet) => [
          { ...some, type, isWallet },
          { ...some, type, isWallet, isOneShot: true },
        ]),
      )
      fc.assert(fc.property(seed, fc.array(plannedAlert, { minLength: 5, maxLength: 40 }), runADay), {
        numRuns: worldCounts.alertRuns,
        examples: [['a', certain as PlannedAlert[]]],
      })
    },
  )
})
