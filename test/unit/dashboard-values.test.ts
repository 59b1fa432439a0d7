import { expect, test } from 'vitest'
import type { FaultKind } from '../../src/web/dashboard/contract.ts'
import { toRule } from '../../src/web/dashboard/faults/fault-form.tsx'
import { parseOverrides } from '../../src/web/dashboard/triggers.tsx'

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
