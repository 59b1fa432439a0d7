import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createWorldClock, type ClockMode } from '../../src/emulator/world-clock.ts'

const startAt = Date.UTC(2030, 0, 1)

function setUp(mode: ClockMode, speed = 1, settle?: () => Promise<void>) {
  const base = createTestClock()
  const clock = createWorldClock({ base, mode, speed, startAt, ...(settle && { settle }) })
  const fired: [string, number][] = []
  const arm = (name: string, ms: number) => clock.after(ms, () => fired.push([name, clock.now() - startAt]))
  return { base, clock, fired, arm }
}

test('a scaled clock runs the world faster than the wall', async () => {
  const { base, clock, fired, arm } = setUp('scaled', 60)
  arm('a', 60_000)
  await base.advance(999)
  expect(fired).toEqual([])
  await base.advance(1)
  expect(fired).toEqual([['a', 60_000]])
  expect(clock.state()).toEqual({ mode: 'scaled', speed: 60, now: startAt + 60_000 })
})

test('a manual clock stands still until advanced, then fires timers in order, new ones included', async () => {
  const { base, clock, fired, arm } = setUp('manual')
  arm('late', 5000)
  arm('cancelled', 10).cancel()
  clock.after(1000, () => arm('nested', 500))
  arm('beyond', 10_001)
  await base.advance(100_000)
  expect([clock.now(), fired]).toEqual([startAt, []])
  await clock.advance(10_000)
  expect(fired).toEqual([
    ['nested', 1500],
    ['late', 5000],
  ])
  expect(clock.now()).toBe(startAt + 10_000)
})

test('advance waits for the work of a timer before the next one fires', async () => {
  const steps: string[] = []
  let isBusy = false
  const { clock } = setUp('manual', 1, async () => {
    if (!isBusy) return
    await new Promise((resolve) => setImmediate(resolve))
    steps.push('settled')
    isBusy = false
  })
  for (const name of ['a', 'b']) {
    clock.after(1000, () => {
      steps.push(name)
      isBusy = true
    })
  }
  await clock.advance(1000)
  expect(steps).toEqual(['a', 'settled', 'b', 'settled'])
})

test('a wall clock set back leaves the world clock', async () => {
  let skewMs = 0
  const wall = createTestClock()
  const clock = createWorldClock({ base: { ...wall, now: () => wall.now() - skewMs }, mode: 'real', startAt })
  await wall.advance(5000)
  expect(clock.now()).toBe(startAt + 5000)
  skewMs = 3_600_000
  expect(clock.now()).toBe(startAt + 5000)
  await wall.advance(1000)
  expect(clock.now()).toBe(startAt + 6000)
})
