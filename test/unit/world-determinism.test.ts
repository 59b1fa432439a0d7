import { describe, expect, it } from 'vitest'
import { serialize } from '../../src/emulator/serialize.ts'
import type { World, WorldCommand, WorldEvent } from '../../src/emulator/world/port.ts'
import { collectEvents, hourMs, minuteMs, openWorld, setPriceAlerts, startAt } from '../support/world.ts'

const bodiesOf = (events: readonly WorldEvent[]) => events.map(({ event }) => serialize(event).toString())

const scripted: readonly (readonly [afterMs: number, WorldCommand])[] = [
  [0, { kind: 'thresholds', largeTradeUsd: 5000 }],
  [10 * minuteMs, { kind: 'list', network: 'base', symbol: 'ABC', name: 'A B C', liquidityUsd: 40_000 }],
  [10 * minuteMs, { kind: 'story', story: 'scam' }],
  [25 * minuteMs + 123, { kind: 'trigger', type: 'wallet.large_trade' }],
  [50 * minuteMs, { kind: 'activity', factor: 3 }],
  [70 * minuteMs, { kind: 'trigger', type: 'pump.graduation' }],
  [2 * hourMs, { kind: 'activity', factor: 1 }],
]

/** Runs a world through the script and three hours, in steps of so many milliseconds. */
function run(
  seed: string,
  stepMs: number,
  options: Parameters<typeof openWorld>[1] = {},
): { world: World; bodies: readonly string[] } {
  const world = openWorld(seed, options)
  const events = collectEvents(world)
  setPriceAlerts(world, 2)
  const advance = (to: number) => {
    for (let at = world.now() + stepMs; at < to; at += stepMs) world.advanceTo(at)
    world.advanceTo(to)
  }
  for (const [afterMs, act] of scripted) {
    advance(startAt + afterMs)
    world.acts.apply(act)
  }
  advance(startAt + 3 * hourMs)
  return { world, bodies: bodiesOf(events) }
}

describe('the same seed and the same acts', () => {
  it('give byte-equal events and an equal digest, in whatever steps time passes', () => {
    const { world, bodies } = run('same', 3 * hourMs)
    expect(bodies.length).toBeGreaterThan(50)
    for (const stepMs of [hourMs, 61_007, 997]) {
      const other = run('same', stepMs)
      expect(other.bodies).toEqual(bodies)
      expect(other.world.digest()).toBe(world.digest())
    }
  })

  it('give the same whether or not somebody reads in between', () => {
    const [read, left] = [openWorld('read'), openWorld('read')]
    for (let minute = 1; minute <= 60; minute++) {
      read.advanceTo(startAt + minute * minuteMs)
      for (const token of read.views.tokens()) read.views.token(token)
      for (const wallet of read.views.wallets()) {
        if (wallet.tradeCount > 0) read.views.overview(wallet)
        read.views.findWallet(wallet.network, wallet.address)
      }
      read.snapshot()
      read.digest()
    }
    left.advanceTo(startAt + hourMs)
    expect(read.digest()).toBe(left.digest())
  })
})

describe('another', () => {
  it('seed gives other events, addresses and prices', () => {
    const [one, other] = [run('one', hourMs), run('other', hourMs)]
    expect(one.world.digest()).not.toBe(other.world.digest())
    expect(one.bodies.filter((body) => other.bodies.includes(body))).toEqual([])
    const addresses = new Set(one.world.views.wallets().map(({ address }) => address))
    expect(other.world.views.wallets().filter(({ address }) => addresses.has(address))).toEqual([])
  })
})

describe('how busy everybody is', () => {
  const tradesAfter = (activity: number, hours: number) => {
    const world = openWorld('busy', { activity })
    world.advanceTo(startAt + hours * hourMs)
    return world.views.wallets().reduce((sum, { tradeCount }) => sum + tradeCount, 0)
  }

  it('is how fast they act: an hour of four times as busy is like four hours', () => {
    const usual = tradesAfter(1, 4)
    expect(tradesAfter(4, 1) / usual).toBeGreaterThan(0.8)
    expect(tradesAfter(4, 1) / usual).toBeLessThan(1.25)
    expect(tradesAfter(0.25, 4) / usual).toBeLessThan(0.4)
  })

  it('may be nothing at all, and then only what is done from outside happens', () => {
    const world = openWorld('quiet', { activity: 0 })
    const events = collectEvents(world)
    world.advanceTo(startAt + 48 * hourMs)
    expect(world.views.wallets().filter(({ tradeCount }) => tradeCount > 0)).toEqual([])
    expect(events).toEqual([])
    world.acts.apply({ kind: 'trigger', type: 'token.new_listing' })
    world.advanceTo(world.now() + 5000)
    expect(events.map(({ event }) => event.type)).toEqual(['token.new_listing'])
    world.acts.apply({ kind: 'activity', factor: 1 })
    world.advanceTo(world.now() + hourMs)
    expect(world.views.wallets().filter(({ tradeCount }) => tradeCount > 0).length).toBeGreaterThan(50)
  })
})

describe('one more', () => {
  it('wallet or alert shifts the draws of nobody else', () => {
    const plain = openWorld('shift')
    const more = openWorld('shift')
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    more.acts.apply({ kind: 'track', network: 'base', wallet, isTracked: true })
    const [token] = more.views.tokens()
    more.acts.apply({
      kind: 'add-alert',
      alertId: 'alrt_1',
      type: 'price_above',
      network: 'ethereum',
      address: token!.address,
      threshold: 1e9,
    })
    const bodies = [plain, more].map((world) => {
      const events = collectEvents(world)
      world.advanceTo(startAt + 6 * hourMs)
      return bodiesOf(events)
    })
    expect(bodies[0]!.length).toBeGreaterThan(50)
    expect(bodies[1]).toEqual(bodies[0])
  })

  it('trade on one network shifts nothing on another', () => {
    const plain = openWorld('apart')
    const more = openWorld('apart')
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    const token = more.views.tokens().find(({ network }) => network === 'polygon')!
    more.acts.apply({ kind: 'trade', network: 'polygon', wallet, side: 'buy', token: token.address, usd: 50_000 })
    const amounts = [plain, more].map((world) => {
      world.advanceTo(startAt + 6 * hourMs)
      const page = { limit: 100, after: null, asOf: { at: world.now(), seq: world.seq() } }
      return world.views
        .wallets()
        .filter(({ network, tradeCount }) => network === 'avalanche' && tradeCount > 0)
        .map((one) => world.views.trades(one, page, null).items.map((trade) => ({ ...trade, tx_hash: '' })))
    })
    expect(amounts[0]!.length).toBeGreaterThan(5)
    expect(amounts[1]).toEqual(amounts[0])
  })
})
