import { expect, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import type { Faults, AttemptTarget } from '../../src/emulator/faults/faults.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/rules.ts'
import { serialize } from '../../src/emulator/serialize.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'

const body = serialize(createEvent('wallet.large_trade'))

function faultsOf(rules: readonly FaultRuleInput[], seed = 'faults'): Faults {
  const faults = createFaults({ seed })
  for (const rule of rules) faults.add(faultRuleSchema.parse(rule))
  return faults
}

function targetOf(eventId: string, changes: Partial<AttemptTarget> = {}): AttemptTarget {
  return {
    deliveryId: `dlv_${eventId}`,
    endpointId: 'wh_1',
    url: 'http://localhost/hook',
    eventId,
    eventType: 'wallet.large_trade',
    ...changes,
  }
}

const ids = Array.from({ length: 400 }, (_, index) => `evt_${index}`)
const struckOf = (faults: Faults, target: AttemptTarget, attempt = 1) => faults.planAttempt(target, attempt).faults
const out = (fault: FaultRuleInput['fault'], more: object = {}) =>
  ({ direction: 'out', fault, ...more }) as FaultRuleInput

test('a rate applies to its share, drawn by seed, rule and delivery in any order; again after a clear', () => {
  const rules = [out({ kind: 'drop-ack' }, { rate: 0.25 }), out({ kind: 'tamper' }, { rate: 0.25 })]
  const [first, second, other] = [faultsOf(rules), faultsOf(rules), faultsOf(rules, 'another seed')]
  const struck = new Map(ids.map((id) => [id, struckOf(first, targetOf(id))]))
  for (const id of ids.toReversed()) expect(struckOf(second, targetOf(id))).toEqual(struck.get(id))
  expect(ids.some((id) => struckOf(other, targetOf(id)).length !== struck.get(id)?.length)).toBe(true)
  for (const { struck: count } of first.rules()) {
    expect(count).toBeGreaterThan(60)
    expect(count).toBeLessThan(140)
  }
  // Rules, attempts and endpoints draw independently.
  expect(new Set([...struck.values()].map((names) => names.join()))).toHaveProperty('size', 4)
  const differing = (changes: Partial<AttemptTarget>, attempt: number) =>
    ids.filter((id) => struckOf(second, targetOf(id, changes), attempt).join() !== struck.get(id)?.join()).length
  expect(differing({}, 2)).toBeGreaterThan(50)
  expect(differing({ url: 'http://localhost/other' }, 1)).toBeGreaterThan(50)
  expect(differing({}, 1)).toBe(0)
  first.clear()
  for (const rule of rules) first.add(faultRuleSchema.parse(rule))
  for (const id of ids) expect(struckOf(first, targetOf(id))).toEqual(struck.get(id))
})

test.each([
  ['x.x..', false, 'x.x.......'],
  ['x.x..', true, 'x.x..x.x..'],
])('the script %s (repeated: %s) applies at %s', (script, scriptRepeats, expected) => {
  const faults = faultsOf([out({ kind: 'drop-ack' }, { script, scriptRepeats, types: ['wallet.*'] })])
  const steps = Array.from({ length: 10 }, (_, index) => {
    // Only matching deliveries take a step.
    struckOf(faults, targetOf(`evt_${index}`, { eventType: 'token.risk_change' }))
    return struckOf(faults, targetOf(`evt_${index}`)).length > 0 ? 'x' : '.'
  })
  expect(steps.join('')).toBe(expected)
})

test('times limits a rule; rules report how often they applied', () => {
  const faults = faultsOf([out({ kind: 'drop-ack' }, { times: 2 })])
  expect(['evt_1', 'evt_2', 'evt_3'].map((id) => struckOf(faults, targetOf(id)).length)).toEqual([1, 1, 0])
  expect(faults.rules()).toMatchObject([{ id: 'flt_1', struck: 2, rule: { fault: { kind: 'drop-ack' }, times: 2 } }])
})

test.each([
  [{ endpoint: 'wh_1' }, true],
  [{ endpoint: 'http://localhost/hook' }, true],
  [{ endpoint: 'wh_2' }, false],
  [{ types: ['wallet.*', 'x'] }, true],
  [{ types: ['*'] }, true],
  [{ types: ['wallet.large_trade'] }, true],
  [{ types: ['wallet.large'] }, false],
  [{ types: ['token.*'] }, false],
  [{ endpoint: 'wh_1', types: ['token.*'] }, false],
  [{ rate: 0 }, false],
  [{ rate: 1 }, true],
])('a rule with %j matches the delivery: %s', (limits, isStruck) => {
  const faults = faultsOf([out({ kind: 'drop-ack' }, limits)])
  expect(faults.planAttempt(targetOf('evt_1'), 1).dropsAck).toBe(isStruck)
})

test('R89 all attempts of a delivery have the same bytes, even if the rules change', () => {
  const faults = faultsOf([out({ kind: 'extra-fields' }, { script: 'x.' })])
  const [struck, spared] = ['evt_1', 'evt_2'].map((id) => faults.planAttempt(targetOf(id), 1).alter(body))
  expect(struck?.equals(body)).toBe(false)
  expect(spared?.equals(body)).toBe(true)
  faults.remove('flt_1')
  faults.add(faultRuleSchema.parse(out({ kind: 'skew' })))
  for (const attempt of [2, 3, 6]) {
    expect(faults.planAttempt(targetOf('evt_1'), attempt).alter(body)).toEqual(struck)
    expect(faults.planAttempt(targetOf('evt_2'), attempt).alter(body)).toEqual(spared)
  }
  // A first attempt follows the present rules.
  expect(faults.planAttempt(targetOf('evt_1'), 1).faults).toEqual(['skew'])
})

test('faults compose in the order of their kinds', () => {
  const kinds = ['drop-ack', 'cut', 'tamper', 'signature-prefixed', 'slow', 'skew'] as const
  const plan = faultsOf(kinds.map((kind) => out({ kind }))).planAttempt(targetOf('evt_1'), 1)
  // The last fault of the wire wins: cut, not slow.
  expect(plan.faults).toEqual(['skew', 'signature-prefixed', 'tamper', 'cut', 'drop-ack'])
  expect(plan.wire).toEqual({ mode: 'cut', share: 0.5 })
  expect(plan.sign(body, 'a secret')[0]).toMatch(/^sha256=[0-9a-f]{64}$/)
})

test('rejects more than 100 rules', () => {
  const rule = faultRuleSchema.parse(out({ kind: 'tamper' }))
  const faults = faultsOf(Array.from({ length: 100 }, () => rule))
  expect(() => faults.add(rule)).toThrow(expect.objectContaining({ name: 'LimitReached' }))
  expect([faults.remove('flt_7'), faults.remove('flt_7')]).toEqual([true, false])
  expect(faults.add(rule).id).toBe('flt_101')
  faults.clear()
  expect(faults.rules()).toEqual([])
})

test('a rule for responses matches path and method, in the order of requests', () => {
  const faults = faultsOf([
    { direction: 'in', fault: { kind: 'error-500' }, path: '/v1/tokens*', methods: ['GET'], script: '.x' },
  ])
  const ask = (method: string, path: string) => faults.planAnswer({ method, path })?.faults ?? null
  expect(ask('GET', '/v1/tokens/0x1')).toBeNull()
  expect(ask('POST', '/v1/tokens/0x1')).toBeNull()
  expect(ask('GET', '/v1/wallets/0x1')).toBeNull()
  expect(ask('GET', '/v1/tokens/search')).toEqual(['error-500'])
  expect(ask('GET', '/v1/tokens/search')).toBeNull()
})
