import { expect, test } from 'vitest'
import { createLoggedWorld, type WorldLog } from '../../src/emulator/logged-world.ts'
import { createWorld } from '../../src/emulator/world/world.ts'

const startAt = Date.UTC(2026, 0, 1)
const hour = 3_600_000

function setUp() {
  const inner = createWorld({ seed: 'logged', startAt })
  const reached: number[] = []
  const log: WorldLog = { append: () => 1, drop: () => {}, reach: (at) => reached.push(at) }
  return { reached, world: createLoggedWorld({ world: inner, log, now: () => inner.now() }) }
}

test('a listener of an event cannot run later tasks', () => {
  const { world } = setUp()
  const seqs: number[] = []
  world.onEvent(({ seq }) => {
    seqs.push(seq)
    world.advanceTo(startAt + 10 * hour)
  })
  expect(world.step(startAt + hour, Infinity)).toBe(true)
  expect(world.now()).toBe(startAt + hour)
  expect(seqs.length).toBeGreaterThan(5)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
})

test('a moment is recorded before readers see it, and never ahead of the world', () => {
  const { world, reached } = setUp()
  world.onEvent(({ event }) => expect(reached.at(-1)).toBeGreaterThanOrEqual(Date.parse(event.created_at)))
  expect(world.step(startAt + 24 * hour, 50)).toBe(false)
  expect(Math.max(...reached)).toBe(world.now())
})
