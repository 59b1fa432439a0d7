import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as contenders from './contenders.ts'
import { fillStore } from './fill.ts'
import { benchCluster, renderClusterText } from './postgres/cluster.ts'
import { measurePeers, renderPeers } from './peers.ts'
import { measureRest, renderRest } from './memory.ts'
import { race, ratioOf, type Measured, type Runner } from './race.ts'
import { renderJson, renderText, type Goal } from './report.ts'
import { measureSchemes } from './schemes.ts'
import { measureSending, renderSending } from './sending.ts'
import { startCeiling, startProduct } from './server-process.ts'
import { measureStart } from './work-off.ts'

/**
 * `npm run bench` compares the product with an Express app that stores nothing (the ceiling). It measures several
 * configurations of the product: events only stored, also handled, with ordering, state and outbox. They run in turn on
 * one machine, so that ratios can be compared.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    events: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    /** Measures only these configurations, and the ceiling. */
    only: { type: 'string', multiple: true },
    /** Also measures on a store of this many events. */
    stored: { type: 'string' },
    /** Also measures how long a start with this many pending runs takes. */
    backlog: { type: 'string' },
    /** Measures one to three replicas on PostgreSQL, instead of SQLite. */
    postgres: { type: 'boolean', default: false },
    /** Measures how many deliveries per second the emulator sends. */
    emulator: { type: 'boolean', default: false },
    /** Measures alternatives. */
    peers: { type: 'boolean', default: false },
    /** Measures the memory of `serve` at rest after this many seconds. */
    rest: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const usage = `npm run bench -- [--events 100000] [--rounds 3] [--connections 64] [--json]
                 [--only NAME]         measure only this configuration and the ceiling; repeatable
                 [--stored 10000000]   also measure on a store of this many events
                 [--backlog 1000000]   also measure a start with this many pending runs
                 [--postgres]          measure one to three replicas on PostgreSQL instead; needs pgbench
                 [--peers]             measure alternatives instead: SQLite, pg-boss, Graphile Worker, BullMQ
                 [--emulator]          measure how many deliveries the emulator sends instead
                 [--rest 240]          measure start and memory without deliveries, after this many seconds, instead`

const { handled, manyKeys, outbox, state, stateAndOutbox, stored, unordered, watched } = contenders
const work = mkdtempSync(join(tmpdir(), 'inbox-bench-'))
const ceilingName = 'ceiling: nothing stored'
const fullStoreName = `stored, on top of ${values.stored} events`

/** Shows progress on a terminal. */
function report(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`)
}

/** Starts all servers. Adds each one to `runners` as soon as it listens, so that a failure can stop them. */
async function startAll(runners: Runner[]): Promise<void> {
  runners.push({ name: ceilingName, server: await startCeiling(), keys: stored.keys })
  const products = [stored, handled, watched, unordered, manyKeys, state, outbox, stateAndOutbox]
  for (const [index, { name, handlers, isUntilDone, keys, isWatched }] of products.entries()) {
    if (values.only !== undefined && !values.only.includes(name)) continue
    const handlersDir = contenders.writeHandlers(join(work, `handlers-${index}`), handlers)
    const server = await startProduct({ databaseUrl: `sqlite:${join(work, `${index}.db`)}`, handlersDir })
    const openRuns = () => server.openRuns()
    const visit = () => server.visit()
    runners.push({ name, server, keys, ...(isUntilDone && { openRuns }), ...(isWatched && { visit }) })
  }
  if (values.stored !== undefined) {
    const file = join(work, 'large.db')
    report(`filling a store with ${values.stored} events …`)
    await fillStore(file, Number(values.stored), { runs: 'done' })
    const server = await startProduct({
      databaseUrl: `sqlite:${file}`,
      handlersDir: contenders.writeHandlers(join(work, 'none'), {}),
    })
    runners.push({ name: fullStoreName, server, keys: stored.keys })
  }
}

/** Ratios with a required minimum. Measurements that didn't run are left out. */
function findGoals(results: readonly Measured[]): Goal[] {
  const goals: Goal[] = []
  const compare = (name: string, against: string, atLeast: number) => {
    const [one, other] = [name, against].map((wanted) => results.find((result) => result.name === wanted))
    if (one !== undefined && other !== undefined) goals.push({ name, against, ratio: ratioOf(one, other), atLeast })
  }
  compare(stored.name, ceilingName, 1)
  compare(handled.name, ceilingName, 0.8)
  for (const { name } of [state, outbox, stateAndOutbox]) compare(name, handled.name, 0.75)
  for (const { name } of [handled, manyKeys]) compare(name, unordered.name, 0.8)
  compare(watched.name, handled.name, 0.95)
  compare(fullStoreName, stored.name, 0.9)
  return goals
}

async function main(): Promise<void> {
  const runners: Runner[] = []
  let results: Measured[]
  try {
    await startAll(runners)
    results = await race(runners, size)
  } finally {
    for (const { server } of runners) await server.stop()
  }
  const [ceiling] = results
  if (ceiling === undefined) throw new Error('nothing was measured')
  report('measuring pending runs …')
  const start = values.backlog === undefined ? undefined : await measureStart(work, Number(values.backlog))
  const goals = findGoals(results)
  const schemes = await measureSchemes()
  const all = { events: size.events, ceiling, results, goals, start, schemes }
  process.stdout.write(`${values.json ? renderJson(all) : renderText(all)}\n`)
}

const size = {
  events: Number(values.events),
  rounds: Number(values.rounds),
  connections: Number(values.connections),
}

/** Prints results as a table, or as JSON. */
function print<T>(results: T, render: (results: T) => string): void {
  process.stdout.write(`${values.json ? JSON.stringify(results) : render(results)}\n`)
}

async function run(): Promise<void> {
  if (values.rest !== undefined) return print(await measureRest(work, Number(values.rest)), renderRest)
  if (values.emulator)
    return print([await measureSending(size.events, 10), await measureSending(size.events, 50)], renderSending)
  if (values.peers) return print(await measurePeers(work, size, report), renderPeers)
  if (!values.postgres) return main()
  const results = await benchCluster({ ...size, work, say: report })
  print({ events: size.events, results }, () => renderClusterText(results))
}

if (values.help) process.stdout.write(`${usage}\n`)
else {
  try {
    await run()
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
