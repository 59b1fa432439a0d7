import fc from 'fast-check'
import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { serialize, serializerProfiles } from '../../src/emulator/serialize.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

test('R73 the bytes are never what JSON.stringify makes of them, yet mean the same', () => {
  for (const event of Object.values(eventSamples)) {
    const text = serialize(event).toString()
    expect(text).not.toBe(JSON.stringify(JSON.parse(text)))
    expect(JSON.parse(text)).toEqual(event)
  }
})

test('whole numbers in fractional fields carry .0, integer fields do not', () => {
  const milestone = createEvent('wallet.pnl_milestone', { data: { milestone_usd: -5000, roi_pct: 12 } })
  expect(serialize(milestone).toString()).toMatch(/"milestone_usd": -5000\.0, .*"roi_pct": 12\.0, /)
  expect(serialize(createEvent('token.risk_change')).toString()).toMatch(/"current_risk_score": \d+, /)
  const honeypot = serialize(createEvent('contract.honeypot_detected')).toString()
  expect(honeypot).toMatch(/"risk_score": \d+, /)
  expect(honeypot).toMatch(/"holder_count": \d+, /)
})

test('negative, exponent and fractional numbers and escapes stay valid JSON', () => {
  const event = createEvent('wallet.new_position', {
    data: { amount_usd: -3, entry_price_usd: 1e-7, token_symbol: '"\u2028é\\' },
  })
  const text = serialize(event).toString()
  expect(text).toContain('"amount_usd": -3.0, ')
  expect(text).toContain('"entry_price_usd": 1e-7, ')
  expect(JSON.parse(text)).toEqual(event)
})

const key = fc.oneof(fc.string(), fc.constantFrom('risk_score', 'holder_count', 'amount_usd'))
const number = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.constantFrom(1e-7, 1500))
const leaf = fc.oneof(number, fc.string({ unit: 'binary' }), fc.boolean(), fc.constant(null))
const { value: json } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))
const event = fc.record(
  { id: fc.string({ minLength: 1, unit: 'binary' }), type: fc.string(), created_at: fc.string(), data: json },
  { noNullPrototype: true },
)
/** JSON.stringify writes 0 for -0. */
const withoutNegativeZero = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown

test.each(serializerProfiles)('R73 the profile %s parses to the same value, whatever the event holds', (profile) => {
  fc.assert(
    fc.property(event, (given) => {
      const text = serialize(given, profile).toString()
      expect(withoutNegativeZero(JSON.parse(text))).toEqual(withoutNegativeZero(given))
      expect(text === JSON.stringify(JSON.parse(text))).toBe(profile === 'canonical')
    }),
    { numRuns: counts.serializerRuns },
  )
})

test.each(serializerProfiles)('R95 R99 integers in integer fields stay integers in the profile %s', (profile) => {
  const honeypot = createEvent('contract.honeypot_detected', { data: { holder_count: 12_000, risk_score: 0 } })
  const textOf = (given: object) => serialize(given, profile).toString().replaceAll('\\u005f', '_')
  const text = textOf(honeypot)
  expect(text).toMatch(/"holder_count": ?12000[,\s}]/)
  expect(text).toMatch(/"risk_score": ?0[,\s}]/)
  for (const [type, fields] of [
    ['contract.honeypot_detected', ['risk_score', 'holder_count']],
    ['token.risk_change', ['previous_risk_score', 'current_risk_score']],
  ] as const) {
    for (const field of fields) {
      expect(textOf(createEvent(type))).toMatch(new RegExp(`"${field}": ?\\d+[,\\s}]`))
    }
  }
})

test('each profile writes its own form', () => {
  const given = createEvent('wallet.new_position', {
    id: 'evt_1',
    data: { token_symbol: 'é/\u{1f600}', entry_price_usd: 1e-7, amount_usd: 1500 },
  })
  const written = (profile: (typeof serializerProfiles)[number]) => serialize(given, profile).toString()
  expect(written('spaced')).toContain('"amount_usd": 1500.0, ')
  expect(written('escaped')).toContain('"id": "evt\\u005f1", ')
  expect(written('canonical')).toBe(JSON.stringify(given))
  expect(written('escaped')).toContain('"token\\u005fsymbol": "\\u00e9\\/\\ud83d\\ude00"')
  expect(written('exponent')).toContain('"entry_price_usd": 1e-7, "amount_usd": 1.5E+3, ')
  expect(Object.keys(JSON.parse(written('reordered')))).toEqual(['data', 'created_at', 'type', 'id'])
  expect(Object.keys(JSON.parse(written('reordered')).data)[0]).toBe('tx_hash')
  expect(written('pretty')).toContain('\n  "data": {\n    "wallet_address"')
  expect(serialize(given).equals(serialize(given, 'spaced'))).toBe(true)
})

test.each([
  [999.5, '999.5'],
  [1000, '1E+3'],
  [-123_456.789, '-1.23456789E+5'],
  [0.001, '0.001'],
  [0.000_999, '9.99e-4'],
  [5e-324, '5e-324'],
  [Number.MAX_VALUE, '1.7976931348623157E+308'],
  [0, '0'],
])('the profile exponent writes %d as %s, which is the same number', (value, text) => {
  expect(serialize({ amount_usd: value }, 'exponent').toString()).toBe(`{"amount_usd": ${text}}`)
  expect(Number(text)).toBe(value)
})
