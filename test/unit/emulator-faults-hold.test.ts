import { expect, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import type { Faults } from '../../src/emulator/faults/port.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/kinds.ts'

const now = Date.UTC(2026, 0, 1, 0, 0, 7)
const ids = Array.from({ length: 1_000 }, (_, index) => `evt_${index}`)

function faultsOf(...faultsOut: readonly object[]): Faults {
  const faults = createFaults({ seed: 'hold' })
  for (const fault of faultsOut) faults.add(faultRuleSchema.parse({ direction: 'out', fault } as FaultRuleInput))
  return faults
}

const heldBy = (faults: Faults, eventId: string, at = now) =>
  faults.holdMs(
    { deliveryId: 'dlv_1', endpointId: 'wh_1', url: 'http://a/', eventId, eventType: 'pump.graduation' },
    at,
  )

test('2.8 delay: fixed', () => {
  const faults = faultsOf({ kind: 'delay', ms: 1_234 })
  expect(heldBy(faults, 'evt_1')).toBe(1_234)
  expect(faults.rules()[0]?.struck).toBe(1)
})

test('2.8 delay: uniform holds for whole milliseconds between its bounds, all over', () => {
  const faults = faultsOf({ kind: 'delay', distribution: 'uniform', minMs: 1_000, maxMs: 2_000 })
  const held = ids.map((id) => heldBy(faults, id))
  expect(held.every((ms) => Number.isInteger(ms) && ms >= 1_000 && ms <= 2_000)).toBe(true)
  expect(Math.min(...held)).toBeLessThan(1_020)
  expect(Math.max(...held)).toBeGreaterThan(1_980)
  expect(ids.map((id) => heldBy(faults, id))).toEqual(held)
})

test('2.8 delay: lognormal holds half of them longer than its median, some far longer, none beyond a day', () => {
  const faults = faultsOf({ kind: 'delay', distribution: 'lognormal', medianMs: 1_000, sigma: 1 })
  const held = ids.map((id) => heldBy(faults, id)).toSorted((a, b) => a - b)
  expect(held[500]).toBeGreaterThan(850)
  expect(held[500]).toBeLessThan(1_150)
  // Of a lognormal distribution of sigma 1 these are e^1 and e^2.33.
  expect(held[841]).toBeGreaterThan(2_200)
  expect(held[841]).toBeLessThan(3_300)
  expect(held[990]).toBeGreaterThan(6_000)
  const wild = faultsOf({ kind: 'delay', distribution: 'lognormal', medianMs: 86_400_000, sigma: 5 })
  expect(Math.max(...ids.map((id) => heldBy(wild, id)))).toBe(86_400_000)
})

test('2.8 reorder: later ones overtake earlier ones within the window', () => {
  const faults = faultsOf({ kind: 'reorder', windowMs: 10_000 })
  const held = ids.map((id) => heldBy(faults, id))
  expect(held.every((ms) => ms >= 0 && ms < 10_000)).toBe(true)
  const arrivals = held.map((ms, index) => index + ms)
  expect(arrivals.filter((at, index) => at < (arrivals[index - 1] ?? 0)).length).toBeGreaterThan(300)
})

test('2.8 burst: all of an interval come at its end, those at the end at once', () => {
  const faults = faultsOf({ kind: 'burst', everyMs: 10_000 })
  const arrivals = [1, 2_000, 3_000].map((ms) => now + ms + heldBy(faults, `evt_${ms}`, now + ms))
  expect(arrivals).toEqual([now + 3_000, now + 3_000, now + 3_000])
})

test('2.8 delays add up, and a burst applies last', () => {
  const faults = faultsOf({ kind: 'burst', everyMs: 10_000 }, { kind: 'delay', ms: 4_000 })
  expect(heldBy(faults, 'evt_1')).toBe(13_000)
})
