import { expect, it } from 'vitest'
import { eventTypes, isKnownEvent, parseEvent, type EventType } from '../../schema/index.ts'
import type { WorldEvent } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { ledgerProblems } from '../support/world-ledger.ts'
import { collectEvents, dataOf, minuteMs, openWorld, refusalOf, setPriceAlerts } from '../support/world.ts'

/** Triggers a type. Returns the events of the next five seconds. */
function pull(world: World, type: EventType): readonly WorldEvent[] {
  const events: WorldEvent[] = []
  const stop = world.onEvent((event) => events.push(event))
  const result = world.commands.apply({ kind: 'trigger', type })
  expect(result['type']).toBe(type)
  expect(JSON.parse(JSON.stringify(result))).toEqual(result)
  world.advanceTo(world.now() + 5000)
  stop()
  return events
}

it.each(worldSeeds(worldCounts.triggerWorlds).flatMap((seed) => eventTypes.map((type) => [type, seed] as const)))(
  `a trigger R78 of %s yields its event within five seconds, ${worldCounts.triggersPerType} times over (seed %s)`,
  { timeout: 120_000 },
  (type, seed) => {
    const world = openWorld(seed)
    setPriceAlerts(world)
    for (let round = 1; round <= worldCounts.triggersPerType; round++) {
      const types = pull(world, type).map(({ event }) => event.type)
      expect(types, `round ${round}`).toContain(type)
      // Alerts rest for five minutes.
      world.advanceTo(world.now() + (type === 'token.price_alert' ? minuteMs : 10_000))
    }
    expect(ledgerProblems(world)).toEqual([])
    for (const { event } of world.eventsAfter(0, Infinity)) {
      const parsed = parseEvent(event)
      expect(isKnownEvent(parsed) && parsed).toEqual(event)
    }
  },
)

it('R104 a trigger without price alerts, refuses a price alert and says what to do', () => {
  const world = openWorld('no alerts')
  expect(refusalOf(world, { kind: 'trigger', type: 'token.price_alert' })).toMatch(/create one with POST \/v1\/alerts/)
})

it('A17 a trigger fires a price alert again after its rest, and a one-shot alert only once', () => {
  const world = openWorld('again', { activity: 0 })
  const [token] = world.views.tokens()
  const place = { network: token!.network, address: token!.address }
  const threshold = world.views.token(token!).price_usd * 1.05
  const alert = { kind: 'add-alert', type: 'price_above', ...place, threshold } as const
  world.commands.apply({ ...alert, alertId: 'alrt_1' })
  world.commands.apply({ ...alert, alertId: 'alrt_once', threshold: threshold * 0.99, isOneShot: true })
  expect(pull(world, 'token.price_alert').map(({ alertIds }) => alertIds)).toEqual([['alrt_once']])
  expect(pull(world, 'token.price_alert').map(({ alertIds }) => alertIds)).toEqual([['alrt_1']])
  expect(refusalOf(world, { kind: 'trigger', type: 'token.price_alert' })).toMatch(/no price alert can fire now/)
  world.advanceTo(world.now() + 5 * minuteMs)
  expect(pull(world, 'token.price_alert').map(({ alertIds }) => alertIds)).toEqual([['alrt_1']])
})

it('A34 a trigger follows the thresholds', () => {
  const world = openWorld('thresholds')
  const events = collectEvents(world)
  world.commands.apply({ kind: 'thresholds', largeTradeUsd: 250_000, milestonesUsd: [40_000], riskSensitivity: 40 })
  for (const type of ['wallet.large_trade', 'wallet.pnl_milestone', 'token.risk_change'] as const) pull(world, type)
  expect(dataOf(events, 'wallet.large_trade').every(({ amount_usd }) => amount_usd >= 250_000)).toBe(true)
  const milestones = dataOf(events, 'wallet.pnl_milestone')
  expect(milestones.map(({ milestone_usd }) => milestone_usd)).toContain(40_000)
  const changes = dataOf(events, 'token.risk_change')
  const moved = changes.map((data) => Math.abs(data.current_risk_score - data.previous_risk_score))
  expect(moved.length).toBeGreaterThan(0)
  expect(Math.min(...moved)).toBeGreaterThan(40)
})

it('A34 a trigger is refused if no story can reach the thresholds', () => {
  const world = openWorld('out of reach')
  world.commands.apply({ kind: 'thresholds', largeTradeUsd: 1e12, milestonesUsd: [1e12], riskSensitivity: 100 })
  for (const type of ['wallet.large_trade', 'wallet.pnl_milestone', 'token.risk_change'] as const) {
    expect(refusalOf(world, { kind: 'trigger', type })).not.toBe('not refused')
  }
})
