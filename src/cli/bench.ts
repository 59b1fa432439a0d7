import { InvalidArgumentError, type Command } from 'commander'
import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { roughMs } from '../doctor/sync-speed.ts'
import { runBench, type BenchResult } from './bench-run.ts'
import { printError, printResult, renderTable, withOutputOptions, type OutputOptions } from './output.ts'
import { createProgress } from './progress.ts'

interface BenchCommandOptions extends OutputOptions {
  readonly seconds: number
  readonly connections: number
  readonly dir?: string
}

const longestSeconds = 3_600
const mostConnections = 10_000

/** `onchain-inbox bench`: what this machine takes, measured and not judged. */
export function addBenchCommand(program: Command): void {
  const bench = program
    .command('bench')
    .description(
      'measure how many events this machine stores and handles: a sidecar with a database of its own gets as many as it takes; ' +
        'nothing is left behind',
    )
    .option('--seconds <number>', 'how long events are sent', numberFrom(0.1, longestSeconds), 5)
    .option('--connections <number>', 'kept open at once, each with one delivery under way', wholeNumberFrom1, 16)
    .option(
      '--dir <folder>',
      'on whose disk: a folder is made in it, and removed (default: the temporary folder of the system, which may be in memory)',
    )
    .addHelpText('after', '\nExample, on the disk of the database:\n  $ onchain-inbox bench --dir ./data')
  withOutputOptions(bench).action(async (options: BenchCommandOptions) => {
    const progress = createProgress()
    const interrupted = new AbortController()
    const stop = () => interrupted.abort()
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, stop)
    try {
      const { seconds, connections, dir = tmpdir() } = options
      const onProgress = (done: number, text: string) => progress.show(done, text)
      const result = await runBench({ dir: resolve(dir), seconds, connections, onProgress, signal: interrupted.signal })
      progress.end()
      printResult(result, options, render)
    } catch (error) {
      progress.end()
      process.exitCode = printError(error, options)
    } finally {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, stop)
    }
  })
}

function render(result: BenchResult): string {
  const { machine, acknowledged_ms: acknowledged, fsync_ms: fsync, refused } = result
  const rate = (perSecond: number) => `${Math.round(perSecond).toLocaleString('en-US')} a second`
  const rows = [
    ['accepted', `${rate(result.accepted_per_second)} (${result.accepted} in ${result.seconds.toFixed(1)} s)`],
    [
      'handled',
      `${rate(result.handled_per_second)} (by a handler that does nothing, until the last was stored as done)`,
    ],
    [
      'acknowledged after',
      `half within ${roughMs(acknowledged.p50)}, 99 % within ${roughMs(acknowledged.p99)}, at worst ${roughMs(acknowledged.max)}`,
    ],
    ['refused', refused === 0 ? 'none' : String(refused)],
    ['durable write (fsync)', `${roughMs(fsync.median)}, at worst ${roughMs(fsync.worst)}`],
    ['connections', String(result.connections)],
    ['machine', `${machine.cores} cores (${machine.cpu}), Node ${machine.node}`],
    ['disk', machine.file_system],
  ]
  const remark =
    'The sender is a thread of this very process, and takes its share of the machine: on its own the sidecar takes more.'
  return `${renderTable(['measured', ''], rows)}\n\n${remark}`
}

function numberFrom(least: number, most: number) {
  return (text: string): number => {
    const number = Number(text)
    if (/^\d+(\.\d+)?$/.test(text) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`Expected a number from ${least} to ${most}.`)
  }
}

function wholeNumberFrom1(text: string): number {
  const number = Number(text)
  if (/^[1-9]\d*$/.test(text) && number <= mostConnections) return number
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${mostConnections}.`)
}
