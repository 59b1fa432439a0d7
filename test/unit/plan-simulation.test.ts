import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/clock.ts'
import { handledPerSecond, type Capacity } from '../../src/plan/capacity.ts'
import { arrivalsOfDay } from '../../src/plan/day.ts'
import { planCapacity } from '../../src/plan/model.ts'
import { runQueue } from '../../src/plan/queue.ts'
import { simulatePlan } from '../../src/plan/simulate.ts'

const runs = 200

/** Storing and handling share one second a second. */
const capacityOf = (acceptPerSecond: number, wholePerSecond: number): Capacity => ({
  acceptPerSecond,
  resources: [{ accept: 1 / acceptPerSecond, handle: 1 / wholePerSecond - 1 / acceptPerSecond }],
})
const nothing: Capacity = { acceptPerSecond: 0, resources: [{ accept: 0, handle: Infinity }] }
const constant = (perSecond: number, seconds: number) => Array.from({ length: seconds }, () => perSecond)
const randomOf = (seed: number) => {
  const clock = createTestClock(0, seed)
  return () => clock.random()
}
const isSame = (one: readonly number[], other: readonly number[]) =>
  one.length === other.length && one.every((number, index) => number === other[index])
const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0)

describe('arrivalsOfDay', () => {
  test('brings as many events as were asked for, never more in a second than at the peak, and the same for the same seed', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 1e12, noNaN: true }),
        fc.double({ min: 1, max: 1_000, noNaN: true }),
        fc.integer(),
        (events, peak, seed) => {
          const make = () => arrivalsOfDay({ events, peak, random: randomOf(seed) })
          const arrivals = make()
          expect(arrivals).toHaveLength(86_400)
          expect(total(arrivals) / events).toBeCloseTo(1, 6)
          const most = arrivals.reduce((a, b) => Math.max(a, b))
          expect(most / ((events / 86_400) * peak)).toBeCloseTo(1, 6)
          expect(arrivals.every((arrived) => arrived >= 0)).toBe(true)
          expect(isSame(make(), arrivals)).toBe(true)
        },
      ),
      { numRuns: 4 },
    )
  })

  test('other seeds have other bursts, and a peak of 1 has none', () => {
    const day = (seed: number, peak: number) => arrivalsOfDay({ events: 86_400, peak, random: randomOf(seed) })
    expect(isSame(day(1, 5), day(2, 5))).toBe(false)
    expect(day(1, 1).every((arrived) => Math.abs(arrived - 1) < 1e-9)).toBe(true)
  })
})

describe('runQueue', () => {
  const rate = fc.double({ min: 0, max: 500, noNaN: true })

  test('what arrived is stored, waits, is to be sent again, or was given up; what is stored is handled or in the backlog', () => {
    fc.assert(
      fc.property(
        fc.array(rate, { minLength: 1, maxLength: 2_500 }),
        fc.array(
          fc.option(
            fc.tuple(fc.double({ min: 1, max: 500, noNaN: true }), fc.double({ min: 0.05, max: 1, noNaN: true })),
          ),
          {
            minLength: 1,
            maxLength: 5,
          },
        ),
        (arrivals, phases) => {
          const capacities = phases.map((phase) =>
            phase === null ? nothing : capacityOf(phase[0], phase[0] * phase[1]),
          )
          const outcome = runQueue(
            arrivals,
            (second) => capacities[Math.floor(second / 500)] ?? capacities.at(-1) ?? nothing,
          )
          const { arrived, stored, handled, queued, outstanding, givenUp, seconds } = outcome
          expect(arrived).toBeCloseTo(total(arrivals), 3)
          expect(stored + queued + outstanding + givenUp).toBeCloseTo(arrived, 3)
          expect(handled + (seconds.at(-1)?.backlog ?? NaN)).toBeCloseTo(stored, 3)
          const least = seconds.map(({ backlog, refused, outstanding: later }) => Math.min(backlog, refused, later))
          expect(Math.min(...least)).toBeGreaterThanOrEqual(-1e-6)
        },
      ),
      { numRuns: runs },
    )
  })

  test('a backlog drains if more is handled than arrives, in as long as that takes, and grows for ever if less is', () => {
    const paused = 100
    fc.assert(
      fc.property(
        fc.double({ min: 1, max: 400, noNaN: true }),
        fc.oneof(fc.double({ min: 0.3, max: 0.98, noNaN: true }), fc.double({ min: 1.02, max: 4, noNaN: true })),
        (perSecond, ratio) => {
          const whole = perSecond * ratio
          const capacity = capacityOf(Math.max(whole, perSecond) * 2, whole)
          const { acceptPerSecond } = capacity
          // While something is stored, so much is left for handlers.
          const [{ accept, handle } = { accept: 0, handle: 0 }] = capacity.resources
          const drained = (1 - perSecond * accept) / handle - perSecond
          const enough = Math.ceil((perSecond * paused) / Math.abs(drained)) + 2
          const { seconds } = runQueue(constant(perSecond, paused + enough), (second) =>
            second < paused ? { acceptPerSecond, resources: [{ accept: 0, handle: Infinity }] } : capacity,
          )
          expect(seconds[paused - 1]?.backlog).toBeCloseTo(perSecond * paused, 6)
          const last = seconds.at(-1)?.backlog ?? NaN
          expect(handledPerSecond(capacity) > perSecond).toBe(drained > 0)
          if (drained > 0) expect(last).toBeCloseTo(0, 6)
          else expect(last / (perSecond * paused - enough * drained)).toBeCloseTo(1, 6)
        },
      ),
      { numRuns: runs },
    )
  })

  test('a store that is away for ten minutes refuses, the sender comes again, and nothing is given up', () => {
    const { refused, givenUp, outstanding, stored, seconds } = runQueue(constant(1, 4_000), (second) =>
      second >= 100 && second < 700 ? nothing : capacityOf(100, 90),
    )
    // 600 first attempts; 540 again after a minute; 240 of them once more, five minutes later.
    expect(refused).toBe(600 + 540 + 240)
    expect({ givenUp, outstanding, stored }).toEqual({ givenUp: 0, outstanding: 0, stored: 4_000 })
    // The last that were refused three times come after half an hour.
    expect(seconds.findLastIndex((second) => second.outstanding > 0)).toBe(100 + 239 + 360 + 1_800 - 1)
  })

  test('what six attempts did not bring in is given up', () => {
    const ladder = 60 + 300 + 1_800 + 7_200 + 28_800
    const { givenUp, refused, outstanding } = runQueue(constant(1, ladder + 10), () => nothing)
    expect(givenUp).toBe(10)
    expect(refused - givenUp).toBe([60, 360, 2_160, 9_360].reduce((sum, from) => sum + ladder + 10 - from, ladder + 10))
    expect(outstanding).toBe(ladder)
  })

  test('a short burst waits for the store, a longer one is refused in part', () => {
    const burst = (perSecond: number) => runQueue([perSecond, 0, 0, 0, 0, 0], () => capacityOf(100, 90))
    expect(burst(500)).toMatchObject({ refused: 0, queued: 0, stored: 500 })
    expect(burst(600)).toMatchObject({ refused: 100, outstanding: 100, stored: 500 })
    const { refused, outstanding, stored } = runQueue([600, ...constant(0, 100)], () => capacityOf(100, 90))
    expect({ refused, outstanding: Math.round(outstanding), stored: Math.round(stored) }).toEqual({
      refused: 100,
      outstanding: 0,
      stored: 600,
    })
  })
})

describe('simulatePlan', () => {
  const demand = {
    eventsPerDay: 1e9,
    retentionDays: 3,
    bodyBytes: 600,
    handlers: 1,
    peak: 5,
    keys: 2_000,
    replicas: 1,
    fsyncMs: 2,
    handlerMs: 10,
  }
  const simulate = (seed: number, events = demand.eventsPerDay) =>
    simulatePlan(planCapacity({ ...demand, eventsPerDay: events }), randomOf(seed))

  test('a billion events a day are stored and handled within the day by what the plan asks for, also when things go wrong', () => {
    const { databases, days, hours } = simulate(1)
    expect(databases).toBe(5)
    expect(total(hours.map(({ mean }) => mean * 3_600)) * databases).toBeCloseTo(1e9, 0)
    for (const { totals, backlogAtEnd, overAfterSeconds } of days) {
      expect(totals.handled * databases).toBeCloseTo(1e9, 0)
      expect(totals.givenUp).toBe(0)
      expect(backlogAtEnd).toBe(0)
      expect(overAfterSeconds).toBeLessThan(3_600)
    }
    expect(days.map(({ totals }) => totals.refused > 0)).toEqual([false, true, false])
    expect(days.map(({ largestBacklog }) => largestBacklog > 1e6)).toEqual([false, false, true])
  })

  test('the plan of any number of events has no backlog and refuses nothing on a day on which nothing goes wrong', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e11, noNaN: true }), fc.integer(), (events, seed) => {
        const day = simulate(seed, events).days[0]
        expect(day?.totals.refused).toBe(0)
        expect(day?.largestBacklog).toBeLessThan(1e-3)
        expect(day?.incident).toBe('none')
      }),
      { numRuns: 3 },
    )
  })

  test('the same seed gives the same days', () => {
    const days = simulate(7)
    expect(simulate(7)).toEqual(days)
    expect(simulate(8)).not.toEqual(days)
  })
})
