import { join } from 'node:path'
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

/** What was measured in one round; what it does not have, the measurement does not know. */
export interface Figures {
  readonly perSecond: number
  readonly batch: number
  readonly serverMicros?: number
  readonly replicaMicros?: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly refused?: number
  /** What pgbench inserted at the same time, in transactions as large. */
  readonly limit?: Limit
}

/** The median round of one measurement, and the speed and share of the limit of all of them. */
export interface ClusterResult extends Figures {
  readonly name: string
  readonly replicas: number
  readonly rounds: readonly number[]
  /** The medians of the rounds' shares of their limits. */
  readonly ratio?: number
  readonly ratioInTurn?: number
}

const replicaCounts = [1, 2, 3]
const limitSeconds = 3
/** The first: as if the keys of the last had been put into so many lanes, in which one waits for the other. */
const backlogKeys = [1_024, 20_000, 100_000]
/** Transactions as large as those of a replica that is under load from all sides. */
const portBatch = 100

/** Each measurement in turn, round by round. The limit is measured right after what it is compared with. */
export async function benchCluster(options: ClusterOptions): Promise<ClusterResult[]> {
  await using postgres = await startBenchPostgres()
  const measurements = planMeasurements(postgres, options)
  const rounds = measurements.map(() => [] as Figures[])
  for (let round = 0; round < options.rounds; round++) {
    for (const [index, { name, replicas, measure }] of measurements.entries()) {
      options.say(`${name}, ${replicas} replicas …`)
      rounds[index]?.push(await measure())
    }
  }
  return measurements.map(({ name, replicas }, index) => ({ name, replicas, ...summarize(rounds[index] ?? []) }))
}

interface Measurement {
  readonly name: string
  readonly replicas: number
  readonly measure: () => Promise<Figures>
}

function planMeasurements(postgres: BenchPostgres, { events, connections, work }: ClusterOptions): Measurement[] {
  let limits = 0
  const limit = async (batch: number, withRuns: boolean) => {
    const url = await postgres.createDatabase(`limit_${++limits}`)
    await openSchema(url, 'auto')
    return measureLimit({ url, batch: Math.max(1, Math.round(batch)), withRuns, seconds: limitSeconds, work })
  }
  const folders = new Map<Contender, string>()
  const folderOf = (contender: Contender) => {
    const known = folders.get(contender)
    if (known !== undefined) return known
    const folder = writeHandlers(join(work, `cluster-${folders.size}`), contender.handlers)
    folders.set(contender, folder)
    return folder
  }
  const burst = (
    contender: Contender,
    replicas: number,
    until: BurstOptions['until'],
    given: Partial<BurstOptions> = {},
  ) => {
    const { keys } = contender
    const handlersDir = folderOf(contender)
    return measureBurst(postgres, { replicas, events, keys, connections, handlersDir, until, ...given })
  }

  return [
    ...replicaCounts.map((replicas) => ({
      name: 'accepted, no HTTP',
      replicas,
      measure: async () => {
        const accepted = await measureAccepts(postgres, { replicas, events, batch: portBatch })
        return { ...accepted, batch: portBatch, limit: await limit(portBatch, false) }
      },
    })),
    ...replicaCounts.map((replicas) => ({
      name: 'stored',
      replicas,
      measure: async () => {
        const measured = await burst(stored, replicas, 'stored')
        return { ...measured, limit: await limit(measured.batch, false) }
      },
    })),
    ...replicaCounts.map((replicas) => ({
      name: 'stored and handled, 2,000 keys',
      replicas,
      measure: () => burst(handled, replicas, 'handled'),
    })),
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
  const share = (of: (limit: Limit) => number) =>
    median(
      rounds.flatMap(({ perSecond, limit }) => (limit === undefined ? [] : perSecond / of(limit))),
      (value) => value,
    )
  const [ratio, ratioInTurn] = [share(({ perSecond }) => perSecond), share(({ inTurn }) => inTurn)]
  return {
    ...middle,
    rounds: rounds.map(({ perSecond }) => perSecond),
    ...(ratio !== undefined && ratioInTurn !== undefined && { ratio, ratioInTurn }),
  }
}

function median<T>(items: readonly T[], of: (item: T) => number): T | undefined {
  return items.toSorted((a, b) => of(a) - of(b))[Math.floor(items.length / 2)]
}
