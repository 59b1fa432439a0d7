import { Ajv2020 } from 'ajv/dist/2020.js'
import { default as addFormats } from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { eventJsonSchemas } from '../../schema/generate.ts'
import { eventSchemas, eventTypes, isKnownEvent, parseEvent, type EventType } from '../../schema/index.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

const ajv = new Ajv2020({ allErrors: true, strict: true })
addFormats.default(ajv)
for (const schema of Object.values(eventJsonSchemas())) ajv.addSchema(schema)

const passesJson = (schema: string, value: unknown) => ajv.getSchema(`${schema}.json`)!(value) === true
const passesZod = (value: unknown) => {
  try {
    parseEvent(value)
    return true
  } catch {
    return false
  }
}

/** Requirement and fields of each type, as in the spec. */
const spec: Readonly<Record<EventType, readonly [requirement: string, fields: string]>> = {
  'token.price_alert': [
    'R93',
    'token_address network symbol alert_type threshold_usd current_price_usd change_pct_24h',
  ],
  'token.new_listing': ['R94', 'token_address network symbol name dex pool_address initial_liquidity_usd listing_tx'],
  'token.risk_change': [
    'R95',
    'token_address network symbol previous_risk_score current_risk_score risk_level triggered_checks ai_summary',
  ],
  'wallet.large_trade': ['R96', 'wallet_address network trade_type token_address token_symbol amount_usd tx_hash'],
  'wallet.new_position': [
    'R97',
    'wallet_address network token_address token_symbol entry_price_usd amount_usd tx_hash',
  ],
  'wallet.pnl_milestone': ['R98', 'wallet_address network milestone_usd realized_pnl_usd roi_pct timeframe'],
  'contract.honeypot_detected': [
    'R99',
    'contract_address network symbol risk_score honeypot_type liquidity_usd holder_count ai_summary',
  ],
  'contract.liquidity_removed': [
    'R100',
    'contract_address network symbol pool_address liquidity_removed_usd liquidity_removed_pct remaining_liquidity_usd tx_hash',
  ],
  'contract.ownership_changed': ['R101', 'contract_address network symbol previous_owner new_owner tx_hash'],
  'pump.graduation': ['R102', 'token_address symbol name bonding_curve_completed sol_raised raydium_pool migration_tx'],
}

const integers = new Set(['previous_risk_score', 'current_risk_score', 'risk_score', 'holder_count'])

/** Invalid values of a field. The type comes from the example. */
function wrongFor(field: string, value: unknown): readonly unknown[] {
  if (integers.has(field)) return [undefined, 1.5, '1']
  if (Array.isArray(value)) return [undefined, 'x', [1]]
  if (typeof value === 'boolean') return [undefined, 'true', 1]
  return typeof value === 'number' ? [undefined, '1', null] : [undefined, 1, null]
}

describe.each(eventTypes)('%s', (type) => {
  const sample = eventSamples[type]
  const [requirement, fields] = spec[type]

  it(`${requirement}: accepts a valid event, in zod and in the generated schemas`, () => {
    expect(parseEvent(sample)).toEqual(sample)
    expect(passesJson(type, sample)).toBe(true)
    expect(passesJson('event', sample)).toBe(true)
  })

  it(`${requirement}: has exactly the fields of the spec`, () => {
    expect(Object.keys(eventSchemas[type].shape.data.shape)).toEqual(fields.split(' '))
    expect(Object.keys(sample.data)).toEqual(fields.split(' '))
  })

  it(`${requirement}: rejects each missing field and each wrong type`, () => {
    for (const [field, value] of Object.entries(sample.data)) {
      for (const wrong of wrongFor(field, value)) {
        const broken = JSON.parse(JSON.stringify({ ...sample, data: { ...sample.data, [field]: wrong } }))
        const verdicts = [passesZod(broken), passesJson(type, broken), passesJson('event', broken)]
        expect(verdicts, `${field} = ${JSON.stringify(wrong)}`).toEqual([false, false, false])
      }
    }
  })

  it('R125: keeps unknown members', () => {
    const grown = { ...sample, extra: 1, data: { ...sample.data, extra: { deep: [1] } } }
    expect(parseEvent(grown)).toEqual(grown)
    expect(passesJson(type, grown)).toBe(true)
  })
})

describe('envelope', () => {
  const unknown = { id: 'evt_1', type: 'token.volume_spike', created_at: '2026-01-31T12:00:00.000Z', data: { a: 1 } }

  it('R127: accepts unknown types', () => {
    const event = parseEvent(unknown)
    expect(event).toEqual(unknown)
    expect(isKnownEvent(event)).toBe(false)
    expect(isKnownEvent(eventSamples['pump.graduation'])).toBe(true)
    expect(passesJson('event', unknown)).toBe(true)
    expect(passesZod({ ...unknown, type: 'constructor' })).toBe(true)
  })

  it.each([
    ['no object', null],
    ['a list', [unknown]],
    ['no id', { ...unknown, id: undefined }],
    ['an empty id', { ...unknown, id: '' }],
    ['an id that is a number', { ...unknown, id: 1 }],
    ['an id of 256 characters', { ...unknown, id: 'x'.repeat(256) }],
    ['an empty type', { ...unknown, type: '' }],
    ['a type of 256 characters', { ...unknown, type: 'x'.repeat(256) }],
    ['data that is a list', { ...unknown, data: [] }],
    ['data that is null', { ...unknown, data: null }],
  ])('R92: rejects %s', (_what, value) => {
    expect(passesZod(value)).toBe(false)
    expect(passesJson('event', JSON.parse(JSON.stringify(value)))).toBe(false)
  })

  it('R92: rejects malformed Unicode, which JSON Schema cannot express', () => {
    expect(passesZod({ ...unknown, id: 'evt_\ud800' })).toBe(false)
    expect(passesZod({ ...unknown, type: '\udfff' })).toBe(false)
  })

  it('R92: accepts an id without prefix, up to 255 characters', () => {
    expect(passesZod({ ...unknown, id: 'x'.repeat(255) })).toBe(true)
    expect(passesZod({ ...unknown, id: '🦊' })).toBe(true)
  })

  const good = [
    '2026-01-31T12:00:00Z',
    '2026-01-31T12:00:00.123456789Z',
    '2026-01-31t12:00:00z',
    '2026-01-31T12:00:00+00:00',
    '2028-02-29T23:59:59Z',
    '2016-12-31T23:59:60Z',
  ]
  const bad = [
    '2026-01-31T12:00:00',
    '2026-01-31T12:00:00.1234567890Z',
    '2026-01-31T12:00:00+01:00',
    '2026-02-29T12:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T12:00:60Z',
    '2026-01-31',
    '',
  ]
  it.each([...good.map((text) => [text, true] as const), ...bad.map((text) => [text, false] as const)])(
    'A4: created_at %j is valid: %s',
    (text, verdict) => {
      expect(passesZod({ ...unknown, created_at: text })).toBe(verdict)
      expect(passesJson('event', { ...unknown, created_at: text })).toBe(verdict)
    },
  )

  it('lists all problems with their paths and without values', () => {
    const sample = eventSamples['wallet.large_trade']
    const broken = { ...sample, created_at: 'secret', data: { ...sample.data, amount_usd: 'hidden', network: 7 } }
    const lines = [
      'Not a valid wallet.large_trade event:',
      '✖ expected an RFC 3339 UTC time such as 2026-01-31T12:00:00.000Z\n  → at created_at',
      '✖ Invalid input: expected string, received number\n  → at data.network',
      '✖ Invalid input: expected number, received string\n  → at data.amount_usd',
    ]
    expect(() => parseEvent(broken)).toThrow(expect.objectContaining({ name: 'TypeError', message: lines.join('\n') }))
  })

  it('does not let `__proto__` of a payload become a prototype', () => {
    const event = parseEvent(JSON.parse(JSON.stringify(unknown).replace('"a":1', '"__proto__":{"polluted":true}')))
    expect('polluted' in event.data).toBe(false)
    expect(Object.getPrototypeOf(event.data)).toBe(Object.prototype)
  })
})

it.each([
  ['token.risk_change', 'risk_level'],
  ['contract.honeypot_detected', 'honeypot_type'],
  ['wallet.large_trade', 'trade_type'],
  ['token.new_listing', 'dex'],
  ['token.new_listing', 'network'],
] as const)('R103 A36 A37 A38: %s accepts any string as %s', (type, field) => {
  const event = { ...eventSamples[type], data: { ...eventSamples[type].data, [field]: 'never seen before' } }
  expect(passesZod(event)).toBe(true)
  expect(passesJson(type, event)).toBe(true)
})

it('R104: alert_type is price_above or price_below and nothing else', () => {
  const sample = eventSamples['token.price_alert']
  for (const [alert_type, verdict] of [
    ['price_above', true],
    ['price_below', true],
    ['volume_spike', false],
  ]) {
    const event = { ...sample, data: { ...sample.data, alert_type } }
    expect([passesZod(event), passesJson('token.price_alert', event)]).toEqual([verdict, verdict])
  }
})
