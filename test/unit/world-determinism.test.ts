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
})
