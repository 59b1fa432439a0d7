import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as contenders from './contenders.ts'
import { fillStore } from './fill.ts'
import { benchCluster, renderClusterText } from './postgres/cluster.ts'
import { race, ratioOf, type Measured, type Runner } from './race.ts'
import { renderJson, renderText, type Goal } from './report.ts'
import { startCeiling, startProduct } from './server-process.ts'
import { measureReplay, measureStart, type Replayed } from './work-off.ts'

/**
 * `npm run bench`: how much of an Express app that stores nothing is left when every event is stored before it is
 * acknowledged, and when it is handled, too; what order, state and outbox cost of that. All in one run on one machine, so
 * that only ratios count.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    events: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    /** Only these take part, beside the ceiling. */
    only: { type: 'string', multiple: true },
    /** Also compares with a store that holds so many events. */
    stored: { type: 'string' },
    /** Also starts on so many runs that wait. */
    backlog: { type: 'string' },
    /** Also replays so many events. */
    replay: { type: 'string' },
    /** Instead of all that: one to three replicas on PostgreSQL. */
    postgres: { type: 'boolean', default: false },
    'random-ids': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const usage = `npm run bench -- [--events 100000] [--rounds 3] [--connections 64] [--random-ids] [--json]
                 [--only handled]      only this one beside the ceiling; may be said again
                 [--stored 10000000]   also: the same on a store that holds so many events
                 [--backlog 1000000]   also: how it starts on so many waiting runs, and works them off
                 [--replay 1000000]    also: how it replays so many events, and in how much memory
                 [--postgres]          instead: one to three replicas on PostgreSQL, against pgbench, which has to be installed`

const { handled, manyKeys, outbox, state, stateAndOutbox, stored, unordered, watched } = contenders
const work = mkdtempSync(join(tmpdir(), 'inbox-bench-'))
const ceilingName = 'ceiling: nothing stored'
const onTopName = `stored, on top of ${values.stored} events`

function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`)
}

/** Adds each to `runners` once it runs. */
async function startAll(runners: Runner[]): Promise<void> {
  runners.push({ name: ceilingName, server: await startCeiling(), keys: stored.keys })
  const products = [stored, handled, watched, unordered, manyKeys, state, outbox, stateAndOutbox]
  for (const [index, { name, handlers, wholeWay, keys, isWatched }] of products.entries()) {
    if (values.only !== undefined && !values.only.includes(name)) continue
    const handlersDir = contenders.writeHandlers(join(work, `handlers-${index}`), handlers)
    const server = await startProduct({ databaseUrl: `sqlite:${join(work, `${index}.db`)}`, handlersDir })
    const openRuns = () => server.openRuns()
    const visit = () => server.visit()
    runners.push({ name, server, keys, ...(wholeWay && { openRuns }), ...(isWatched && { visit }) })
  }
  if (values.stored !== undefined) {
    const file = join(work, 'large.db')
    say(`filling a store with ${values.stored} events …`)
    await fillStore(file, Number(values.stored), { runs: 'done' })
    const server = await startProduct({
      databaseUrl: `sqlite:${file}`,
      handlersDir: contenders.writeHandlers(join(work, 'none'), {}),
    })
    runners.push({ name: onTopName, server, keys: stored.keys })
  }
}

function findGoals(results: readonly Measured[], replay: Replayed | undefined): Goal[] {
  const goals: Goal[] = []
  const compare = (name: string, against: string, atLeast: number) => {
    const [one, other] = [name, against].map((wanted) => results.find((result) => result.name === wanted))
    if (one !== undefined && other !== undefined) goals.push({ name, against, ratio: ratioOf(one, other), atLeast })
  }
  for (const { name } of [state, outbox, stateAndOutbox]) compare(name, handled.name, 0.75)
  for (const { name } of [handled, manyKeys]) compare(name, unordered.name, 0.8)
  compare(watched.name, handled.name, 0.95)
  compare(onTopName, stored.name, 0.8)
  if (replay !== undefined) {
    const ratio = replay.peakMemoryMb / replay.tenthMemoryMb
    goals.push({ name: 'memory at the end of a replay', against: 'that after a tenth', ratio, atMost: 1.2 })
  }
  return goals
}

async function main(): Promise<void> {
  const runners: Runner[] = []
  let results: Measured[]
  try {
    await startAll(runners)
    const options = { events: Number(values.events), rounds: Number(values.rounds) }
    const randomIds = values['random-ids']
    results = await race(runners, { ...options, connections: Number(values.connections), randomIds })
  } finally {
    for (const { server } of runners) await server.stop()
  }
  const [ceiling] = results
  if (ceiling === undefined) throw new Error('nothing was measured')
  say('waiting runs, replay …')
  const start = values.backlog === undefined ? undefined : await measureStart(work, Number(values.backlog))
  const replay = values.replay === undefined ? undefined : await measureReplay(work, Number(values.replay))
  const goals = findGoals(results, replay)
  const report = { events: Number(values.events), ceiling, results, goals, start, replay }
  process.stdout.write(`${values.json ? renderJson(report) : renderText(report)}\n`)
}

async function mainOfCluster(): Promise<void> {
  const [events, rounds, connections] = [values.events, values.rounds, values.connections].map(Number) as [
    number,
    number,
    number,
  ]
  const results = await benchCluster({ events, rounds, connections, work, say })
  process.stdout.write(`${values.json ? JSON.stringify({ events, results }) : renderClusterText(results)}\n`)
}

if (values.help) process.stdout.write(`${usage}\n`)
else {
  try {
    await (values.postgres ? mainOfCluster() : main())
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
