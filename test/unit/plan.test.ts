import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { groupCommit } from '../../src/plan/commits.ts'
import { secondsPerDay, type Demand } from '../../src/plan/demand.ts'
import { inputs, type Input } from '../../src/plan/inputs.ts'
import { planCapacity, type Plan } from '../../src/plan/model.ts'

const runs = 500

const usual: Demand = {
  eventsPerDay: 1e6,
  retentionDays: 30,
  bodyBytes: 600,
  handlers: 1,
  peak: 5,
  keys: 2_000,
  replicas: 1,
  fsyncMs: 2,
  handlerMs: 10,
}

const demands: fc.Arbitrary<Demand> = fc.record({
  eventsPerDay: fc.oneof(fc.double({ min: 1, max: 1e7, noNaN: true }), fc.double({ min: 1, max: 1e11, noNaN: true })),
  retentionDays: fc.integer({ min: 1, max: 400 }),
  bodyBytes: fc.integer({ min: 1, max: 100_000 }),
  handlers: fc.integer({ min: 0, max: 30 }),
  peak: fc.double({ min: 1, max: 100, noNaN: true }),
  keys: fc.integer({ min: 1, max: 1_000_000 }),
  replicas: fc.integer({ min: 1, max: 20 }),
  fsyncMs: fc.double({ min: 0.01, max: 50, noNaN: true }),
  handlerMs: fc.double({ min: 0, max: 1_000, noNaN: true }),
})

/** What is to be bought, and what is to be set. */
function needsOf({ cpuSecondsPerDay, runsAtOnce, perSecond, sqlite, postgres }: Plan): readonly number[] {
  const { databases, cores, replicas } = postgres.cluster
  return [
    cpuSecondsPerDay,
    runsAtOnce,
    perSecond.mean,
    perSecond.peak,
    sqlite.disk.total,
    sqlite.disk.perYear,
    sqlite.acknowledgeMs?.slow ?? Infinity,
    postgres.disk.total,
    postgres.disk.perYear,
    postgres.serverSecondsPerDay,
    databases,
    databases * cores,
    databases * replicas,
  ]
}

function expectNoneLess(more: Demand, less: Demand): void {
  const [most, least] = [needsOf(planCapacity(more)), needsOf(planCapacity(less))]
  for (const [index, need] of most.entries())
    expect(need, `need ${index}`).toBeGreaterThanOrEqual((least[index] ?? NaN) * (1 - 1e-12))
}

describe('planCapacity', () => {
  test('more events, larger bodies, more handlers, a longer retention, a higher peak never need less', () => {
    const factors = fc.double({ min: 1, max: 50, noNaN: true })
    fc.assert(
      fc.property(demands, factors, (demand, factor) => {
        expectNoneLess({ ...demand, eventsPerDay: demand.eventsPerDay * factor }, demand)
        expectNoneLess({ ...demand, bodyBytes: demand.bodyBytes * factor }, demand)
        expectNoneLess({ ...demand, handlers: Math.ceil(demand.handlers * factor) }, demand)
        expectNoneLess({ ...demand, peak: demand.peak * factor }, demand)
        const { perYear: _year, ...longer } = planCapacity({ ...demand, retentionDays: demand.retentionDays * factor })
          .postgres.disk
        expect(longer.total).toBeGreaterThanOrEqual(planCapacity(demand).postgres.disk.total * (1 - 1e-12))
      }),
      { numRuns: runs },
    )
  })

  test('at the places where another database, core or replica begins, more events need no less', () => {
    const { headroom, postgresAcceptPerSecond } = inputs
    for (let databases = 1; databases < 40; databases++) {
      for (const handlers of [0, 1, 2, 5, 13]) {
        const full = (databases * postgresAcceptPerSecond.value * headroom.value * secondsPerDay) / usual.peak
        const at = (eventsPerDay: number) => ({ ...usual, handlers, replicas: 3, eventsPerDay })
        expectNoneLess(at(full * 1.001), at(full * 0.999))
        expect(planCapacity(at(full * 1.001)).postgres.cluster.databases).toBe(databases + 1)
        expect(planCapacity(at(full * 0.999)).postgres.cluster.databases).toBe(databases)
      }
    }
  })

  test('the parts of the disk are the whole, and the seconds of a day its events', () => {
    fc.assert(
      fc.property(demands, (demand) => {
        const { perSecond, sqlite, postgres } = planCapacity(demand)
        expect(perSecond.mean * secondsPerDay).toBeCloseTo(demand.eventsPerDay, 3)
        expect(perSecond.peak / perSecond.mean).toBeCloseTo(demand.peak, 6)
        for (const { disk, bytes } of [sqlite, postgres]) {
          expect(disk.kept + disk.pruned).toBe(disk.total)
          const kept = Math.min(365, demand.retentionDays) * demand.eventsPerDay
          const whole = kept * bytes.kept + (365 * demand.eventsPerDay - kept) * bytes.pruned
          expect(disk.total / whole).toBeCloseTo(1, 9)
        }
      }),
      { numRuns: runs },
    )
  })

  test('what it recommends takes the peak, with room to spare', () => {
    fc.assert(
      fc.property(demands, (demand) => {
        const { store, sqlite, postgres, perSecond } = planCapacity(demand)
        const { handledPerSecond } = store === 'sqlite' ? sqlite : postgres
        expect(perSecond.peak).toBeLessThanOrEqual(handledPerSecond * inputs.headroom.value * (1 + 1e-9))
      }),
      { numRuns: runs },
    )
  })

  test('SQLite is enough up to the number of events that it names, and not for more', () => {
    fc.assert(
      fc.property(demands, (demand) => {
        const { upToPerDay } = planCapacity(demand).sqlite
        if (upToPerDay < 2) return
        const at = (eventsPerDay: number) => planCapacity({ ...demand, replicas: 1, eventsPerDay })
        expect(at(upToPerDay * 0.999).store).toBe('sqlite')
        expect(at((upToPerDay + 1) * 1.001).store).toBe('postgres')
        expect(planCapacity({ ...demand, replicas: 2, eventsPerDay: 1 }).store).toBe('postgres')
      }),
      { numRuns: runs },
    )
  })

  test('names what limits it: the file, the processor, acceptances that take turns, the order of one address', () => {
    const boundOf = (demand: Partial<Demand>) => {
      const plan = planCapacity({ ...usual, ...demand })
      return [plan.store, plan[plan.store].bound.by]
    }
    expect(boundOf({})).toEqual(['sqlite', 'disk'])
    expect(boundOf({ peak: 200 })).toEqual(['sqlite', 'process'])
    expect(boundOf({ keys: 1 })).toEqual(['sqlite', 'keys'])
    expect(boundOf({ eventsPerDay: 1e9 })).toEqual(['postgres', 'accepts'])
    expect(boundOf({ replicas: 2 })).toEqual(['postgres', 'server'])
  })

  test('bodies that are kept for ever are never counted as pruned', () => {
    const { disk } = planCapacity({ ...usual, retentionDays: 0 }).sqlite
    expect(disk).toMatchObject({ pruned: 0, perYear: disk.total })
  })
})

describe('groupCommit', () => {
  const rates = fc.double({ min: 0.001, max: 100_000, noNaN: true })
  const syncs = fc.double({ min: 0.01, max: 50, noNaN: true })

  test('its commits carry all events, and nothing is acknowledged before a durable write is over', () => {
    fc.assert(
      fc.property(rates, syncs, fc.double({ min: 0, max: 200, noNaN: true }), (perSecond, syncMs, micros) => {
        const commits = groupCommit(perSecond, syncMs, micros)
        expect(commits === null).toBe(perSecond * micros >= 1e6)
        if (commits === null) return
        expect((commits.perSecond * commits.batch) / perSecond).toBeCloseTo(1, 9)
        expect(commits.perSecond).toBeLessThanOrEqual(1_000 / syncMs)
        const { mean, slow } = commits.acknowledgeMs
        expect(mean).toBeGreaterThanOrEqual(syncMs)
        expect(slow).toBeGreaterThanOrEqual(mean)
      }),
      { numRuns: runs },
    )
  })

  test('few events have a commit each; many share one, and wait for half of the one before', () => {
    const few = groupCommit(1, 2, 20)
    expect(few?.perSecond).toBeCloseTo(1, 2)
    expect(few?.acknowledgeMs.mean).toBeCloseTo(2.02, 2)
    const many = groupCommit(10_000, 2, 20)
    expect(many?.batch).toBeGreaterThan(20)
    expect(many?.acknowledgeMs.mean).toBeCloseTo(1.5 * (many?.ms ?? NaN), 6)
    expect(groupCommit(0, 2, 20)).toMatchObject({ perSecond: 0, acknowledgeMs: { mean: 2 } })
    expect(groupCommit(50_000, 2, 20)).toBeNull()
  })
})

test('every input is a number above 0 that says where it is from', () => {
  const all: readonly Input[] = Object.values(inputs)
  for (const { value, unit, how } of all) {
    expect(value).toBeGreaterThan(0)
    expect(unit).not.toBe('')
    expect(how.length).toBeGreaterThan(20)
  }
})
