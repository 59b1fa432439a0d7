import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createWorldClock, type ClockMode, type WorldClock } from '../../src/emulator/world-clock.ts'

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

test.each<[string, (clock: WorldClock) => void, number]>([
  ['moved', (clock) => clock.moveTo(startAt - 5000), -5000],
  ['set going', (clock) => clock.set('scaled', 2), 1000],
  ['set to manual again', (clock) => clock.set('manual'), 1000],
])('running and queued advances end when the clock is %s', async (_how, change, at) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isBusy = false
  const { clock, fired, arm } = setUp('manual', 1, async () => {
    if (isBusy) await promise
  })
  clock.after(1000, () => (isBusy = true))
  arm('beyond', 1500)
  const refused = { code: 'bad_request', message: expect.stringContaining('during the advance') }
  const ends = [clock.advance(2000), clock.advance(2000)].map((end) => expect(end).rejects.toMatchObject(refused))
  await new Promise((done) => setImmediate(done))
  change(clock)
  isBusy = false
  resolve()
  await Promise.all(ends)
  expect([clock.now() - startAt, fired]).toEqual([at, []])
  clock.set('manual')
  await clock.advance(500)
})
