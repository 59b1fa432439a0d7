import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { eventTypes } from '../../schema/index.ts'
import type { Clock } from '../base/clock.ts'
import { Histogram as Durations } from '../base/histogram.ts'
import type { OpenBreaker } from '../dispatch/circuit-breaker.ts'
import type { HandlerInfo, SettledCount } from '../dispatch/runner-protocol.ts'
import type { AcceptResult, InboxStats, QueryStore } from '../inbox/port.ts'
import type { ReceiverObserver } from '../receiver/receive.ts'
import { registerHealthMetrics, type HealthMetricsSource } from './health-metrics.ts'

export interface MetricsOptions {
  readonly inbox: Pick<QueryStore, 'stats'>
  readonly clock: Clock
  /** The handlers that are loaded at the moment. */
  readonly handlers?: () => readonly Pick<HandlerInfo, 'name' | 'kind'>[]
  /** Which of them are sinks that are left alone, by name. */
  readonly openBreakers?: () => ReadonlyMap<string, OpenBreaker>
  readonly health?: HealthMetricsSource
}

/** What the process counts. The observing calls are made for each request: they do no more than add to a number. */
export interface Metrics extends ReceiverObserver {
  attemptsSettled(counts: readonly SettledCount[]): void
  runnerReplaced(): void
  /** Everything in the text format of Prometheus. While the store cannot be read, without what it alone knows. */
  scrape(): Promise<string>
  readonly contentType: string
}

/** In milliseconds; the sender waits 5 s. */
const ackEdgesMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_000, 3_000, 4_000, 5_000]
const attemptEdgesMs = [1, 5, 10, 50, 100, 500, 1_000, 5_000, 10_000, 30_000, 100_000, 300_000]
const batchBuckets = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]

/** Creates the metrics of one process, with those of Node beside its own. */
export function createMetrics({ inbox, clock, handlers, openBreakers, health }: MetricsOptions): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const acks = new Durations()
  registerDurations(registry, {
    name: 'inbox_ack_duration_seconds',
    help: 'Time from the begin of a delivery to its answer in the 200s, the durable commit included',
    edgesMs: ackEdgesMs,
    rows: () => [[{}, acks]],
  })
  const batchSize = new Histogram({
    name: 'inbox_commit_batch_size',
    help: 'Deliveries in one commit',
    buckets: batchBuckets,
    registers,
  })
  const stored = createEventTally(registry)
  const rejects = tally(registry, 'inbox_rejects_total', 'Requests that were refused for good', ['reason'])
  const refusals = tally(registry, 'inbox_refusals_total', 'Deliveries that were answered 503', ['code'])
  const attempts = tally(registry, 'inbox_attempts_total', 'Attempts of handlers', ['handler', 'result'])
  const attemptDurations = new Map<string, Durations>()
  registerDurations(registry, {
    name: 'inbox_attempt_duration_seconds',
    help: 'Time that attempts of a handler took',
    edgesMs: attemptEdgesMs,
    rows: () => [...attemptDurations].map(([handler, durations]) => [{ handler }, durations]),
  })
  const replacements = tally(registry, 'inbox_runner_replacements_total', 'Handler threads replaced', [])()
  const showStats = createStatsGauges(registry)
  if (health !== undefined) registerHealthMetrics(registry, health)
  const openSinks = new Gauge({
    name: 'inbox_sink_open',
    help: '1 while the breaker of the sink is open: it fails, and its items wait',
    labelNames: ['handler'],
    registers,
    collect() {
      openSinks.reset()
      const states = openBreakers?.()
      for (const { name, kind } of handlers?.() ?? []) {
        if (kind === 'sink') openSinks.set({ handler: name }, states?.get(name)?.reason === 'breaker' ? 1 : 0)
      }
    },
  })

  return {
    acknowledged: (durationMs) => acks.observe(durationMs),
    stored(result, arrival) {
      const type = arrival.kind === 'event' ? arrival.type : 'quarantined'
      ;(stored.get(type) ?? stored.unknown)[result].value += 1
    },
    rejected: (reason) => void (rejects(reason).value += 1),
    refused: (code) => void (refusals(code).value += 1),
    committed: (size) => batchSize.observe(size),
    attemptsSettled(counts) {
      for (const { handler, kind, count, durations } of counts) {
        attempts(handler, kind).value += count
        const ofHandler = attemptDurations.get(handler) ?? new Durations()
        ofHandler.add(durations)
        attemptDurations.set(handler, ofHandler)
      }
    },
    runnerReplaced: () => void (replacements.value += 1),
    async scrape() {
      showStats(await inbox.stats().catch(() => null), clock.now())
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
}

interface DurationsMetric {
  readonly name: string
  readonly help: string
  /** Ends of shown buckets, each of which ends a bucket of the histograms. */
  readonly edgesMs: readonly number[]
  readonly rows: () => readonly (readonly [labels: Record<string, string>, durations: Durations])[]
}

/** Shows histograms as the registry would show its own, which can't add up what another thread counted. */
function registerDurations(registry: Registry, { name, help, edgesMs, rows }: DurationsMetric): void {
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

/** A number that is only added to. */
interface Cell {
  value: number
}

/**
 * A counter as plain numbers, handed to prom-client when it is scraped: its own `inc` hashes the labels on each call. Gives
 * the cell for some label values, always the same one.
 */
function tally(registry: Registry, name: string, help: string, labelNames: readonly string[]) {
  const cells = new Map<string, Cell & { readonly labels: Record<string, string> }>()
  const counter = new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      counter.reset()
      for (const { labels, value } of cells.values()) counter.inc(labels, value)
    },
  })
  return (...values: readonly string[]): Cell => {
    const key = values.length === 1 ? (values[0] ?? '') : values.join('\n')
    const known = cells.get(key)
    if (known) return known
    const labels = Object.fromEntries(labelNames.map((label, index) => [label, values[index] ?? '']))
    const cell = { labels, value: 0 }
    cells.set(key, cell)
    return cell
  }
}

type EventCells = Readonly<Record<AcceptResult, Cell>>

/** One row per documented type; text of outside origin never becomes a label, it would be a series each. */
function createEventTally(registry: Registry) {
  const help = 'Authentic deliveries; those in quarantine have the type unknown, like the types that are not documented'
  const cell = tally(registry, 'inbox_events_total', help, ['type', 'outcome'])
  const quarantined = cell('unknown', 'quarantined')
  const rowOf = (type: string): EventCells => ({
    accepted: cell(type, 'accepted'),
    duplicate: cell(type, 'duplicate'),
    conflict: cell(type, 'conflict'),
    quarantined,
  })
  const rows = new Map<string, EventCells>(eventTypes.map((type) => [type, rowOf(type)]))
  return { get: (type: string) => rows.get(type), unknown: rowOf('unknown') }
}

/** Gauges of what the store knows; `null` leaves them out. */
function createStatsGauges(registry: Registry): (stats: InboxStats | null, now: number) => void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const readable = gauge('inbox_store_readable', '1 if the store answered this scrape, else 0')
  const runs = gauge('inbox_runs', 'Open runs: the depth of the queue', ['handler', 'state'])
  const dead = gauge('inbox_dead_letters', 'Runs that will not be tried again', ['handler'])
  const held = gauge('inbox_held_keys', 'Dead letters that hold up their keys', ['handler'])
  const superseded = gauge('inbox_superseded_runs', 'Runs that gave way to a newer event of their key', ['handler'])
  const pausedHandlers = gauge('inbox_handler_paused', '1 if runs of the handler are not handed out', ['handler'])
  const oldestAge = gauge('inbox_oldest_open_run_age_seconds', 'Time since the event of the oldest open run came')
  const quarantined = gauge('inbox_quarantined_bodies', 'Authentic bodies that are no usable event')
  const conflicts = gauge('inbox_conflicts', 'Deliveries that reused an id with another body')
  const missing = gauge(
    'inbox_missing_sequence_numbers',
    'Accepted events that were missing at a start, until that is acknowledged',
  )
  const storedBytes = gauge('inbox_store_bytes', 'How much is stored, without the space that is free in the file')
  const lastSeq = gauge('inbox_last_accept_sequence', 'The highest accept sequence number')

  return (stats, now) => {
    for (const perHandler of [runs, dead, held, superseded, pausedHandlers]) perHandler.reset()
    for (const single of [oldestAge, quarantined, conflicts, missing, storedBytes, lastSeq]) single.remove()
    readable.set(stats === null ? 0 : 1)
    if (stats === null) return
    for (const row of stats.handlers) {
      const { handler, paused } = row
      for (const state of ['waiting', 'ready', 'suspect', 'running'] as const) runs.set({ handler, state }, row[state])
      dead.set({ handler }, row.dead + row.held)
      held.set({ handler }, row.held)
      superseded.set({ handler }, row.superseded)
      pausedHandlers.set({ handler }, stats.paused || paused ? 1 : 0)
    }
    oldestAge.set(stats.oldestOpenAt === null ? 0 : Math.max(0, now - stats.oldestOpenAt) / 1000)
    quarantined.set(stats.quarantined)
    conflicts.set(stats.conflicts)
    missing.set(stats.missingSeqs)
    if (stats.sizeBytes !== null) storedBytes.set(stats.sizeBytes)
    lastSeq.set(stats.lastSeq)
  }
}
