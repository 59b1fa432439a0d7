import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Delivery } from '../../src/web/dashboard/contract.ts'
import type { FaultKind } from '../../src/web/dashboard/contract-faults.ts'
import { toRule } from '../../src/web/dashboard/pages/fault-rule.ts'
import { parseOverrides } from '../../src/web/dashboard/pages/overrides.ts'
import { isOfState, mergeNewest } from '../../src/web/dashboard/parts/delivery-list.ts'
import { formatDuration, formatUsd, shortAddress } from '../../src/web/ui/format.ts'
import { matchPath } from '../../src/web/ui/hash-router.ts'
import { indentJson } from '../../src/web/ui/indent-json.ts'
import { sampleDelivery } from '../support/dashboard-samples.ts'

// What the pages work with, without a page around it.

const deliveries = (...ids: readonly string[]): Delivery[] =>
  ids.map((deliveryId) => ({ ...sampleDelivery, deliveryId }))
const idsOf = (list: readonly Delivery[]) => list.map(({ deliveryId }) => deliveryId).join('')

test('the newest deliveries come before those that are known, each once; with a gap between, they stand alone', () => {
  expect(idsOf(mergeNewest([], deliveries('b', 'a')))).toBe('ba')
  expect(idsOf(mergeNewest(deliveries('c', 'b', 'a'), deliveries('d', 'c')))).toBe('dcba')
  expect(idsOf(mergeNewest(deliveries('c', 'b', 'a'), deliveries('c', 'b')))).toBe('cba')
  expect(idsOf(mergeNewest(deliveries('b', 'a'), deliveries('f', 'e')))).toBe('fe')
})

test('R87 failed are those that are undelivered and those that are tried again', () => {
  const fresh = { ...sampleDelivery, state: 'pending', lastStatus: null, lastFailure: null } as const
  expect(isOfState(sampleDelivery, 'failed')).toBe(true)
  expect(isOfState({ ...fresh, lastStatus: 500 }, 'failed')).toBe(true)
  expect(isOfState({ ...fresh, lastFailure: 'no answer' }, 'failed')).toBe(true)
  expect(isOfState(fresh, 'failed')).toBe(false)
  expect(isOfState({ ...fresh, state: 'acknowledged', lastStatus: 200 }, 'failed')).toBe(false)
  expect(isOfState(fresh, 'pending')).toBe(true)
  expect(isOfState(fresh, '')).toBe(true)
})

test('indented JSON has the value it had, and the digits of its numbers', () => {
  expect(indentJson('{"a":1.10,"b":[],"c":[{},-1e-7]}')).toBe(
    '{\n  "a": 1.10,\n  "b": [],\n  "c": [\n    {},\n    -1e-7\n  ]\n}',
  )
  const seed = Math.trunc(Math.random() * 2 ** 31)
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
      const written = JSON.stringify(JSON.parse(text), null, space)
      expect(JSON.parse(indentJson(written))).toEqual(JSON.parse(written))
    }),
    { seed },
  )
})

test('indented JSON shows what is not seen, or turns the direction, as codes; it is the same value still', () => {
  const text = JSON.stringify({ name: 'a\u202eb\u200b\u{e0041}\u2028' })
  expect(indentJson(text)).not.toMatch(/[\p{Cf}\u2028]/u)
  expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text))
})

test('what is no JSON is indented in some way, and nothing of it is lost', () => {
  for (const text of ['', '{', ']]', '"', 'a"b', '{"a":"\\']) {
    expect(indentJson(text).replaceAll(/\s/g, '')).toBe(text)
  }
})

test('members to set are read as JSON, or as text; a line that says nothing is named', () => {
  expect(parseOverrides('data.amount_usd = 250000\n\ndata.symbol=A=B\ndata.x = null')).toEqual({
    'data.amount_usd': 250_000,
    'data.symbol': 'A=B',
    'data.x': null,
  })
  expect(() => parseOverrides('data.amount_usd 5')).toThrow('received “data.amount_usd 5”')
})

test('a rule says what was filled in, and nothing of what was not', () => {
  const kind: FaultKind = {
    kind: 'delay',
    direction: 'out',
    about: '',
    parameters: [
      { name: 'ms', default: 1000, about: '' },
      { name: 'distribution', default: 'fixed', about: '' },
    ],
  }
  const limits = { endpoint: '', types: '', path: '', rate: '', script: '', times: '' }
  expect(toRule(kind, { values: {}, limits })).toEqual({ direction: 'out', fault: { kind: 'delay' } })
  const filled = { ...limits, types: 'wallet.*, token.risk_change', rate: '0.5', times: 'x', path: '/v1/tokens' }
  expect(toRule(kind, { values: { ms: '5', distribution: 'uniform' }, limits: filled })).toEqual({
    direction: 'out',
    fault: { kind: 'delay', ms: 5, distribution: 'uniform' },
    types: ['wallet.*', 'token.risk_change'],
    rate: 0.5,
    times: 'x',
  })
})

test('amounts, addresses and durations are short, and what is none is a dash', () => {
  expect(formatUsd(1234.5)).toBe('$1,234.50')
  expect(formatUsd(-0.000012345678)).toBe('-$0.00001235')
  expect(formatUsd(12_345_678)).toBe('$12.35M')
  for (const value of ['1', null, undefined, Number.NaN, {}]) expect(formatUsd(value)).toBe('–')
  expect(shortAddress('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed')).toBe('0x5aAe…eAed')
  expect(shortAddress('dlv_1')).toBe('dlv_1')
  expect(formatDuration(41)).toBe('41 ms')
  expect(formatDuration(9_000_000)).toBe('2 h 30 min')
})

test('a path is taken apart by its pattern, whatever it contains', () => {
  expect(matchPath('/tokens/:network/:address', '/tokens/solana/a%2Fb')).toEqual({ network: 'solana', address: 'a/b' })
  expect(matchPath('/tokens/:network/:address', '/tokens/solana')).toBeNull()
  expect(matchPath('/deliveries/:id', '/deliveries/%E0%A4%A')).toEqual({ id: '%E0%A4%A' })
})
