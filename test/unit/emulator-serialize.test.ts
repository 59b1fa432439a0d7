import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { serialize, serializerProfiles } from '../../src/emulator/serialize.ts'
import { counts } from '../counts.ts'

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

test.each(serializerProfiles)('R73 %s parses to the same value; only canonical equals JSON.stringify', (profile) => {
  fc.assert(
    fc.property(event, (given) => {
      const text = serialize(given, profile).toString()
      expect(withoutNegativeZero(JSON.parse(text))).toEqual(withoutNegativeZero(given))
      expect(text === JSON.stringify(JSON.parse(text))).toBe(profile === 'canonical')
    }),
    { numRuns: counts.serializerRuns },
  )
})

test.each(serializerProfiles)('R95 R99 integer fields stay integers in the profile %s', (profile) => {
  const given = { risk_score: 0, holder_count: 12_000, previous_risk_score: 7, current_risk_score: 99 }
  const text = serialize(given, profile).toString().replaceAll('\\u005f', '_')
  for (const [field, value] of Object.entries(given)) expect(text).toMatch(new RegExp(`"${field}": ?${value}[,\\s}]`))
})

test.each([
  ['spaced', /"entry_price_usd": 1e-7, "amount_usd": 1500\.0, /],
  ['spaced', /"token_symbol": "é\/😀", /],
  ['escaped', /"id": "evt\\u005f1", /],
  ['escaped', /"token\\u005fsymbol": "\\u00e9\\\/\\ud83d\\ude00"/],
  ['exponent', /"entry_price_usd": 1e-7, "amount_usd": 1\.5E\+3, /],
  ['reordered', /^\{"data": \{"tx_hash": .*\}, "created_at": .*, "type": .*, "id": "evt_1"\}$/],
  ['pretty', /\n {2}"data": \{\n {4}"wallet_address"/],
] as const)('the profile %s writes %s', (profile, form) => {
  const data = { token_symbol: 'é/\u{1f600}', entry_price_usd: 1e-7, amount_usd: 1500 }
  const text = serialize(createEvent('wallet.new_position', { id: 'evt_1', data }), profile).toString()
  expect(text).toMatch(form)
})

test.each([
  [999.5, '999.5'],
  [1000, '1E+3'],
  [0.001, '0.001'],
  [0.000_999, '9.99e-4'],
])('the profile exponent writes %d as %s', (value, text) => {
  expect(serialize({ amount_usd: value }, 'exponent').toString()).toBe(`{"amount_usd": ${text}}`)
})
