import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { renderTable } from '../../src/cli/table.ts'
import { createWorld } from '../../src/emulator/world/world.ts'
import { measureSending } from './sending.ts'
import { runLoad } from './server-process.ts'

/**
 * `npm run bench:emulator` measures a simulated day, deliveries per second, and reads per second of the REST service, on a
 * small and on a large world. An Express route that returns constant JSON of the same size is the ceiling for reads.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    connections: { type: 'string', default: '32' },
    requests: { type: 'string', default: '6000' },
    /** History of the large world; 26 days are a little more than a million trades. */
    days: { type: 'string', default: '26' },
  },
})

const sentEvents = 20_000

interface EmulatorFacts {
  readonly port: number
  readonly apiKey: string
  readonly startMs: number
  readonly trades: number
  readonly tokens: number
  readonly operations: Readonly<Record<string, readonly string[]>>
}

function report(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`)
}

function memoryMb(child: ChildProcess, field: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** A day of the default world on one core. */
function measureDay() {
  const startAt = Date.UTC(2026, 0, 1)
  const startedAt = performance.now()
  const world = createWorld({ seed: 'bench', startAt })
  world.advanceTo(startAt + 86_400_000)
  return { seconds: (performance.now() - startedAt) / 1000, transactions: world.seq() }
}

async function measureReads(days: number) {
  report(`a world of ${days} days …`)
  const emulator = fork(new URL('./emulator-server.ts', import.meta.url), [String(days)])
  const constant = fork(new URL('./constant-server.ts', import.meta.url))
  try {
    const [facts] = (await once(emulator, 'message')) as [EmulatorFacts]
    const [{ port }] = (await once(constant, 'message')) as [{ port: number }]
    const { apiKey, operations } = facts
    const load = { apiKey, connections: Number(values.connections), requests: Number(values.requests) }
    const rows = []
    for (const [operation, paths] of Object.entries(operations)) {
      report(`${operation} …`)
      await runLoad({ ...load, ports: [facts.port], paths, requests: 500 })
      const read = await runLoad({ ...load, ports: [facts.port], paths })
      const ceiling = await runLoad({ ...load, ports: [port], paths: [`/${read.bodyBytes}`] })
      rows.push({ operation, ...read, ceiling: ceiling.perSecond, ratio: read.perSecond / ceiling.perSecond })
    }
    const memory = { residentMb: memoryMb(emulator, 'VmRSS'), peakMb: memoryMb(emulator, 'VmHWM') }
    return { days, ...facts, ...memory, rows }
  } finally {
    await stop(emulator)
    await stop(constant)
  }
}

report('a day of the world …')
const day = measureDay()
report('sending …')
const sending = [await measureSending(sentEvents, 10), await measureSending(sentEvents, 50)]
const worlds = [await measureReads(1), await measureReads(Number(values.days))]
if (values.json) {
  process.stdout.write(`${JSON.stringify({ day, sending, worlds })}\n`)
} else {
  const lines = worlds.flatMap(({ days, trades, tokens, startMs, residentMb, peakMb, rows }) => [
    `\n${days} days: ${trades} trades, ${tokens} tokens, made in ${(startMs / 1000).toFixed(1)} s, ` +
      `${residentMb.toFixed(0)} MB resident (peak ${peakMb.toFixed(0)} MB; goal < 500 MB at a million trades)`,
    renderTable(
      ['', 'reads/s', 'constant/s', 'ratio (goal ≥ 0.30)', 'p50 ms', 'p99 ms', 'bytes', 'refused'],
      rows.map((row) => [
        row.operation,
        row.perSecond.toFixed(0),
        row.ceiling.toFixed(0),
        row.ratio.toFixed(2),
        row.p50Ms.toFixed(1),
        row.p99Ms.toFixed(1),
        String(row.bodyBytes),
        String(row.refused),
      ]),
    ),
  ])
  process.stdout.write(
    `a simulated day: ${day.seconds.toFixed(2)} s, ${day.transactions} transactions (goal about 5 s)\n` +
      `\n${sentEvents} events sent; the client alone signs and stores nothing\n${renderTable(
        ['at once', 'durable/s', 'in a temporary file/s', 'client alone/s', 'ratio (goal ≥ 0.50)'],
        sending.map((one) => [
          String(one.parallel),
          one.durable.toFixed(0),
          one.temporary.toFixed(0),
          one.ceiling.toFixed(0),
          one.ratio.toFixed(2),
        ]),
      )}\n${lines.join('\n')}\n`,
  )
}
