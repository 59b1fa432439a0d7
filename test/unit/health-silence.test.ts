import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { addMinute, createCadences, findSilences, inServiceMs, type Cadence } from '../../src/health/silence.ts'
import type { Activity } from '../../src/inbox/port.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Counts events per minute. */
function tallied(times: readonly number[]): Activity[] {
  return [...Map.groupBy(times, (time) => Math.floor(time / minute) * minute)].map(([at, { length: count }]) => {
    return { at, type: 'wallet.large_trade', network: 'base', count }
  })
}

function cadenceOf(times: readonly number[]): Cadence {
  return tallied(times).reduce<Cadence | undefined>(addMinute, undefined)!
}

const silenceOf = (cadence: Cadence, now: number, gaps: { from: number; to: number }[] = []) =>
  findSilences([cadence], gaps, now)[0]!

const every = (ms: number, count: number) => Array.from({ length: count }, (_, index) => index * ms)

describe('silence', () => {
  test('needs 30 events and an hour to learn', () => {
    const few = cadenceOf(every(5 * minute, 29))
    expect(silenceOf(few, few.lastAt + 30 * day).state).toBe('learning')
    const soon = cadenceOf(every(second, 60))
    expect(silenceOf(soon, soon.lastAt + 30 * minute).state).toBe('learning')
    expect(silenceOf(soon, soon.lastAt + 2 * hour).state).toBe('silent')
  })

  test('begins after six times the usual interval, at least ten minutes', () => {
    const often = cadenceOf(every(10 * second, 1_000))
    // An event may have arrived until the end of the last minute.
    const from = often.lastAt + minute
    expect(silenceOf(often, from - second)).toMatchObject({ lastAt: from - second, silentMs: 0 })
    expect(silenceOf(often, from + second)).toMatchObject({ lastAt: from, silentMs: second })
    expect(silenceOf(often, from + 10 * minute)).toMatchObject({ state: 'usual', usualMs: 16 * second })
    expect(silenceOf(often, from + 10 * minute + 1)).toMatchObject({ state: 'silent', alarmAfterMs: 10 * minute })
    const seldom = cadenceOf(every(hour, 100))
    const { usualMs, alarmAfterMs } = silenceOf(seldom, seldom.lastAt)
    expect(usualMs).toBe(4_096 * second)
    expect(alarmAfterMs).toBe(6 * usualMs)
  })

  test('learns from 14 days of history, then from new events, each once', async () => {
    const cadences = createCadences()
    const now = 20 * day + 30 * second
    const times = [now - 15 * day, ...every(hour, 24 * 14).map((ms) => now - 14 * day + ms + minute)]
    const queries: { readonly from: number; readonly to: number }[] = []
    const inbox = {
      activity: async (query: { readonly from: number; readonly to: number }) => {
        queries.push(query)
        return tallied(times).filter(({ at }) => at >= query.from && at < query.to)
      },
    }
    const [first] = await cadences.read(inbox, now)
    expect(first).toMatchObject({ count: 24 * 14 })
    expect(await cadences.read(inbox, now + 10 * second)).toEqual([first])
    times.push(now, now + second, now + 5 * minute)
    expect(await cadences.read(inbox, now + 5 * minute)).toMatchObject([{ count: 24 * 14 + 3 }])
    queries.length = 0
    expect(await cadences.read(inbox, now + hour)).toMatchObject([{ count: 24 * 14 + 3 }])
    expect(await cadences.read(inbox, now + 2 * hour)).toMatchObject([{ count: 24 * 14 + 3 }])
    expect(queries[0]!.from).toBeGreaterThan(now)
  })

  test('excludes downtimes of the receiver', () => {
    const often = cadenceOf(every(10 * second, 1_000))
    const from = often.lastAt + minute
    const out = { from, to: from + 3 * hour }
    const now = out.to + 5 * minute
    expect(silenceOf(often, now, [out])).toMatchObject({ state: 'usual', silentMs: 5 * minute })
    expect(silenceOf(often, now).state).toBe('silent')
    const inService = (...gaps: readonly (readonly [from: number, to: number])[]) =>
      inServiceMs(
        { from: 0, to: 100 },
        gaps.map(([begin, end]) => ({ from: begin, to: end })),
      )
    expect(inService([20, 50], [10, 30], [90, 200])).toBe(50)
    expect(inService([-50, 10], [200, 300])).toBe(90)
  })

  test('treats nights and weekends as usual, but not a single outage in months', () => {
    const workdays = Array.from({ length: 60 }, (_, at) => at).filter((at) => at % 7 < 5)
    const times = workdays.flatMap((at) => every(10 * minute, 48).map((ms) => at * day + ms))
    const office = cadenceOf(times)
    expect(silenceOf(office, office.lastAt + 64 * hour + 8 * hour).state).toBe('usual')
    const steady = every(minute, 60_000).map((ms) => (ms < 10 * day ? ms : ms + 20 * hour))
    const { alarmAfterMs } = silenceOf(cadenceOf(steady), steady.at(-1)!)
    expect(alarmAfterMs).toBeLessThan(20 * minute)
  })

  test('is gone after a week and three times the alarm time, until an event arrives', () => {
    const often = cadenceOf(every(minute, 1_000))
    expect(silenceOf(often, often.lastAt + minute + 7 * day).state).toBe('silent')
    expect(silenceOf(often, often.lastAt + minute + 7 * day + 1).state).toBe('gone')
    const seldom = cadenceOf(every(3 * day, 40))
    const { alarmAfterMs } = silenceOf(seldom, seldom.lastAt)
    expect(alarmAfterMs).toBeGreaterThan(7 * day)
    expect(silenceOf(seldom, seldom.lastAt + minute + alarmAfterMs + 1).state).toBe('silent')
    expect(silenceOf(seldom, seldom.lastAt + minute + 3 * alarmAfterMs).state).toBe('silent')
    expect(silenceOf(seldom, seldom.lastAt + minute + 3 * alarmAfterMs + 1).state).toBe('gone')
    const back = cadenceOf([...every(minute, 1_000), often.lastAt + 30 * day])
    expect(silenceOf(back, back.lastAt + minute).state).toBe('usual')
    // Only time in service counts.
    const out = { from: often.lastAt + hour, to: often.lastAt + 8 * day }
    expect(silenceOf(often, out.to + minute, [out]).state).toBe('silent')
    expect(
      findSilences([often, { ...often, lastAt: often.lastAt + 30 * day }], [], often.lastAt + 30 * day),
    ).toMatchObject([{ state: 'usual' }, { state: 'gone' }])
  })

  test('ignores internal types, and lists silent ones first', () => {
    const often = cadenceOf(every(minute, 1_000))
    const own = { ...often, type: 'inbox.warning' }
    const late = { ...often, type: 'late', lastAt: often.lastAt - hour }
    const found = findSilences([own, often, late], [], often.lastAt)
    expect(found.map(({ type, state }) => [type, state])).toEqual([
      ['late', 'silent'],
      ['wallet.large_trade', 'usual'],
    ])
  })
})

/** Counts alarms while the sender works normally. */
function countAlarms(nextGap: () => number, days: number): number {
  let known: Cadence | undefined
  let row: Activity = { at: 0, type: 't', network: null, count: 1 }
  let alarms = 0
  for (let at = Math.max(1, nextGap()); at < days * day; at += Math.max(1, nextGap())) {
    const begin = Math.floor(at / minute) * minute
    if (begin === row.at) row = { ...row, count: row.count + 1 }
    else {
      known = addMinute(known, row)
      // The silence is longest just before the next event.
      if (['silent', 'gone'].includes(findSilences([known], [], at)[0]!.state)) alarms++
      row = { ...row, at: begin, count: 1 }
    }
  }
  return alarms
}

const random = createTestClock(0, 20_260_101)
const exponential = (mean: number) => -mean * Math.log(1 - random.random())
/** Bursts of about `size` events a second apart, with exponential pauses. */
const bursts = (size: number, mean: number) => {
  let left = size
  return () => {
    if (left-- > 0) return exponential(second)
    left = Math.floor(1 + random.random() * 2 * size)
    return exponential(mean)
  }
}
/** Heavy tails: mostly short intervals, some very long. */
const heavy = (scale: number) => () => Math.min(3 * day, scale / (1 - random.random()) ** (1 / 1.5))
const runs = 4
test.each([
  { name: 'every 10 s', days: 10, make: () => () => exponential(10 * second), max: 0 },
  { name: 'every 3 h', days: 365, make: () => () => exponential(3 * hour), max: 0 },
  { name: 'bursts of about 20, an hour apart', days: 60, make: () => bursts(20, hour), max: 0.02 },
  { name: 'bursts of about 200, a day apart', days: 120, make: () => bursts(200, day), max: 0.05 },
  { name: 'heavy tails', days: 60, make: () => heavy(2 * minute), max: 0.1 },
])('false alarms of a sender that works normally, $name: at most $max a day', ({ days, make, max }) => {
  const alarms = Array.from({ length: runs }, () => countAlarms(make(), days)).reduce((sum, one) => sum + one, 0)
  expect(alarms / (runs * days)).toBeLessThanOrEqual(max)
})
