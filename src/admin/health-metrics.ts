import { Counter, Gauge, type Registry } from 'prom-client'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { driftKinds } from '../health/drift.ts'
import type { HealthWatch } from '../health/watch.ts'
import type { QueryStore } from '../inbox/port.ts'
import type { AdminContext } from './route.ts'

export interface HealthMetricsInputs extends Required<Pick<AdminContext, 'senders' | 'drift' | 'secretLabels'>> {
  readonly watch: () => Pick<HealthWatch, 'warnings' | 'silences'>
  readonly inbox: Pick<QueryStore, 'secretUses'>
}

type Row = readonly [labels: Readonly<Record<string, string>>, value: number]
/** Values with the same labels add up. */
type Rows = () => Iterable<Row> | Promise<Iterable<Row>>

/** Adds metrics whose values are read at each scrape. */
export function addTo(registry: Registry) {
  const add =
    (Metric: typeof Counter | typeof Gauge) =>
    (name: string, help: string, labelNames: readonly string[], rows: Rows): void => {
      const metric = new Metric({
        name,
        help,
        labelNames: [...labelNames],
        registers: [registry],
        async collect() {
          const values = await rows()
          if (labelNames.length > 0) metric.reset()
          else metric.remove()
          for (const [labels, value] of values) metric.inc({ ...labels }, value)
        },
      })
    }
  return { counter: add(Counter), gauge: add(Gauge) }
}

/** Adds metrics about delivery health. Values that can't be read at a scrape are missing from it. */
export function addHealthMetrics(registry: Registry, inputs: HealthMetricsInputs): void {
  const { watch, senders, inbox, drift, secretLabels } = inputs
  const { counter, gauge } = addTo(registry)
  counter(
    'inbox_deliveries_total',
    'Deliveries by result for the sender: acknowledged in its time limit, late, refused with 503, or unusable and answered 422',
    ['source', 'result'],
    () =>
      senders.flatMap(({ sender: { source }, meter }) =>
        Object.entries(meter.totals()).map(([result, count]): Row => [{ source, result }, count]),
      ),
  )
  gauge('inbox_warning_active', 'Active warnings by code', ['code', 'level'], () =>
    watch()
      .warnings()
      .map(({ code, level }) => [{ code, level }, 1]),
  )
  gauge(
    'inbox_silence_seconds',
    'Time in service without an event of the type on the network; types that are gone for good are omitted',
    ['type', 'network'],
    () =>
      watch()
        .silences()
        .filter(({ type, network, state }) => state !== 'gone' && isDocumented(type, network))
        .map(({ type, network, silentMs }) => [{ type, network: network ?? '' }, silentMs / 1_000]),
  )
  counter('inbox_drift_total', 'Differences between events and their documentation since the start', ['kind'], () => [
    ...driftKinds.map((kind): Row => [{ kind }, 0]),
    ...drift.records().map(({ kind, count }): Row => [{ kind }, count]),
  ])
  gauge(
    'inbox_secret_last_used_timestamp_seconds',
    'Receipt time of the newest event that each configured secret verified',
    ['secret'],
    async () => {
      const uses = await inbox.secretUses().catch(() => [])
      const labels = secretLabels()
      const configured = uses.filter(({ label }) => labels.includes(label))
      return configured.map(({ label, lastAt }) => [{ secret: label }, lastAt / 1_000])
    },
  )
}

/** External text never becomes a label: each value would create a series. */
function isDocumented(type: string, network: string | null): boolean {
  return eventTypes.some((known) => known === type) && (network === null || networkIds.some((id) => id === network))
}
