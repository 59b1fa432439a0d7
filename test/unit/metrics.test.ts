import { expect, test } from 'vitest'
import { createMetrics } from '../../src/admin/metrics.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { SettledCounter, type SettledCount } from '../../src/dispatch/runner-protocol.ts'
import type { InboxStats, Arrival } from '../../src/inbox/port.ts'

const empty: InboxStats = {
  paused: false,
  lastSeq: 0,
  quarantined: 0,
  conflicts: 0,
  handlers: [],
  oldestOpenAt: null,
  sizeBytes: 4096,
  missingSeqs: 0,
}

function setUp(stats: () => Promise<InboxStats> = async () => empty) {
  const clock = createTestClock()
  return { clock, metrics: createMetrics({ inbox: { stats }, clock }) }
}

/** Attempts of a handler that took so many milliseconds each. */
function settled(kind: SettledCount['kind'], durations: readonly number[]): SettledCount {
  const counter = new SettledCounter()
  for (const ms of durations) counter.add('trades', kind, ms)
  const [counted] = counter.take()
  if (counted === undefined) throw new Error('expected a count')
  return counted
}

/** The samples of an exposition text: `name{labels}` → value. Fails on a line that is none. */
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

const ofType = (type: string) => ({ kind: 'event', type }) as Arrival
const quarantinedBody = { kind: 'quarantined' } as Arrival

test('deliveries are counted by type and outcome, again and again, and from zero', async () => {
  const { metrics } = setUp()
  metrics.stored('accepted', ofType('token.price_alert'))
  metrics.stored('accepted', ofType('token.price_alert'))
  metrics.stored('duplicate', ofType('token.price_alert'))
  const first = parse(await metrics.scrape())
  expect(first.get('inbox_events_total{type="token.price_alert",outcome="accepted"}')).toBe(2)
  expect(first.get('inbox_events_total{type="token.price_alert",outcome="duplicate"}')).toBe(1)
  expect(first.get('inbox_events_total{type="pump.graduation",outcome="accepted"}')).toBe(0)
  metrics.stored('accepted', ofType('token.price_alert'))
  const second = parse(await metrics.scrape())
  expect(second.get('inbox_events_total{type="token.price_alert",outcome="accepted"}')).toBe(3)
})

test('text of outside origin never becomes a label', async () => {
  const { metrics } = setUp()
  for (let i = 0; i < 100; i++) metrics.stored('accepted', ofType(`made.up_${i}`))
  metrics.stored('conflict', ofType('__proto__'))
  metrics.stored('quarantined', quarantinedBody)
  const text = await metrics.scrape()
  const samples = parse(text)
  expect(samples.get('inbox_events_total{type="unknown",outcome="accepted"}')).toBe(100)
  expect(samples.get('inbox_events_total{type="unknown",outcome="conflict"}')).toBe(1)
  expect(samples.get('inbox_events_total{type="unknown",outcome="quarantined"}')).toBe(1)
  expect(text).not.toMatch(/made|proto/)
})

test('ack latency is a histogram in seconds, with buckets around the budget of 5 s', async () => {
  const { metrics } = setUp()
  metrics.acknowledged(3)
  metrics.acknowledged(3_500)
  metrics.acknowledged(9_000)
  const samples = parse(await metrics.scrape())
  expect(samples.get('inbox_ack_duration_seconds_bucket{le="0.0025"}')).toBe(0)
  expect(samples.get('inbox_ack_duration_seconds_bucket{le="0.005"}')).toBe(1)
  expect(samples.get('inbox_ack_duration_seconds_bucket{le="4"}')).toBe(2)
  expect(samples.get('inbox_ack_duration_seconds_bucket{le="5"}')).toBe(2)
  expect(samples.get('inbox_ack_duration_seconds_bucket{le="+Inf"}')).toBe(3)
  expect(samples.get('inbox_ack_duration_seconds_sum')).toBeCloseTo(12.503)
})

test('rejects, refusals, batches, attempts and replacements are counted', async () => {
  const { metrics } = setUp()
  metrics.rejected('mismatch')
  metrics.refused('overloaded')
  metrics.refused('overloaded')
  metrics.committed(1)
  metrics.committed(40)
  metrics.attemptsSettled([settled('done', [200, 200, 200, 200, 200, 250, 250]), settled('dead', [20])])
  metrics.attemptsSettled([settled('done', [0.5, 400_000, 99.5])])
  metrics.runnerReplaced()
  expect(Object.fromEntries(parse(await metrics.scrape()))).toMatchObject({
    'inbox_rejects_total{reason="mismatch"}': 1,
    'inbox_refusals_total{code="overloaded"}': 2,
    'inbox_commit_batch_size_bucket{le="1"}': 1,
    'inbox_commit_batch_size_bucket{le="64"}': 2,
    inbox_commit_batch_size_sum: 41,
    'inbox_attempts_total{handler="trades",result="done"}': 10,
    'inbox_attempts_total{handler="trades",result="dead"}': 1,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="0.001"}': 1,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="0.05"}': 2,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="0.1"}': 3,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="0.5"}': 10,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="300"}': 10,
    'inbox_attempt_duration_seconds_bucket{handler="trades",le="+Inf"}': 11,
    'inbox_attempt_duration_seconds_count{handler="trades"}': 11,
    'inbox_attempt_duration_seconds_sum{handler="trades"}': 401.62,
    inbox_runner_replacements_total: 1,
  })
})

test('what the store knows is read at each scrape, and a handler that is gone leaves no series behind', async () => {
  let stats: InboxStats = {
    sizeBytes: 4096,
    lastSeq: 12,
    quarantined: 3,
    conflicts: 2,
    missingSeqs: 1,
    paused: false,
    oldestOpenAt: 0,
    handlers: [
      {
        handler: 'trades',
        paused: true,
        superseded: 0,
        backfillSeq: null,
        concurrency: null,
        waiting: 1,
        ready: 2,
        suspect: 3,
        running: 4,
        held: 0,
        dead: 5,
      },
    ],
  }
  const { metrics, clock } = setUp(async () => stats)
  stats = { ...stats, oldestOpenAt: clock.now() - 90_500 }
  const samples = Object.fromEntries(parse(await metrics.scrape()))
  expect(samples).toMatchObject({
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
  stats = empty
  const later = await metrics.scrape()
  expect(later).not.toContain('trades')
  expect(parse(later).get('inbox_oldest_open_run_age_seconds')).toBe(0)
})

test('while the store cannot be read, everything else is still there', async () => {
  let isBroken = false
  const { metrics } = setUp(async () => {
    if (isBroken) throw new Error('disk on fire')
    return { ...empty, lastSeq: 5 }
  })
  expect(parse(await metrics.scrape()).get('inbox_last_accept_sequence')).toBe(5)
  isBroken = true
  metrics.refused('store_unavailable')
  const samples = parse(await metrics.scrape())
  expect(samples.get('inbox_store_readable')).toBe(0)
  expect(samples.has('inbox_last_accept_sequence')).toBe(false)
  expect(samples.get('inbox_refusals_total{code="store_unavailable"}')).toBe(1)
})
