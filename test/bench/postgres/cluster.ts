import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { renderTable } from '../../../src/cli/table.ts'
import { openSchema } from '../../../src/inbox/postgres/migrate.ts'
import { handled, manyKeys, stored, writeHandlers, type Contender } from '../contenders.ts'
import { measureAccepts } from './accepts.ts'
import { measureLimit, type Limit } from './pgbench.ts'
import { measureBurst, type BurstOptions } from './replicas.ts'
import { startBenchPostgres, type BenchPostgres } from './server.ts'

export interface ClusterOptions {
  readonly events: number
  readonly rounds: number
  readonly connections: number
  /** A folder for files. */
  readonly work: string
  readonly say: (text: string) => void
}

/** The results of one round. */
interface Figures {
  readonly perSecond: number
  readonly batch: number
  readonly serverMicros: number
  readonly replicaMicros?: number
  readonly walBytes?: number
  readonly deadRows?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly refused?: number
  /** Result of pgbench right afterwards, inserting in transactions of the same size. */
  readonly limit?: Limit
}

/** The median round, and the speed of all rounds. `ratio` and `ratioInTurn`: median shares of the limits. */
export interface ClusterResult extends Figures {
  readonly name: string
  readonly replicas: number
  readonly rounds: readonly number[]
  readonly ratio?: number | undefined
  readonly ratioInTurn?: number | undefined
}

const replicaCounts = [1, 2, 3]
/** 1,024: many runs wait behind each other. 100,000: none does. */
const backlogKeys = [1_024, 20_000, 100_000]
/** Events per transaction of a replica under full load. */
const portBatch = 100

/** Takes the measurements in turn, round by round. */
export async function benchCluster(options: ClusterOptions): Promise<ClusterResult[]> {
  await using postgres = await startBenchPostgres()
  const measurements = planMeasurements(postgres, options)
  const rounds = measurements.map((): Figures[] => [])
  for (let round = 0; round < options.rounds; round++) {
    for (const [index, { name, replicas, measure }] of measurements.entries()) {
      options.say(`${name}, ${replicas} replicas …`)
      rounds[index]?.push(await measure())
      await postgres.dropBenchDatabases()
    }
  }
  return measurements.map(({ name, replicas }, index) => ({ name, replicas, ...summarize(rounds[index] ?? []) }))
}

function planMeasurements(postgres: BenchPostgres, { events, connections, work }: ClusterOptions) {
  async function withLimit<F extends { readonly batch: number }>(figures: F): Promise<F & { readonly limit: Limit }> {
    const url = await postgres.createBenchDatabase()
    await openSchema(url, 'auto')
    return { ...figures, limit: await measureLimit(url, Math.max(1, Math.round(figures.batch)), work) }
  }
  const burst = (
    { keys, handlers }: Contender,
    replicas: number,
    until: BurstOptions['until'],
    given: Partial<BurstOptions> = {},
  ) => {
    const handlersDir = writeHandlers(join(mkdtempSync(join(work, 'cluster-')), 'handlers'), handlers)
    // As many per replica as for one.
    const all = connections * replicas
    return measureBurst(postgres, { replicas, events, keys, connections: all, handlersDir, until, ...given })
  }
  const each = (name: string, measure: (replicas: number) => Promise<Figures>) =>
    replicaCounts.map((replicas) => ({ name, replicas, measure: () => measure(replicas) }))

  return [
    ...each('accepted, no HTTP', async (replicas) => {
      const accepted = await measureAccepts(postgres, { replicas, events, batch: portBatch })
      return withLimit({ ...accepted, batch: portBatch })
    }),
    ...each('stored', async (replicas) => withLimit(await burst(stored, replicas, 'stored'))),
    ...each('stored and handled, 2,000 keys', (replicas) => burst(handled, replicas, 'handled')),
    {
      name: 'stored and handled, beside an old snapshot',
      replicas: 1,
      measure: () => burst(handled, 1, 'handled', { hasOldSnapshot: true }),
    },
    { name: 'stored and handled, 100,000 keys', replicas: 2, measure: () => burst(manyKeys, 2, 'handled') },
    ...backlogKeys.map((keys) => ({
      name: `worked off, ${keys.toLocaleString('en')} keys waiting`,
      replicas: 2,
      measure: () => burst(handled, 2, 'backlog', { keys, events: Math.max(events, keys) }),
    })),
  ]
}

function summarize(rounds: readonly Figures[]): Omit<ClusterResult, 'name' | 'replicas'> {
  const middle = median(rounds, ({ perSecond }) => perSecond)
  if (middle === undefined) throw new Error('expected at least one round')
  const shareOf = (name: keyof Limit) =>
    median(
      rounds.flatMap(({ perSecond, limit }) => (limit === undefined ? [] : perSecond / limit[name])),
      (value) => value,
    )
  const speeds = rounds.map(({ perSecond }) => perSecond)
  return { ...middle, rounds: speeds, ratio: shareOf('perSecond'), ratioInTurn: shareOf('inTurn') }
}

function median<T>(items: readonly T[], of: (item: T) => number): T | undefined {
  return items.toSorted((a, b) => of(a) - of(b))[Math.floor(items.length / 2)]
}

/** Goals on two cores that PostgreSQL, replicas and load generator share: reported, never enforced. */
const goals = [
  'the limit: pgbench inserts the same rows, in transactions of the same size, by one to four clients, or in turn by one; goal ≥ 0.6 without HTTP',
  'stored and handled, 2,000 keys: goal ≥ 6000 events/s with one replica, and ≥ 0.9 of that with three; ≤ 2500 B of WAL per event',
  'beside an old snapshot: goal ≥ 0.65 of the same without',
  'worked off, 100,000 keys waiting: goal ≥ 8000 events/s',
]

const columns: readonly (readonly [string, (result: ClusterResult) => number | undefined, number])[] = [
  ['of the limit', ({ ratio }) => ratio, 2],
  ['in turn', ({ ratioInTurn }) => ratioInTurn, 2],
  ['batch', ({ batch }) => batch, 0],
  ['server µs/event', ({ serverMicros }) => serverMicros, 0],
  ['replica µs/event', ({ replicaMicros }) => replicaMicros, 0],
  ['WAL B/event', ({ walBytes }) => walBytes, 0],
  ['dead rows/event', ({ deadRows }) => deadRows, 2],
  ['p50 ms', ({ p50Ms }) => p50Ms, 1],
  ['p99 ms', ({ p99Ms }) => p99Ms, 1],
  ['refused', ({ refused }) => refused, 0],
]

export function renderClusterText(results: readonly ClusterResult[]): string {
  const table = renderTable(
    ['', 'replicas', 'events/s', 'rounds', ...columns.map(([name]) => name)],
    results.map((result) => {
      const rounds = result.rounds.map((perSecond) => perSecond.toFixed(0)).join(' ')
      const figures = columns.map(([, valueOf, digits]) => valueOf(result)?.toFixed(digits) ?? '')
      return [result.name, String(result.replicas), result.perSecond.toFixed(0), rounds, ...figures]
    }),
  )
  return [table, ...goals].join('\n')
}
