import { describe, expect, it } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import type { World, WorldEvent } from '../../src/emulator/world/port.ts'
import type { LogKind } from '../../src/emulator/world/state.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import {
  collectEvents,
  dayMs,
  hourMs,
  openWorld,
  readLedger,
  setPriceAlerts,
  startAt,
  type EventName,
} from '../support/world.ts'

/** What an event of a type may be caused by. */
const causes: Readonly<Record<EventName, readonly (LogKind | 'trade')[]>> = {
  'token.price_alert': ['trade', 'price-seen'],
  'token.volume_spike': ['trade', 'volume-seen'],
  'token.new_listing': ['pool-created', 'graduated'],
  'token.risk_change': ['audited'],
  'wallet.large_trade': ['trade'],
  'wallet.new_position': ['trade'],
  'wallet.pnl_milestone': ['trade'],
  'contract.honeypot_detected': ['audited'],
  'contract.liquidity_removed': ['liquidity-removed'],
  'contract.ownership_changed': ['owner-transferred'],
  'pump.graduation': ['graduated'],
}

interface Cause {
  readonly kind: LogKind | 'trade'
  readonly at: number
}

/** Every entry of the log by its number. */
function causesOf(world: World): ReadonlyMap<number, Cause> {
  const { state, log } = readLedger(world)
  const all = new Map<number, Cause>()
  for (const row of log.portions().flat()) {
    const [seq, at] = row.split(',', 2).map(Number)
    all.set(seq!, { kind: 'trade', at: at! })
  }
  // Transfers are trades of the log as well.
  for (const { seq, at, kind } of state.log) all.set(seq, { kind, at })
  return all
}

function expectEachCaused(world: World, events: readonly WorldEvent[]): void {
  const all = causesOf(world)
  expect(all.size).toBe(world.seq())
  for (const { event, cause } of events) {
    const found = all.get(cause)
    expect(causes[event.type], `${event.type} ${event.id}`).toContain(found?.kind)
    expect(found?.at).toBeLessThanOrEqual(Date.parse(event.created_at))
  }
}

function expectIdsInOrder(events: readonly WorldEvent[]): void {
  const ids = events.map(({ event }) => event.id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.filter((id) => !/^evt_[0-9A-HJKMNP-TV-Z]{26}$/.test(id))).toEqual([])
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const times = events.map(({ event }) => event.created_at)
  expect(times.toSorted()).toEqual(times)
}

describe('within a day of every world', () => {
  it.each(worldSeeds(worldCounts.dayLongWorlds))(
    `R78 all ten types arise, each from its cause, in order (seed %s of ${worldCounts.dayLongWorlds})`,
    { timeout: 120_000 },
    (seed) => {
      const world = openWorld(seed)
      const events = collectEvents(world)
      setPriceAlerts(world)
      world.advanceTo(startAt + dayMs)
      expect(new Set(events.map(({ event }) => event.type))).toEqual(new Set(eventTypes))
      expectEachCaused(world, events)
      expectIdsInOrder(events)
      expect(world.eventsAfter(0, Infinity)).toEqual(events)
    },
  )
})

describe('the events of a world', () => {
  it('R78 can be read again from any of them on', () => {
    const world = openWorld('again')
    const events = collectEvents(world)
    world.advanceTo(startAt + 3 * hourMs)
    expect(events.length).toBeGreaterThan(20)
    expect(world.eventsAfter(5, 7)).toEqual(events.slice(5, 12))
    expect(world.eventsAfter(events.length, 10)).toEqual([])
    expect(world.eventsAfter(events.length - 1, 10)).toEqual(events.slice(-1))
  })

  it('A40 have ids that sort by time, and within a millisecond by their number', () => {
    const world = openWorld('sorted')
    const events = collectEvents(world)
    for (let round = 1; round <= 40; round++) world.acts.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
    world.advanceTo(world.now() + 1)
    for (let round = 1; round <= 40; round++) world.acts.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
    expect(events).toHaveLength(80)
    expectIdsInOrder(events)
  })

  it('are told to nobody any more who has stopped listening', () => {
    const world = openWorld('stopped')
    const heard: string[] = []
    const stop = world.onEvent(({ event }) => heard.push(event.type))
    world.acts.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
    stop()
    stop()
    world.acts.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
    expect(heard).toEqual(['contract.ownership_changed'])
  })
})
