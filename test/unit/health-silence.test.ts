import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { addMinute, createCadences, findSilences, inServiceMs, type Cadence } from '../../src/health/silence.ts'
import type { Activity } from '../../src/inbox/port.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** Events at these times, counted per minute. */
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
  test('is learned from 30 events and an hour', () => {
    const few = cadenceOf(every(5 * minute, 29))
    expect(silenceOf(few, few.lastAt + 30 * day).state).toBe('learning')
    const soon = cadenceOf(every(second, 60))
    expect(silenceOf(soon, soon.lastAt + 30 * minute).state).toBe('learning')
    expect(silenceOf(soon, soon.lastAt + 2 * hour).state).toBe('silent')
  })

  test('begins after six times what is usual, and not before ten minutes', () => {
    const often = cadenceOf(every(10 * second, 1_000))
    // Until the end of the last minute an event may have come.
    const from = often.lastAt + minute
    expect(silenceOf(often, from + 10 * minute)).toMatchObject({ state: 'usual', usualMs: 16 * second })
    expect(silenceOf(often, from + 10 * minute + 1)).toMatchObject({ state: 'silent', alarmAfterMs: 10 * minute })
    const seldom = cadenceOf(every(hour, 100))
    const { usualMs, alarmAfterMs } = silenceOf(seldom, seldom.lastAt)
    expect(usualMs).toBe(4_096 * second)
    expect(alarmAfterMs).toBe(6 * usualMs)
  })

  test('is learned from the counts of 14 days, then from what is new, each event once', async () => {
    const cadences = createCadences()
    const now = 20 * day + 30 * second
    const times = [now - 15 * day, ...every(hour, 24 * 14).map((ms) => now - 14 * day + ms + minute)]
    const asked: { readonly from: number; readonly to: number }[] = []
    const inbox = {
      activity: async (query: { readonly from: number; readonly to: number }) => {
        asked.push(query)
        return tallied(times).filter(({ at }) => at >= query.from && at < query.to)
      },
    }
    const [first] = await cadences.read(inbox, now)
    expect(first).toMatchObject({ count: 24 * 14 })
    expect(await cadences.read(inbox, now + 10 * second)).toEqual([first])
    times.push(now, now + second, now + 5 * minute)
    expect(await cadences.read(inbox, now + 5 * minute)).toMatchObject([{ count: 24 * 14 + 3 }])
    asked.length = 0
    expect(await cadences.read(inbox, now + hour)).toMatchObject([{ count: 24 * 14 + 3 }])
    expect(await cadences.read(inbox, now + 2 * hour)).toMatchObject([{ count: 24 * 14 + 3 }])
    expect(asked[0]!.from).toBeGreaterThan(now)
  })

  test('does not count the time in which this receiver was not in service', () => {
    const often = cadenceOf(every(10 * second, 1_000))
    const from = often.lastAt + minute
    const out = { from, to: from + 3 * hour }
    const now = out.to + 5 * minute
    expect(silenceOf(often, now, [out])).toMatchObject({ state: 'usual', silentMs: 5 * minute })
    expect(silenceOf(often, now).state).toBe('silent')
    expect(
      inServiceMs({ from: 0, to: 100 }, [
        { from: 20, to: 50 },
        { from: 10, to: 30 },
        { from: 90, to: 200 },
      ]),
    ).toBe(50)
    expect(
      inServiceMs({ from: 0, to: 100 }, [
        { from: -50, to: 10 },
        { from: 200, to: 300 },
      ]),
    ).toBe(90)
  })

  test('takes nights and weekends for usual, and a single outage in months for none of that', () => {
    const workdays = Array.from({ length: 60 }, (_, at) => at).filter((at) => at % 7 < 5)
    const times = workdays.flatMap((at) => every(10 * minute, 48).map((ms) => at * day + ms))
    const office = cadenceOf(times)
    expect(silenceOf(office, office.lastAt + 64 * hour + 8 * hour).state).toBe('usual')
    const steady = every(minute, 60_000).map((ms) => (ms < 10 * day ? ms : ms + 20 * hour))
    const { alarmAfterMs } = silenceOf(cadenceOf(steady), steady.at(-1)!)
    expect(alarmAfterMs).toBeLessThan(20 * minute)
  })

  test('is over for good after a week, or three times the time until the alarm, until something comes again', () => {
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

  test('leaves own types out, and lists what is silent first', () => {
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

/** How often the alarm is raised while the sender works as ever. */
function simulate(nextGap: () => number, days: number): { readonly alarms: number; readonly events: number } {
  let known: Cadence | undefined
  let row: Activity = { at: 0, type: 't', network: null, count: 1 }
  let at = 0
  let alarms = 0
  let events = 1
  while (at < days * day) {
    at += Math.max(1, nextGap())
    events++
    const begin = Math.floor(at / minute) * minute
    if (begin === row.at) {
      row = { ...row, count: row.count + 1 }
      continue
    }
    known = addMinute(known, row)
    // Looked at once, right before the next one comes: then it has been silent for the longest.
    const state = findSilences([known], [], at)[0]?.state
    if (state === 'silent' || state === 'gone') alarms++
    row = { ...row, at: begin, count: 1 }
  }
  return { alarms, events }
}

describe('false alarms at senders that work as ever', () => {
  const seed = 20_260_101
  const random = createTestClock(0, seed)
  const exponential = (mean: number) => -mean * Math.log(1 - random.random())
  /** So many in a burst, a second apart, and then nothing for a time of its own. */
  const bursts = (size: number, mean: number) => {
    let left = size
    return () =>
      left-- > 0 ? exponential(second) : ((left = Math.floor(1 + random.random() * 2 * size)), exponential(mean))
  }
  /** Heavy tails: most come soon, some after very long. */
  const heavy = (scale: number) => () => Math.min(3 * day, scale / (1 - random.random()) ** (1 / 1.5))
  const runs = 10
  test.each([
    { name: 'steady, 10 s apart', days: 10, make: () => () => exponential(10 * second), most: 0 },
    { name: 'steady, 10 min apart', days: 90, make: () => () => exponential(10 * minute), most: 0 },
    { name: 'steady, 3 h apart', days: 365, make: () => () => exponential(3 * hour), most: 0 },
    { name: 'bursts of about 20, an hour apart', days: 60, make: () => bursts(20, hour), most: 0.02 },
    { name: 'bursts of about 200, a day apart', days: 120, make: () => bursts(200, day), most: 0.05 },
    { name: 'heavy tails', days: 60, make: () => heavy(2 * minute), most: 0.1 },
  ])('$name: at most $most a day', ({ name, days, make, most }) => {
    const results = Array.from({ length: runs }, () => simulate(make(), days))
    const alarms = results.reduce((sum, one) => sum + one.alarms, 0)
    const events = results.reduce((sum, one) => sum + one.events, 0)
    const rate = alarms / (runs * days)
    console.log(`${name}: ${alarms} false alarms in ${runs * days} days, ${events} events (seed ${seed})`)
    expect(rate).toBeLessThanOrEqual(most)
  })
})
