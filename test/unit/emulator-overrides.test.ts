import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pathProblem, valueProblem, withOverrides } from '../../src/emulator/overrides.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'

const event = createEvent('token.risk_change', { data: { triggered_checks: ['proxy', 'mint'] } })

test('sets members by path, creates new ones, and leaves the given event unchanged', () => {
  const before = structuredClone(event)
  const changed = withOverrides(event, {
    created_at: '2026-01-31T12:00:00.000Z',
    'data.symbol': 'PEPE',
    'data.current_risk_score': 99,
    'data.triggered_checks.0': 'blacklist',
    'data.triggered_checks.2': 'tax',
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
      triggered_checks: ['blacklist', 'mint', 'tax'],
      new: { deep: [1, { a: null }] },
    },
  })
  expect(event).toEqual(before)
})

test.each([
  ['id', /id of an event cannot be set/],
  ['id.x', /id of an event cannot be set/],
  ['type', /type of an event cannot be set/],
  ['data', /expected a member of data/],
  ['', /expected member names separated by dots/],
  ['data.', /separated by dots/],
  ['data..x', /separated by dots/],
  [`data.${'x'.repeat(200)}`, /at most 200 characters/],
  ['data.__proto__', /__proto__ is not allowed as a member name/],
  ['__proto__.x', /__proto__ is not allowed as a member name/],
  ['data.constructor.prototype.x', /constructor is not allowed as a member name/],
  ['data.prototype', /prototype is not allowed as a member name/],
])('rejects the path %j', (path, message) => {
  expect(pathProblem(path)).toMatch(message)
  expect(() => withOverrides(event, { [path]: 1 })).toThrow(message)
})

test('rejects a path through a non-object, and an invalid list index', () => {
  expect(() => withOverrides(event, { 'data.symbol.x': 1 })).toThrow(/data\.symbol\.x: symbol is not an object/)
  expect(() => withOverrides(event, { 'data.triggered_checks.x': 1 })).toThrow(/expected a list index from 0 to 2/)
  expect(() => withOverrides(event, { 'data.triggered_checks.3': 1 })).toThrow(/expected a list index from 0 to 2/)
  expect(() => withOverrides(event, { created_at: 5 })).toThrow(/created_at: expected text/)
  const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`) as unknown
  expect(() => withOverrides(event, { 'data.deep': deep })).toThrow(/at most 32 levels of nesting/)
})

test.each([Infinity, -Infinity, NaN, [1, { a: Infinity }]])(
  'rejects the number %j, which JSON cannot represent',
  (value) => {
    expect(valueProblem(value)).toMatch(/expected numbers that JSON can represent/)
    expect(() => withOverrides(event, { 'data.symbol': value })).toThrow(/data\.symbol: expected numbers that JSON can/)
    expect(valueProblem([1, { a: Number.MAX_VALUE }])).toBe(null)
  },
)

test('overrides change only the event, which holds the new values', () => {
  const name = fc.oneof(
    fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'symbol', '0', 'length'),
    fc.string({ maxLength: 8 }),
  )
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), fc.jsonValue(), (names, value) => {
      const path = `data.${names.join('.')}`
      const ownBefore = Object.getOwnPropertyNames(Object.prototype).join()
      let changed: unknown
      try {
        changed = withOverrides(event, { [path]: value })
      } catch (error) {
        expect((error as Error).name).toBe('InboxError')
      }
      expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(ownBefore)
      if (changed === undefined) return
      const found = path.split('.').reduce<unknown>((place, part) => (place as Record<string, unknown>)[part], changed)
      expect(found).toEqual(value)
      expect(Object.getPrototypeOf((changed as { data: object }).data)).toBe(Object.prototype)
    }),
    { numRuns: 500 },
  )
})
