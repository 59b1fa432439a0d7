import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createWorldClock } from '../../src/emulator/world-clock.ts'
import { createWorldDriver } from '../../src/emulator/logged-world.ts'

const startAt = Date.UTC(2026, 0, 1)

/** A world in which something happens every second; `step` fails while `isFailing`. */
function setUp() {
  const wall = createTestClock()
  const errors: unknown[] = []
  const clock = createWorldClock({ base: wall, mode: 'real', startAt, onError: (error) => errors.push(error) })
  let now = startAt
  const state = { isFailing: false, turns: 0 }
  const world = {
    now: () => now,
    nextAt: () => now + 1000,
    step(at: number, steps: number) {
      state.turns++
      if (state.isFailing) throw new Error('the disk is full')
      for (let left = steps; left > 0; left--) {
        if (now + 1000 > at) return true
        now += 1000
      }
      return false
    },
  }
  return { wall, clock, world, state, errors, driver: createWorldDriver({ world, clock, wall }) }
}

test('a failed turn is thrown to the clock and retried every five seconds', async () => {
  const { wall, world, state, errors, driver } = setUp()
  driver.start()
  state.isFailing = true
  await wall.advance(1000)
  expect(errors).toMatchObject([{ message: 'the disk is full' }])
  await wall.advance(4999)
  expect(state.turns).toBe(1)
  await wall.advance(1)
  expect(errors).toHaveLength(2)
  state.isFailing = false
  await wall.advance(5000)
  expect([errors.length, world.now() - startAt]).toEqual([2, 11_000])
  driver.stop()
  expect(wall.nextTimerAt()).toBeNull()
})

test('a driver that is stopped after a turn that failed tries no more', async () => {
  const { wall, state, driver } = setUp()
  driver.start()
  state.isFailing = true
  await wall.advance(1000)
  driver.stop()
  expect(wall.nextTimerAt()).toBeNull()
})

test('catching up yields to the event loop', async () => {
  const { clock, world, state, driver } = setUp()
  clock.moveTo(startAt + 1_000_000)
  let isLate = false
  setImmediate(() => (isLate = true))
  const progress: boolean[] = []
  await driver.catchUp(() => progress.push(isLate))
  expect(progress).toEqual([false, true, true, true, true])
  expect([state.turns, world.now() - startAt]).toEqual([6, 1_000_000])
})
