import { expect, test } from 'vitest'
import { serialize } from '../../src/emulator/serialize.ts'
import { createEvent } from '../../src/testing/create-event.ts'
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
