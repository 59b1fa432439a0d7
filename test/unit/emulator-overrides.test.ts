import { expect, test } from 'vitest'
import { pathProblem, withOverrides } from '../../src/emulator/overrides.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'

const event = createEvent('token.risk_change', { data: { triggered_checks: ['proxy', 'mint'] } })

test('members are set by their paths, new ones are made, and the event that was given stays as it is', () => {
  const before = structuredClone(event)
  const changed = withOverrides(event, {
    created_at: '2026-01-31T12:00:00.000Z',
    'data.symbol': 'PEPE',
    'data.current_risk_score': 99,
    'data.triggered_checks': ['blacklist'],
    'data.new.deep': [1, { a: null }],
    extra: true,
  })
  expect(changed).toEqual({
    ...before,
    created_at: '2026-01-31T12:00:00.000Z',
    extra: true,
    data: {
      ...before.data,
      symbol: 'PEPE',
      current_risk_score: 99,
      triggered_checks: ['blacklist'],
      new: { deep: [1, { a: null }] },
    },
  })
  expect(event).toEqual(before)
})

test.each([
  ['id', /id of an event cannot be set/],
  ['type', /type of an event cannot be set/],
  ['data', /expected a member of data/],
  ['', /expected member names separated by dots/],
  ['data.', /separated by dots/],
  [`data.${'x'.repeat(200)}`, /at most 200 characters/],
  ['data.__proto__', /__proto__ is not allowed as a member name/],
  ['__proto__.x', /__proto__ is not allowed as a member name/],
  ['data.constructor.prototype.x', /constructor is not allowed as a member name/],
])('the path %j is refused', (path, message) => {
  expect(pathProblem(path)).toMatch(message)
  expect(() => withOverrides(event, { [path]: 1 })).toThrow(message)
})

const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as unknown

test.each<[string, unknown, RegExp]>([
  ['data.symbol.x', 1, /data\.symbol\.x: symbol is not an object/],
  ['data.triggered_checks.0', 1, /triggered_checks is not an object/],
  ['created_at', 5, /created_at: expected text/],
  ['data.deep', deep, /at most 32 levels of nesting/],
  ['data.symbol', Infinity, /data\.symbol: expected JSON with numbers up to/],
  ['data.symbol', [1, { a: -Infinity }], /expected JSON with numbers/],
])('rejects %s = %j', (path, value, message) => {
  expect(() => withOverrides(event, { [path]: value })).toThrow(message)
})
