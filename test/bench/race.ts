import { setTimeout as wait } from 'node:timers/promises'
import { runLoad, benchSecret, type ProductProcess, type ServerProcess } from './server-process.ts'

/** A running server and its load. */
export interface Runner {
  readonly name: string
  readonly server: ServerProcess
  readonly keys: number
  /** Counts the runs that have not ended; absent if the measurement ends at the last response. */
  readonly openRuns?: ProductProcess['openRuns']
  /** Opens a console during the load. */
  readonly visit?: ProductProcess['visit']
}

export interface RaceOptions {
  readonly events: number
  readonly rounds: number
  readonly connections: number
}

interface Round {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly cpuMicros: number
  /** Microseconds of processor time per event, by thread. */
  readonly threadMicros: Readonly<Record<string, number>>
  readonly refused: number
}

/** The median round, and the events per second of all rounds. */
export interface Measured extends Round {
  readonly name: string
  readonly peakMemoryMb: number
  readonly rounds: readonly number[]
}

const warmUpEvents = 20_000
let bursts = 0

/**
 * Measures all runners in turn, round by round, every other round in reverse order: other load on the machine affects all
 * of them alike. A short first round warms up and isn't counted.
 */
export async function race(runners: readonly Runner[], options: RaceOptions): Promise<Measured[]> {
  const rounds = runners.map(() => [] as Round[])
  for (const runner of runners) await run(runner, { ...options, events: Math.min(options.events, warmUpEvents) })
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? [...runners.keys()] : [...runners.keys()].toReversed()
    for (const index of order) {
      const runner = runners[index]
      if (runner !== undefined) rounds[index]?.push(await run(runner, options))
    }
  }
  return runners.map(({ name, server }, index) => {
    const own = rounds[index] ?? []
    const middle = own.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(own.length / 2)]
    if (middle === undefined) throw new Error('--rounds must be at least 1')
    return { name, ...middle, peakMemoryMb: server.peakMemoryMb(), rounds: own.map(({ perSecond }) => perSecond) }
  })
}

/** Median over the rounds of one runner's speed divided by the other's in the same round. */
export function ratioOf(measured: Measured, other: Measured): number {
  const ratios = measured.rounds.map((perSecond, round) => perSecond / (other.rounds[round] ?? NaN))
  return ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / 2)] ?? NaN
}

async function run({ name, server, keys, openRuns, visit }: Runner, options: RaceOptions): Promise<Round> {
  if (process.stderr.isTTY) process.stderr.write(`${name} …\n`)
  const { events, connections } = options
  const visitor = visit?.()
  const cpuBefore = server.cpuSeconds()
  const threadsBefore = server.cpuByThread()
  const load = await runLoad({
    ports: [server.port],
    path: '/webhooks',
    secret: benchSecret,
    connections,
    events,
    idPrefix: `${process.pid}-${++bursts}-`,
    keys,
  })
  const ackedAt = performance.now()
  // With pauses, because asking the inbox takes its processor time.
  while (openRuns !== undefined && (await openRuns()) > 0) await wait(5)
  const seconds = load.seconds + (openRuns === undefined ? 0 : (performance.now() - ackedAt) / 1_000)
  await visitor?.leave()
  const cpuMicros = ((server.cpuSeconds() - cpuBefore) * 1e6) / events
  const threads = Array.from(server.cpuByThread(), ([thread, total]) => [
    thread,
    ((total - (threadsBefore.get(thread) ?? 0)) * 1e6) / events,
  ])
  const { p50Ms, p99Ms, maxMs, refused } = load
  const threadMicros = Object.fromEntries(threads) as Record<string, number>
  return { perSecond: events / seconds, p50Ms, p99Ms, maxMs, cpuMicros, threadMicros, refused }
}
