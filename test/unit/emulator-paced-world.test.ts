import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createPacedWorld } from '../../src/emulator/paced-world.ts'
import { createWorldClock } from '../../src/emulator/world-clock.ts'
import { hourMs, openWorld, startAt } from '../support/world.ts'

/** A world on a clock that a test moves. */
function setUp() {
  const wall = createTestClock()
  const errors: unknown[] = []
  const clock = createWorldClock({ base: wall, mode: 'real', startAt, onError: (error) => errors.push(error) })
  return { wall, clock, errors, world: createPacedWorld(openWorld('paced'), clock) }
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

test('a failed task is thrown to the clock; the world continues with the next task, until it stops', async () => {
  const { wall, world, errors } = setUp()
  world.onEvent(() => {
    throw new Error('the listener failed')
  })
  world.start()
  await wall.advance(hourMs)
  expect(errors.length).toBeGreaterThan(1)
  expect(errors[0]).toMatchObject({ message: 'the listener failed' })
  expect(world.now() - startAt).toBeGreaterThan(hourMs - 60_000)
  world.stop()
  expect(wall.nextTimerAt()).toBeNull()
})
