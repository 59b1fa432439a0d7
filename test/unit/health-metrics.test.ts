import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { registerHealthMetrics, type HealthMetricsSource } from '../../src/admin/health-metrics.ts'
import type { Silence, Warning } from '../../src/health/port.ts'
import type { DriftRecord } from '../../src/health/drift.ts'

const warning = (code: string, level: Warning['level'], subject = ''): Warning => ({
  code,
  level,
  subject,
  title: '',
  text: '',
  since: 0,
  href: null,
})
const drift = (kind: DriftRecord['kind'], count: number): DriftRecord => ({
  kind,
  type: 'made.up',
  path: '',
  expected: '',
  example: '',
  count,
  firstAt: 0,
  lastAt: 0,
  firstEventId: '',
})
const silence = (type: string, network: string | null, silentMs: number, state: Silence['state'] = 'usual') =>
  ({ type, network, silentMs, lastAt: 0, usualMs: 0, alarmAfterMs: 0, state }) as const

async function scrape(change: Partial<HealthMetricsSource> = {}) {
  const registry = new Registry()
  registerHealthMetrics(registry, {
    watch: () => ({
      warnings: () => [warning('drift', 'info', 'a'), warning('drift', 'info', 'b'), warning('ack_slow', 'critical')],
      silences: () => [
        silence('wallet.large_trade', 'base', 2_500),
        silence('pump.graduation', null, 1_000),
        silence('wallet.new_position', 'base', 9e9, 'gone'),
        silence('made.up', 'base', 1),
        silence('wallet.large_trade', 'made-up', 1),
      ],
    }),
    totals: () => ({ acknowledged: 7, late: 1, refused: 2, unusable: 3 }),
    drift: { records: () => [drift('new_field', 4), drift('new_field', 1), drift('wrong_type', 2)] },
    inbox: {
      secretUses: async () => [
        { label: 'main', firstAt: 0, lastAt: 1_767_225_600_500, count: 1 },
        { label: 'gone', firstAt: 0, lastAt: 1, count: 1 },
      ],
    },
    secretLabels: () => ['main', 'next'],
    ...change,
  })
  const read = async () => {
    const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return lines.toSorted()
  }
  // The same again: nothing is counted twice.
  const first = await read()
  expect(await read()).toEqual(first)
  return first
}

test('the health of the sender side is in the metrics, without text from outside', async () => {
  expect(await scrape()).toEqual(
    [
      'inbox_deliveries_total{result="acknowledged"} 7',
      'inbox_deliveries_total{result="late"} 1',
      'inbox_deliveries_total{result="refused"} 2',
      'inbox_deliveries_total{result="unusable"} 3',
      'inbox_drift_total{kind="missing_field"} 0',
      'inbox_drift_total{kind="new_field"} 5',
      'inbox_drift_total{kind="out_of_range"} 0',
      'inbox_drift_total{kind="unknown_type"} 0',
      'inbox_drift_total{kind="wrong_type"} 2',
      'inbox_secret_last_used_timestamp_seconds{secret="main"} 1767225600.5',
      'inbox_silence_seconds{type="pump.graduation",network=""} 1',
      'inbox_silence_seconds{type="wallet.large_trade",network="base"} 2.5',
      'inbox_warning_active{code="ack_slow",level="critical"} 1',
      'inbox_warning_active{code="drift",level="info"} 2',
    ].toSorted(),
  )
})

test('leaves out what the store cannot tell at a scrape', async () => {
  const lines = await scrape({ inbox: { secretUses: () => Promise.reject(new Error('gone')) } })
  expect(lines.filter((line) => line.startsWith('inbox_secret'))).toEqual([])
})
