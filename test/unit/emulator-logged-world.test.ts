import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createLoggedWorld, type WorldLog } from '../../src/emulator/logged-world.ts'
import { createWorldClock } from '../../src/emulator/world-clock.ts'
import { hourMs, openWorld, startAt } from '../support/world.ts'

/** A world on a clock that a test moves. The log fails while `isFailing`. */
function setUp() {
  const wall = createTestClock()
  const errors: unknown[] = []
  const clock = createWorldClock({ base: wall, mode: 'real', startAt, onError: (error) => errors.push(error) })
  const reached: number[] = []
  const state = { isFailing: false }
  const log: WorldLog = {
    append() {},
    reach(at) {
      if (state.isFailing) throw new Error('the disk is full')
      reached.push(at)
    },
  }
  const world = createLoggedWorld({ world: openWorld('logged'), log, clock, wall })
  return { wall, clock, errors, reached, state, world }
}

test('a listener of an event cannot run later tasks', async () => {
  const { world, clock } = setUp()
  const seqs: number[] = []
  world.onEvent(({ seq }) => {
    seqs.push(seq)
    world.advanceTo(startAt + 10 * hourMs)
  })
  clock.moveTo(startAt + hourMs)
  await world.catchUp()
  expect(world.now()).toBe(startAt + hourMs)
  expect(seqs.length).toBeGreaterThan(5)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
})

test('a failed task is thrown to the clock and retried every five seconds, until the world stops', async () => {
  const { wall, world, state, errors } = setUp()
  world.start()
  await wall.advance(5000)
  state.isFailing = true
  await wall.advance(60_000)
  expect(errors.length).toBeGreaterThan(10)
  expect(errors.length).toBeLessThanOrEqual(13)
  expect(errors[0]).toMatchObject({ message: 'the disk is full' })
  const failures = errors.length
  state.isFailing = false
  await wall.advance(65_000)
  expect(errors).toHaveLength(failures)
  expect(world.now() - startAt).toBeGreaterThan(120_000)
  state.isFailing = true
  await wall.advance(10_000)
  expect(errors.length).toBeGreaterThan(failures)
  world.stop()
  expect(wall.nextTimerAt()).toBeNull()
})
