import { expect, test } from 'vitest'
import { createMetrics, type MetricsOptions } from '../../src/admin/metrics.ts'
import type { DriftRecord } from '../../src/health/drift.ts'
import type { Warning } from '../../src/health/facts.ts'
import { createMeter } from '../../src/health/meter.ts'
import { defaultSender } from '../../src/health/senders.ts'
import type { Silence } from '../../src/health/silence.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { SettledCounter, type SettledCount } from '../../src/dispatch/pace.ts'
import type { InboxStats, IncomingDelivery } from '../../src/inbox/port.ts'
import { handlerStats, inboxStats } from '../support/stats.ts'

function setUp(stats: () => Promise<InboxStats> = async () => inboxStats(), health?: MetricsOptions['health']) {
  const clock = createTestClock()
  const metrics = createMetrics({ inbox: { stats }, clock, ...(health && { health }) })
  return { clock, metrics, samples: async () => Object.fromEntries(parse(await metrics.scrape())) }
}

/** Attempts of a handler with these durations in milliseconds. */
function settled(kind: SettledCount['kind'], durations: readonly number[]): readonly SettledCount[] {
  const counter = new SettledCounter()
  for (const ms of durations)
    counter.add('trades', kind, ms, { kind: 'done', runId: 1, token: 1, startedAt: 0, endedAt: ms })
  return counter.take()
}

/** Samples of an exposition text: `name{labels}` → value. Throws for an invalid line. */
function parse(text: string): Map<string, number> {
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# ')) continue
    const [, series, value] = /^([a-z_:][a-z0-9_:]*(?:\{.*\})?) (\S+)$/i.exec(line) ?? []
    if (series === undefined || samples.has(series)) throw new Error(`not a new sample: ${line}`)
    samples.set(series, Number(value))
  }
  return samples
}

const ofType = (type: string) => ({ kind: 'event', type }) as IncomingDelivery
const quarantinedBody = { kind: 'quarantined' } as IncomingDelivery

test('counts deliveries by type and outcome, from zero, without external text in labels', async () => {
  const { metrics, samples } = setUp()
  const observer = metrics.observerOf('default')
  metrics.observerOf('desk').stored('accepted', ofType('token.price_alert'))
  const series = (type: string, outcome: string, source = 'default') =>
    `inbox_events_total{source="${source}",type="${type}",outcome="${outcome}"}`
  for (const outcome of ['accepted', 'accepted', 'duplicate'] as const)
    observer.stored(outcome, ofType('token.price_alert'))
  for (let i = 0; i < 100; i++) observer.stored('accepted', ofType(`made.up_${i}`))
  observer.stored('conflict', ofType('__proto__'))
  observer.stored('quarantined', quarantinedBody)
  const expected = {
    [series('token.price_alert', 'accepted')]: 2,
    [series('token.price_alert', 'duplicate')]: 1,
    [series('pump.graduation', 'accepted')]: 0,
    [series('unknown', 'accepted')]: 100,
    [series('unknown', 'conflict')]: 1,
    [series('unknown', 'quarantined')]: 1,
    [series('unknown', 'accepted', 'desk')]: 1,
  }
  expect(await samples()).toMatchObject(expected)
  observer.stored('accepted', ofType('token.price_alert'))
  expect(await samples()).toMatchObject({ ...expected, [series('token.price_alert', 'accepted')]: 3 })
  expect(await metrics.scrape()).not.toMatch(/made|proto/)
})

test('counts acknowledgements, rejects, refusals, batches, attempts and replacements', async () => {
  const { metrics, samples } = setUp()
  const observer = metrics.observerOf('default')
  for (const ms of [3, 3_500, 9_000]) observer.acknowledged(ms)
  observer.rejected('mismatch')
  observer.refused('overloaded')
  observer.refused('overloaded')
  observer.committed(1)
  observer.committed(40)
  metrics.attemptsSettled([...settled('done', [200, 200, 200, 200, 200, 250, 250]), ...settled('dead', [20])])
  metrics.attemptsSettled(settled('done', [0.5, 400_000, 99.5]))
  metrics.runnerReplaced()
  expect(await samples()).toMatchObject({
    'inbox_ack_duration_seconds_bucket{source="default",le="0.0025"}': 0,
    'inbox_ack_duration_seconds_bucket{source="default",le="0.005"}': 1,
    'inbox_ack_duration_seconds_bucket{source="default",le="5"}': 2,
    'inbox_ack_duration_seconds_bucket{source="default",le="+Inf"}': 3,
    'inbox_ack_duration_seconds_sum{source="default"}': 12.503,
    'inbox_rejects_total{source="default",reason="mismatch"}': 1,
    'inbox_refusals_total{source="default",code="overloaded"}': 2,
    'inbox_commit_batch_size_bucket{le="64"}': 2,
    inbox_commit_batch_size_sum: 41,
    'inbox_attempts_total{handler="trades",result="done"}': 10,
    'inbox_attempts_total{handler="trades",result="dead"}': 1,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="0.001"}': 1,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="0.5"}': 10,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="+Inf"}': 11,
    'inbox_attempt_duration_seconds_sum{handler="trades"}': 401.62,
    inbox_runner_replacements_total: 1,
  })
})

const row = handlerStats('trades', { paused: true, waiting: 1, ready: 2, suspect: 3, running: 4, dead: 5 })

test('reads the store at each scrape, and drops series of removed handlers and an unreadable store', async () => {
  let read = async () => inboxStats()
  const { metrics, samples, clock } = setUp(() => read())
  const counts = { lastSeq: 12, quarantined: 3, conflicts: 2, missingSeqs: 1, oldestOpenAt: clock.now() - 90_500 }
  read = async () => inboxStats({ ...counts, handlers: [row] })
  expect(await samples()).toMatchObject({
    inbox_store_readable: 1,
    'inbox_runs{handler="trades",state="waiting"}': 1,
    'inbox_runs{handler="trades",state="ready"}': 2,
    'inbox_runs{handler="trades",state="suspect"}': 3,
    'inbox_runs{handler="trades",state="running"}': 4,
    'inbox_dead_letters{handler="trades"}': 5,
    inbox_oldest_open_run_age_seconds: 90.5,
    inbox_quarantined_bodies: 3,
    inbox_conflicts: 2,
    inbox_missing_sequence_numbers: 1,
    inbox_last_accept_sequence: 12,
  })
  read = async () => inboxStats()
  expect(await metrics.scrape()).not.toContain('trades')
  expect(await samples()).toMatchObject({ inbox_oldest_open_run_age_seconds: 0 })
  read = () => Promise.reject(new Error('disk on fire'))
  metrics.observerOf('default').refused('store_unavailable')
  const broken = await samples()
  expect(broken).toMatchObject({
    inbox_store_readable: 0,
    'inbox_refusals_total{source="default",code="store_unavailable"}': 1,
  })
  expect(broken).not.toHaveProperty('inbox_last_accept_sequence')
})

test('has delivery health, without external text and unreadable values', async () => {
  const warning = (code: string, level: Warning['level']) => ({ code, level }) as Warning
  const drift = (kind: DriftRecord['kind'], count: number) => ({ kind, count }) as DriftRecord
  const silence = (type: string, network: string | null, silentMs: number, state: Silence['state'] = 'usual') =>
    ({ type, network, silentMs, state }) as Silence
  let uses = async () => [
    { label: 'main', firstAt: 0, lastAt: 1_767_225_600_500, count: 1 },
    { label: 'gone', firstAt: 0, lastAt: 1, count: 1 },
  ]
  const totals = { acknowledged: 7, late: 1, refused: 2, unusable: 3 }
  const meter = { ...createMeter(createTestClock()), totals: () => totals }
  const { samples } = setUp(undefined, {
    watch: () => ({
      warnings: () => [warning('drift', 'info'), warning('drift', 'info'), warning('ack_slow', 'critical')],
      silences: () => [
        silence('wallet.large_trade', 'base', 2_500),
        silence('pump.graduation', null, 1_000),
        silence('wallet.new_position', 'base', 9e9, 'gone'),
        silence('made.up', 'base', 1),
        silence('wallet.large_trade', 'made-up', 1),
      ],
    }),
    senders: [{ sender: defaultSender, meter }],
    drift: { records: () => [drift('new_field', 4), drift('new_field', 1), drift('wrong_type', 2)] },
    inbox: { secretUses: () => uses() },
    secretLabels: () => ['main', 'next'],
  })
  const ofHealth = async () => {
    const names = /^inbox_(?:deliveries|drift|secret|silence|warning)_/
    return Object.fromEntries(Object.entries(await samples()).filter(([series]) => names.test(series)))
  }
  const expected = {
    'inbox_deliveries_total{source="default",result="acknowledged"}': 7,
    'inbox_deliveries_total{source="default",result="late"}': 1,
    'inbox_deliveries_total{source="default",result="refused"}': 2,
    'inbox_deliveries_total{source="default",result="unusable"}': 3,
    'inbox_drift_total{kind="missing_field"}': 0,
    'inbox_drift_total{kind="new_field"}': 5,
    'inbox_drift_total{kind="out_of_range"}': 0,
    'inbox_drift_total{kind="unknown_type"}': 0,
    'inbox_drift_total{kind="wrong_type"}': 2,
    'inbox_silence_seconds{type="pump.graduation",network=""}': 1,
    'inbox_silence_seconds{type="wallet.large_trade",network="base"}': 2.5,
    'inbox_warning_active{code="ack_slow",level="critical"}': 1,
    'inbox_warning_active{code="drift",level="info"}': 2,
  }
  const used = { 'inbox_secret_last_used_timestamp_seconds{secret="main"}': 1767225600.5 }
  // A second scrape gives the same values.
  for (let scrape = 0; scrape < 2; scrape++) expect(await ofHealth()).toEqual({ ...expected, ...used })
  uses = () => Promise.reject(new Error('gone'))
  expect(await ofHealth()).toEqual(expected)
})
