import { collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import { eventTypes } from '../../schema/index.ts'
import type { Clock } from '../base/clock.ts'
import { Histogram as Durations } from '../base/histogram.ts'
import type { SettledCount } from '../dispatch/pace.ts'
import { defaultSource, type AcceptResult, type HandlerStats, type InboxStats, type QueryStore } from '../inbox/port.ts'
import type { ReceiverObserver } from '../receiver/receive.ts'
import { addHealthMetrics, addTo, type HealthMetricsInputs } from './health-metrics.ts'
import type { AdminContext } from './route.ts'

export interface MetricsOptions extends Pick<AdminContext, 'handlers' | 'openBreakers'> {
  readonly inbox: Pick<QueryStore, 'stats'>
  readonly clock: Clock
  readonly health?: HealthMetricsInputs
}

export type Metrics = ReturnType<typeof createMetrics>

/** Upper bounds of histogram buckets, in milliseconds. The default sender waits 5 s for an acknowledgement. */
const ackEdgesMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_000, 3_000, 4_000, 5_000]
const attemptEdgesMs = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 100_000, 300_000]
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** Creates the metrics of one process, including Node's own. */
export function createMetrics({ inbox, clock, handlers, openBreakers, health }: MetricsOptions) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })

  const acksBySource = new Map<string, Durations>()
  addDurations(registry, {
    name: 'inbox_ack_duration_seconds',
    help: 'Time from the start of a delivery to its 2xx response, durable commit included',
    edgesMs: ackEdgesMs,
    rows: () => [...acksBySource].map(([source, acks]) => [{ source }, acks]),
  })
  const batchSize = new Histogram({
    name: 'inbox_commit_batch_size',
    help: 'Deliveries in one commit',
    buckets: batchBuckets,
    registers: [registry],
  })
  const tallyOf = createEventTallies(registry)
  const rejects = addTally(registry, 'inbox_rejects_total', 'Requests rejected for good', ['source', 'reason'])
  const refusals = addTally(registry, 'inbox_refusals_total', 'Deliveries answered with 503', ['source', 'code'])
  const attempts = addTally(registry, 'inbox_attempts_total', 'Attempts of handlers', ['handler', 'result'])
  const attemptDurations = new Map<string, Durations>()
  addDurations(registry, {
    name: 'inbox_attempt_duration_seconds',
    help: 'Duration of attempts',
    edgesMs: attemptEdgesMs,
    rows: () => [...attemptDurations].map(([handler, durations]) => [{ handler }, durations]),
  })
  const replacements = addTally(registry, 'inbox_runner_replacements_total', 'Handler threads replaced', [])()
  let stats: InboxStats | null = null
  addStatsGauges(registry, () => stats, clock)
  if (health !== undefined) addHealthMetrics(registry, health)
  addTo(registry).gauge(
    'inbox_sink_open',
    '1 while the breaker of the sink is open: its items wait',
    ['handler'],
    () => {
      const sinks = (handlers?.() ?? []).filter(({ kind }) => kind === 'sink')
      const states = openBreakers?.()
      return sinks.map(({ name }) => [{ handler: name }, states?.get(name)?.reason === 'breaker' ? 1 : 0])
    },
  )

  return {
    /** Returns the observer of a source. Its calls are made for each request and only add to numbers. */
    observerOf(source: string): Omit<ReceiverObserver, 'signed'> {
      const acks = new Durations()
      acksBySource.set(source, acks)
      const tally = tallyOf(source)
      return {
        acknowledged: (durationMs) => acks.observe(durationMs),
        stored(result, delivery) {
          const type = delivery.kind === 'event' ? delivery.type : 'quarantined'
          ;(tally.get(type) ?? tally.unknown)[result].value += 1
        },
        rejected: (reason) => void (rejects(source, reason).value += 1),
        refused: (code) => void (refusals(source, code).value += 1),
        committed: (size) => batchSize.observe(size),
      }
    },
    attemptsSettled(counts: readonly SettledCount[]): void {
      for (const { handler, kind, count, durations } of counts) {
        attempts(handler, kind).value += count
        const ofHandler = attemptDurations.get(handler) ?? new Durations()
        ofHandler.add(durations)
        attemptDurations.set(handler, ofHandler)
      }
    },
    runnerReplaced: () => void (replacements.value += 1),
    /** All metrics in the Prometheus text format. Metrics of the store are missing while it can't be read. */
    async scrape(): Promise<string> {
      stats = await inbox.stats().catch(() => null)
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

interface DurationsMetric {
  readonly name: string
  readonly help: string
  /** Upper bounds of the shown buckets. Each must be an upper bound of the histograms' buckets. */
  readonly edgesMs: readonly number[]
  readonly rows: () => readonly (readonly [labels: Record<string, string>, durations: Durations])[]
}

/** Adds histograms that other threads counted, which the registry's own can't add up. */
function addDurations(registry: Registry, { name, help, edgesMs, rows }: DurationsMetric): void {
  const valuesOf = ([labels, durations]: ReturnType<DurationsMetric['rows']>[number]) => [
    ...[...edgesMs, Infinity].map((edge) => ({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: edge === Infinity ? '+Inf' : edge / 1_000 },
      value: durations.countUpTo(edge),
    })),
    { metricName: `${name}_sum`, labels, value: durations.totalMs / 1_000 },
    { metricName: `${name}_count`, labels, value: durations.countUpTo(Infinity) },
  ]
  const metric = {
    name,
    help,
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: rows().flatMap(valuesOf) }),
  }
  registry.registerMetric(metric as unknown as Histogram)
}

/** A number that only grows. */
interface Cell {
  value: number
}

/**
 * Adds a counter of plain numbers: prom-client's own `inc` hashes the labels on each call. Returns the cell for label
 * values, always the same one.
 */
function addTally(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
  const cells = new Map<string, Cell & { readonly labels: Record<string, string> }>()
  addTo(registry).counter(name, help, labelNames, () => cells.values().map(({ labels, value }) => [labels, value]))
  return (...values: readonly string[]): Cell => {
    const key = values.join('\n')
    const known = cells.get(key)
    if (known) return known
    const labels = Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? '']))
    const cell = { labels, value: 0 }
    cells.set(key, cell)
    return cell
  }
}

type EventCells = Readonly<Record<AcceptResult, Cell>>

/**
 * One row per documented type of the default source, and one for all types of another source. External text never
 * becomes a label: each value would create a series.
 */
function createEventTallies(registry: Registry) {
  const help = 'Authentic deliveries; quarantined ones, undocumented types and other sources have the type unknown'
  const cell = addTally(registry, 'inbox_events_total', help, ['source', 'type', 'outcome'])
  return (source: string) => {
    const quarantined = cell(source, 'unknown', 'quarantined')
    const rowOf = (type: string): EventCells => ({
      accepted: cell(source, type, 'accepted'),
      duplicate: cell(source, type, 'duplicate'),
      conflict: cell(source, type, 'conflict'),
      quarantined,
    })
    const types = source === defaultSource ? eventTypes : []
    const rows = new Map<string, EventCells>(types.map((type) => [type, rowOf(type)]))
    return { get: (type: string) => rows.get(type), unknown: rowOf('unknown') }
  }
}

/** Adds gauges of the store; they are missing while `read` returns null. */
function addStatsGauges(registry: Registry, read: () => InboxStats | null, clock: Pick<Clock, 'now'>): void {
  const { gauge } = addTo(registry)
  const single = (name: string, help: string, valueOf: (stats: InboxStats) => number | null) =>
    gauge(name, help, [], () => {
      const stats = read()
      const value = stats && valueOf(stats)
      return value === null ? [] : [[{}, value]]
    })
  const perHandler = (name: string, help: string, valueOf: (row: HandlerStats) => number) =>
    gauge(name, help, ['handler'], () =>
      (read()?.handlers ?? []).map((row) => [{ handler: row.handler }, valueOf(row)]),
    )
  gauge('inbox_store_readable', '1 if the store answered this scrape, else 0', [], () => [
    [{}, read() === null ? 0 : 1],
  ])
  const states = ['waiting', 'ready', 'suspect', 'running'] as const
  gauge('inbox_runs', 'Open runs: the depth of the queue', ['handler', 'state'], () =>
    (read()?.handlers ?? []).flatMap((row) =>
      states.map((state) => [{ handler: row.handler, state }, row[state]] as const),
    ),
  )
  perHandler('inbox_dead_letters', 'Runs that failed for good', ({ dead, held }) => dead + held)
  perHandler('inbox_held_keys', 'Dead letters that block their keys', ({ held }) => held)
  perHandler('inbox_superseded_runs', 'Runs superseded by a newer event of their key', (row) => row.superseded)
  perHandler('inbox_handler_paused', '1 if the handler is paused', (row) => Number(row.paused || read()?.paused))
  single('inbox_oldest_open_run_age_seconds', 'Age of the oldest open run', ({ oldestOpenAt }) =>
    oldestOpenAt === null ? 0 : Math.max(0, clock.now() - oldestOpenAt) / 1000,
  )
  single('inbox_quarantined_bodies', 'Authentic bodies that are not usable events', (stats) => stats.quarantined)
  single('inbox_conflicts', 'Deliveries of a known id with another body', (stats) => stats.conflicts)
  const missing = 'Accepted events that were missing at a start and are not acknowledged'
  single('inbox_missing_sequence_numbers', missing, (stats) => stats.missingSeqs)
  single('inbox_store_bytes', 'Size of the stored data, without free space in the file', (stats) => stats.sizeBytes)
  single('inbox_last_accept_sequence', 'Highest accept sequence number', (stats) => stats.lastSeq)
}
