import { describe, expect, it } from 'vitest'
import { serialize } from '../../src/emulator/serialize.ts'
import type { WorldCommand, WorldEvent } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
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

/** Runs a world through the script for three hours. */
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
    world.commands.apply(act)
  }
  advance(startAt + 3 * hourMs)
  return { world, bodies: bodiesOf(events) }
}

describe('the same seed and commands', { timeout: 120_000 }, () => {
  it('R7 give byte-equal events and an equal digest, in any steps of time; another seed shares no address', () => {
    const { world, bodies } = run('same', 3 * hourMs)
    expect(bodies.length).toBeGreaterThan(50)
    const other = run('same', 61_007)
    expect(other.bodies).toEqual(bodies)
    expect(other.world.digest()).toBe(world.digest())
    const addresses = new Set(world.views.tokens().map(({ address }) => address))
    expect(
      openWorld('another')
        .views.tokens()
        .filter(({ address }) => addresses.has(address)),
    ).toEqual([])
  })

  it('give the same world with and without reads in between', () => {
    const [read, left] = [openWorld('read'), openWorld('read')]
    for (let minute = 6; minute <= 60; minute += 6) {
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

it('restoring a snapshot sets the time back, keeps listeners, and repeats the same future', () => {
  const world = openWorld('restored')
  world.advanceTo(startAt + hourMs)
  const snapshot = world.snapshot()
  const digest = world.digest()
  const events = collectEvents(world)
  const goOn = () => {
    world.advanceTo(startAt + 2 * hourMs)
    return { digest: world.digest(), bodies: bodiesOf(events.splice(0)) }
  }
  const first = goOn()
  world.restore(snapshot)
  expect([world.now(), world.digest()]).toEqual([startAt + hourMs, digest])
  expect(goOn()).toEqual(first)
  expect(first.bodies.length).toBeGreaterThan(0)
})

describe('activity', { timeout: 120_000 }, () => {
  const tradesAfter = (activity: number, hours: number) => {
    const world = openWorld('busy', { activity })
    world.advanceTo(startAt + hours * hourMs)
    return world.views.wallets().reduce((sum, { tradeCount }) => sum + tradeCount, 0)
  }

  it('4 makes an hour like four hours', () => {
    const usual = tradesAfter(1, 4)
    expect(tradesAfter(4, 1) / usual).toBeGreaterThan(0.8)
    expect(tradesAfter(4, 1) / usual).toBeLessThan(1.25)
  })

  it('0 leaves only commands, until it is raised', () => {
    const world = openWorld('quiet', { activity: 0 })
    const events = collectEvents(world)
    world.advanceTo(startAt + 48 * hourMs)
    expect(world.views.wallets().filter(({ tradeCount }) => tradeCount > 0)).toEqual([])
    expect(events).toEqual([])
    world.commands.apply({ kind: 'activity', factor: 1 })
    world.advanceTo(world.now() + hourMs)
    expect(world.views.wallets().filter(({ tradeCount }) => tradeCount > 0).length).toBeGreaterThan(50)
  })
})

describe('entities draw on their own', { timeout: 120_000 }, () => {
  it('one more wallet or alert changes no event', () => {
    const plain = openWorld('shift')
    const more = openWorld('shift')
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    more.commands.apply({ kind: 'track', network: 'base', wallet, isTracked: true })
    const [token] = more.views.tokens()
    more.commands.apply({
      kind: 'add-alert',
      alertId: 'alrt_1',
      type: 'price_above',
      network: 'ethereum',
      address: token!.address,
      threshold: 1e9,
    })
    const bodies = [plain, more].map((world) => {
      const events = collectEvents(world)
      world.advanceTo(startAt + 3 * hourMs)
      return bodiesOf(events)
    })
    expect(bodies[0]!.length).toBeGreaterThan(50)
    expect(bodies[1]).toEqual(bodies[0])
  })

  it('a trade on one network changes no trade on another', () => {
    const plain = openWorld('apart')
    const more = openWorld('apart')
    const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    const token = more.views.tokens().find(({ network }) => network === 'polygon')!
    more.commands.apply({ kind: 'trade', network: 'polygon', wallet, side: 'buy', token: token.address, usd: 50_000 })
    const amounts = [plain, more].map((world) => {
      world.advanceTo(startAt + 3 * hourMs)
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
