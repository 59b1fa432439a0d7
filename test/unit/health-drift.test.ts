import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDriftCounter } from '../../src/health/drift.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

const sample = eventSamples['token.risk_change']

function driftOf(event: object, type: string = sample.type) {
  const drift = createDriftCounter(createTestClock())
  drift.accepted({ id: 'evt_1', type, raw: Buffer.from(JSON.stringify(event)), receivedAt: 1 })
  return drift.records().map(({ kind, path, expected, example }) => [kind, path, expected, example])
}

test('documented events have no drift', () => {
  for (const event of Object.values(eventSamples)) expect(driftOf(event, event.type)).toEqual([])
})

const networks = 'one of ethereum, bnb, solana, polygon, base, avalanche, arbitrum'
test.each<[object, string[]]>([
  [{ symbol: undefined }, ['missing_field', 'data.symbol', 'text', 'nothing']],
  [{ symbol: 5 }, ['wrong_type', 'data.symbol', 'text', '5']],
  [{ current_risk_score: 1.5 }, ['wrong_type', 'data.current_risk_score', 'a whole number', '1.5']],
  [{ triggered_checks: ['a', 1, 2] }, ['wrong_type', 'data.triggered_checks[]', 'text', '1']],
  [{ network: 'tron\u202e' }, ['out_of_range', 'data.network', networks, 'tron\\u202e']],
  [{ added: { a: 'x'.repeat(300) } }, ['new_field', 'data.added', 'no such field', `{"a":"${'x'.repeat(193)}…`]],
])('R125 R127 reports a difference in the data: %j', (change, expected) => {
  expect(driftOf({ ...sample, data: { ...sample.data, ...change } })).toEqual([expected])
})

test('reports unknown types, literals out of range and numbers beyond the range of doubles', () => {
  expect(driftOf(sample, 'nft.minted')).toEqual([['unknown_type', '', 'one of the 10 documented types', 'nft.minted']])
  const alert = eventSamples['token.price_alert']
  expect(driftOf({ ...alert, data: { ...alert.data, alert_type: 'price_equal' } }, alert.type)).toEqual([
    ['out_of_range', 'data.alert_type', 'one of price_above, price_below', 'price_equal'],
  ])
  const drift = createDriftCounter(createTestClock())
  const raw = Buffer.from(JSON.stringify(alert).replace(/"change_pct_24h":[^,}]+/, '"change_pct_24h":1e999'))
  for (const receivedAt of [5, 9]) drift.accepted({ id: `evt_${receivedAt}`, type: alert.type, raw, receivedAt })
  expect(drift.records()).toMatchObject([
    {
      kind: 'out_of_range',
      example: 'a number beyond the range of doubles',
      count: 2,
      firstAt: 5,
      lastAt: 9,
      firstEventId: 'evt_5',
    },
  ])
})
