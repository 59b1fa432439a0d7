import { renderTable } from '../../../src/cli/output.ts'
import type { ClusterResult } from './cluster.ts'

/** Wished for, on two cores that PostgreSQL, replicas and load generator share: told, never enforced. */
const leastOfLimit = 0.6
const leastHandled = 8_000

export function renderClusterText(results: readonly ClusterResult[]): string {
  const digits = (value: number | undefined, count: number) => value?.toFixed(count) ?? ''
  const table = renderTable(
    [
      '',
      'replicas',
      'events/s',
      'rounds',
      'of the limit',
      'in turn',
      'batch',
      'server µs/event',
      'replica µs/event',
      'p50 ms',
      'p99 ms',
      'refused',
    ],
    results.map((result) => [
      result.name,
      String(result.replicas),
      digits(result.perSecond, 0),
      result.rounds.map((perSecond) => perSecond.toFixed(0)).join(' '),
      digits(result.ratio, 2),
      digits(result.ratioInTurn, 2),
      digits(result.batch, 0),
      digits(result.serverMicros, 0),
      digits(result.replicaMicros, 0),
      digits(result.p50Ms, 1),
      digits(result.p99Ms, 1),
      digits(result.refused, 0),
    ]),
  )
  const goals = [
    `the limit: what pgbench inserts of the same rows, in transactions as large, by one to four clients, or in turn by one; goal ≥ ${leastOfLimit} where there is no HTTP`,
    `stored and handled: goal ≥ ${leastHandled} events/s`,
  ]
  return [table, ...goals].join('\n')
}
