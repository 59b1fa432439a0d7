import { Counter, Gauge, type Registry } from 'prom-client'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { driftKinds, type DriftCounter } from '../health/drift.ts'
import type { HealthWatch } from '../health/watch.ts'
import type { QueryStore } from '../inbox/port.ts'

export interface HealthMetricsSource {
  readonly watch: () => Pick<HealthWatch, 'warnings' | 'silences'>
  /** Deliveries since the start, as the sender sees them. */
  readonly totals: () => Readonly<Record<'acknowledged' | 'late' | 'refused' | 'unusable', number>>
  readonly inbox: Pick<QueryStore, 'secretUses'>
  readonly drift: Pick<DriftCounter, 'records'>
  /** Labels of the secrets that are set. */
  readonly secretLabels: () => readonly string[]
}

/** Adds what is known of the health of the sender's side. What can't be read at a scrape is left out of it. */
export function registerHealthMetrics(registry: Registry, source: HealthMetricsSource): void {
  const registers = [registry]

  const deliveries = new Counter({
    name: 'inbox_deliveries_total',
    help: 'Deliveries as the sender sees them: acknowledged within 5 s, answered too late, refused with 503, or unusable and answered 422',
    labelNames: ['result'],
    registers,
    collect() {
      deliveries.reset()
      for (const [result, count] of Object.entries(source.totals())) deliveries.inc({ result }, count)
    },
  })

  const warnings = new Gauge({
    name: 'inbox_warning_active',
    help: 'How many warnings of a code are on',
    labelNames: ['code', 'level'],
    registers,
    collect() {
      warnings.reset()
      for (const { code, level } of source.watch().warnings()) warnings.inc({ code, level })
    },
  })

  const silence = new Gauge({
    name: 'inbox_silence_seconds',
    help: 'Time in service in which no event of the type came on the network, unless it is taken as over for good',
    labelNames: ['type', 'network'],
    registers,
    collect() {
      silence.reset()
      // Text of outside origin never becomes a label, it would be a series each.
      for (const { type, network, silentMs, state } of source.watch().silences())
        if (state !== 'gone' && isOneOf(eventTypes, type) && (network === null || isOneOf(networkIds, network)))
          silence.set({ type, network: network ?? '' }, silentMs / 1_000)
    },
  })

  const drift = new Counter({
    name: 'inbox_drift_total',
    help: 'Values of events that differ from what is documented; it begins anew with the process',
    labelNames: ['kind'],
    registers,
    collect() {
      drift.reset()
      for (const kind of driftKinds) drift.inc({ kind }, 0)
      for (const { kind, count } of source.drift.records()) drift.inc({ kind }, count)
    },
  })

  const lastUse = new Gauge({
    name: 'inbox_secret_last_used_timestamp_seconds',
    help: 'When the newest event came that the secret verified, for the secrets that are set',
    labelNames: ['secret'],
    registers,
    async collect() {
      const uses = await source.inbox.secretUses().catch(() => [])
      lastUse.reset()
      const labels = source.secretLabels()
      for (const { label, lastAt } of uses) if (labels.includes(label)) lastUse.set({ secret: label }, lastAt / 1_000)
    },
  })
}

function isOneOf(known: readonly string[], value: string): boolean {
  return known.includes(value)
}
