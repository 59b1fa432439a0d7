import { expect, test } from 'vitest'
import { createPace } from '../../src/inbox/index-pace.ts'

/** Milliseconds of work, and how much came, in so long a time with so many events a second. */
function share(perSecond: number, seconds = 20, workMs = 10): number {
  const pace = createPace()
  let at = 0
  let worked = 0
  while (at < seconds * 1_000) {
    const restMs = pace.sees(Math.floor((at * perSecond) / 1_000), at)
    at += restMs
    if (restMs > 0) continue
    worked += workMs
    at += workMs + pace.restAfter(workMs)
  }
  return worked / at
}

test('the index takes most of the time when little comes, and less the more comes, but never none', () => {
  const shares = [0, 10, 100, 500, 5_000, 50_000].map((perSecond) => share(perSecond))
  expect(shares[0]).toBeGreaterThan(0.75)
  expect(shares[1]).toBeGreaterThan(0.6)
  expect(shares[2]).toBeGreaterThan(0.2)
  expect(shares[3]).toBeGreaterThan(0.05)
  for (const busy of shares.slice(4)) {
    expect(busy).toBeGreaterThan(0.01)
    expect(busy).toBeLessThan(0.05)
  }
})

test('it rests before its first work of a burst, once', () => {
  const pace = createPace()
  for (let at = 0; at <= 5_000; at += pace.idleMs) expect(pace.sees(0, at)).toBe(0)
  const restMs = pace.sees(2_000, 5_250)
  expect(restMs).toBeGreaterThan(300)
  expect(pace.sees(4_000, 5_250 + restMs)).toBe(0)
  expect(pace.restAfter(10)).toBeGreaterThan(200)
})

test('soon after a burst it works as before', () => {
  const pace = createPace()
  pace.sees(0, 0)
  pace.sees(5_000, 250)
  for (let at = 500; at <= 4_000; at += 100) pace.sees(5_000, at)
  expect(pace.restAfter(10)).toBeLessThan(5)
})

test('bursts that follow each other do not keep it from work', () => {
  const pace = createPace()
  let worked = 0
  let at = 0
  while (at < 60_000) {
    const bursts = Math.floor(at / 700)
    const restMs = pace.sees(bursts * 1_000, at)
    at += restMs
    if (restMs > 0) continue
    worked += 1
    at += 10 + pace.restAfter(10)
  }
  expect(worked).toBeGreaterThan(100)
})
