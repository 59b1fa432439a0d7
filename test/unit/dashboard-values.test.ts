import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FaultKind } from '../../src/web/dashboard/contract.ts'
import { toRule } from '../../src/web/dashboard/faults/fault-form.tsx'
import { parseOverrides } from '../../src/web/dashboard/triggers.tsx'
import { indentJson } from '../../src/web/ui/indent-json.ts'

test('indented JSON keeps its value and the digits of its numbers', () => {
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

test('indented JSON shows invisible characters and direction marks as escapes, with the same value', () => {
  const text = JSON.stringify({ name: 'a\u202eb\u200b\u{e0041}\u2028' })
  expect(indentJson(text)).not.toMatch(/[\p{Cf}\u2028]/u)
  expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text))
})

test('invalid JSON is indented without losing a character', () => {
  for (const text of ['', '{', ']]', '"', 'a"b', '{"a":"\\']) {
    expect(indentJson(text).replaceAll(/\s/g, '')).toBe(text)
  }
})

test('overridden fields are JSON or text; an invalid line is named', () => {
  expect(parseOverrides('data.amount_usd = 250000\n\ndata.symbol=A=B\ndata.x = null')).toEqual({
    'data.amount_usd': 250_000,
    'data.symbol': 'A=B',
    'data.x': null,
  })
  expect(() => parseOverrides('data.amount_usd 5')).toThrow('got “data.amount_usd 5”')
})

test('a fault rule contains the filled fields only', () => {
  const kind: FaultKind = {
    kind: 'delay',
    direction: 'out',
    about: '',
    parameters: [
      { name: 'ms', default: 1000, about: '' },
      { name: 'distribution', default: 'fixed', about: '' },
    ],
  }
  const ruleOf = (values: Readonly<Record<string, string>>) => toRule(kind, (name) => values[name] ?? '')
  expect(ruleOf({})).toEqual({ direction: 'out', fault: { kind: 'delay' } })
  const filled = { 'fault.ms': '5', 'fault.distribution': 'uniform', types: 'wallet.*, token.risk_change' }
  expect(ruleOf({ ...filled, rate: '0.5', times: 'x' })).toEqual({
    direction: 'out',
    fault: { kind: 'delay', ms: 5, distribution: 'uniform' },
    types: ['wallet.*', 'token.risk_change'],
    rate: 0.5,
    times: 'x',
  })
})
