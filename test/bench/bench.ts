import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { renderTable } from '../../src/cli/output.ts'
import { fillStore } from './fill.ts'
import { benchSecret, runLoad, startCeiling, startProduct, type ServerProcess } from './server-process.ts'

/**
 * `npm run bench`: how much of an Express app that stores nothing is left when every event is stored before it is
 * acknowledged, and when it is handled, too. All in one run on one machine, so that only ratios count.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    events: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    /** Also compares with a store that holds so many events. */
    stored: { type: 'string' },
    /** Also starts on so many runs that wait. */
    backlog: { type: 'string' },
    'random-ids': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

const usage = `npm run bench -- [--events 100000] [--rounds 3] [--connections 64] [--random-ids] [--json]
                 [--stored 10000000]   also: the same on a store that holds so many events
                 [--backlog 1000000]   also: how it starts on so many waiting runs, and works them off`

interface Measured {
  readonly name: string
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly cpuMicros: number
  readonly peakMemoryMb: number
  readonly refused: number
}

const events = Number(values.events)
const work = mkdtempSync(join(tmpdir(), 'inbox-bench-'))
let bursts = 0

function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`)
}

async function burst(server: ServerProcess, count: number) {
  return runLoad({
    port: server.port,
    path: '/webhooks',
    secret: benchSecret,
    connections: Number(values.connections),
    events: count,
    idPrefix: `${process.pid}-${++bursts}-`,
    randomIds: values['random-ids'],
  })
}

/** Median round of a server, after a round to warm up. `wholeWay`: the clock stops when every event is handled. */
async function measure(name: string, server: ServerProcess, wholeWay: boolean): Promise<Measured> {
  say(`${name} …`)
  await burst(server, Math.min(events, 20_000))
  const rounds: Measured[] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const cpuBefore = server.cpuSeconds()
    const load = await burst(server, events)
    const ackedAt = performance.now()
    if (wholeWay) while ((await server.openRuns()) > 0);
    const seconds = load.seconds + (wholeWay ? (performance.now() - ackedAt) / 1_000 : 0)
    const cpuMicros = ((server.cpuSeconds() - cpuBefore) * 1e6) / events
    const { p50Ms, p99Ms, maxMs, refused } = load
    rounds.push({ name, perSecond: events / seconds, p50Ms, p99Ms, maxMs, cpuMicros, peakMemoryMb: 0, refused })
  }
  const median = rounds.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds.length / 2)]
  if (median === undefined) throw new Error('expected at least one round')
  return { ...median, peakMemoryMb: server.peakMemoryMb() }
}

async function measureAndStop(name: string, server: ServerProcess, wholeWay = false): Promise<Measured> {
  try {
    return await measure(name, server, wholeWay)
  } finally {
    await server.stop()
  }
}

const noopSource = `import { defineHandler } from 'onchain-inbox'\nexport default defineHandler({ type: '*', run() {} })\n`

/** A folder with a handler of that name that does nothing, or without any. */
function handlersDir(folder: string, handler?: string): string {
  const dir = join(work, folder)
  mkdirSync(dir)
  if (handler !== undefined) writeFileSync(join(dir, `${handler}.ts`), noopSource)
  return dir
}

async function main(): Promise<void> {
  const none = handlersDir('none')
  const noop = handlersDir('noop', 'noop')
  const results: Measured[] = []
  const ceilingBefore = await measureAndStop('ceiling: nothing stored', await startCeiling())
  results.push(ceilingBefore)
  results.push(
    await measureAndStop('stored', await startProduct({ file: join(work, 'stored.db'), handlersDir: none })),
    await measureAndStop(
      'stored and handled',
      await startProduct({ file: join(work, 'whole.db'), handlersDir: noop }),
      true,
    ),
  )
  if (values.stored !== undefined) {
    const file = join(work, 'large.db')
    say(`filling a store with ${values.stored} events …`)
    await fillStore(file, Number(values.stored), { runs: 'done' })
    const server = await startProduct({ file, handlersDir: none })
    results.push(await measureAndStop(`stored, on top of ${values.stored} events`, server))
  }
  const ceilingAfter = await measureAndStop('ceiling, once more', await startCeiling())
  results.push(ceilingAfter)
  const start = values.backlog === undefined ? undefined : await measureStart(Number(values.backlog))
  report(results, (ceilingBefore.perSecond + ceilingAfter.perSecond) / 2, start)
}

interface Start {
  readonly runs: number
  readonly readyMs: number
  readonly firstVerdictsMs: number
  readonly perSecond: number
  readonly peakMemoryMb: number
}

async function measureStart(runs: number): Promise<Start> {
  const file = join(work, 'backlog.db')
  say(`filling a store with ${runs} waiting runs …`)
  await fillStore(file, runs, { runs: 'open' })
  say('working them off …')
  const startedAt = performance.now()
  const server = await startProduct({ file, handlersDir: handlersDir('filled', 'filled') })
  try {
    const openBelow = async (count: number) => {
      while ((await server.openRuns()) >= count) await wait(50)
      return performance.now() - startedAt
    }
    const firstVerdictsMs = await openBelow(runs)
    const doneMs = await openBelow(1)
    const perSecond = (runs * 1_000) / (doneMs - server.startMs)
    return { runs, readyMs: server.startMs, firstVerdictsMs, perSecond, peakMemoryMb: server.peakMemoryMb() }
  } finally {
    await server.stop()
  }
}

function report(results: readonly Measured[], ceiling: number, start: Start | undefined): void {
  const rows = results.map((result) => ({ ...result, ratio: result.perSecond / ceiling }))
  if (values.json) {
    process.stdout.write(`${JSON.stringify({ events, ceiling, results: rows, start })}\n`)
    return
  }
  const table = renderTable(
    ['', 'events/s', 'ratio', 'p50 ms', 'p99 ms', 'max ms', 'cpu µs/event', 'peak MB', 'refused'],
    rows.map((row) => [
      row.name,
      row.perSecond.toFixed(0),
      row.ratio.toFixed(2),
      row.p50Ms.toFixed(2),
      row.p99Ms.toFixed(2),
      row.maxMs.toFixed(1),
      row.cpuMicros.toFixed(1),
      row.peakMemoryMb.toFixed(0),
      String(row.refused),
    ]),
  )
  process.stdout.write(`${table}\n`)
  const [empty, large] = ['stored', `stored, on top of ${values.stored} events`].map((name) =>
    rows.find((row) => row.name === name),
  )
  if (empty !== undefined && large !== undefined) {
    const share = (large.perSecond / empty.perSecond).toFixed(2)
    process.stdout.write(`on top of ${values.stored} events: ${share} of an empty store\n`)
  }
  if (start !== undefined) {
    process.stdout.write(
      `start on ${start.runs} waiting runs: ready after ${start.readyMs.toFixed(0)} ms, first verdicts after ` +
        `${start.firstVerdictsMs.toFixed(0)} ms, then ${start.perSecond.toFixed(0)} runs/s, ` +
        `peak ${start.peakMemoryMb.toFixed(0)} MB\n`,
    )
  }
}

if (values.help) process.stdout.write(`${usage}\n`)
else {
  try {
    await main()
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
