import fc from 'fast-check'
import { deserialize, serialize as serializeBytes } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { serialize } from '../../src/emulator/serialize.ts'
import { WorldRefusal, type World, type WorldCommand, type WorldSnapshot } from '../../src/emulator/world/port.ts'
import { plannedActs } from '../support/world-acts.ts'
import { worldCounts } from '../counts.ts'
import { activeWallets, asOfNow, hourMs, openWorld, startAt } from '../support/world.ts'

/** The same after a trip through a file: it shares nothing with the world it came from. */
function putAway(snapshot: WorldSnapshot): WorldSnapshot {
  return deserialize(serializeBytes(snapshot)) as WorldSnapshot
}

function apply(world: World, act: WorldCommand): void {
  try {
    world.acts.apply(act)
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw error
  }
}

/** Everything that can be read. */
function answersOf(world: World): unknown {
  const { views } = world
  const page = { limit: 100, after: null, asOf: asOfNow(world) }
  const wallets = activeWallets(world).map((wallet) => [
    views.overview(wallet),
    views.pnl(wallet, '24h'),
    views.portfolio(wallet, page),
    views.trades(wallet, page, null),
  ])
  const events = world
    .eventsAfter(0, Infinity)
    .map(({ event, ...rest }) => ({ ...rest, body: String(serialize(event)) }))
  return [wallets, views.wallets(), views.tokens().map((token) => views.token(token)), events]
}

describe('a world that was put away and taken up again', () => {
  it('goes on as if it had never stopped', { timeout: 600_000 }, () => {
    const acts = plannedActs(20)
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{1,3}$/),
        acts,
        acts,
        fc.integer({ min: 0, max: 3 * hourMs }),
        (seed, before, after, waitMs) => {
          const world = openWorld(seed, { activity: 0.5 })
          world.advanceTo(startAt + waitMs)
          for (const planned of before) {
            world.advanceTo(world.now() + planned.waitMs)
            apply(world, planned.toAct(world))
          }
          const digest = world.digest()
          const restored = openWorld(seed, { activity: 0.5 })
          restored.restore(putAway(world.snapshot()))
          expect(restored.digest()).toBe(digest)

          for (const planned of after) {
            for (const one of [world, restored]) one.advanceTo(one.now() + planned.waitMs)
            const act = planned.toAct(world)
            expect(planned.toAct(restored)).toEqual(act)
            for (const one of [world, restored]) apply(one, act)
          }
          for (const one of [world, restored]) one.advanceTo(one.now() + hourMs)
          expect(answersOf(restored)).toEqual(answersOf(world))
          expect(restored.digest()).toBe(world.digest())
        },
      ),
      { numRuns: worldCounts.restoreRuns },
    )
  })
})

describe('a snapshot', () => {
  it('brings back the moment at which it was taken, also when its bytes are read later', () => {
    const world = openWorld('rewound')
    world.advanceTo(startAt + 2 * hourMs)
    const snapshot = world.snapshot()
    const digest = world.digest()
    world.advanceTo(startAt + 5 * hourMs)
    const later = { digest: world.digest(), answers: answersOf(world) }
    expect(later.digest).not.toBe(digest)

    world.restore(snapshot)
    expect(world.now()).toBe(startAt + 2 * hourMs)
    expect(world.digest()).toBe(digest)
    world.advanceTo(startAt + 5 * hourMs)
    expect(world.digest()).toBe(later.digest)
    expect(answersOf(world)).toEqual(later.answers)
  })

  it('keeps those who listen, and tells them what comes after it', () => {
    const world = openWorld('listeners')
    world.advanceTo(startAt + hourMs)
    const snapshot = world.snapshot()
    const heard: number[] = []
    const stop = world.onEvent(({ seq }) => heard.push(seq))
    world.advanceTo(startAt + 2 * hourMs)
    const first = heard.splice(0)
    world.restore(snapshot)
    world.advanceTo(startAt + 2 * hourMs)
    expect(first.length).toBeGreaterThan(0)
    expect(heard).toEqual(first)
    stop()
    world.advanceTo(startAt + 3 * hourMs)
    expect(heard).toEqual(first)
  })
})
