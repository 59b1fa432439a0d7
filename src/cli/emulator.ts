import { InvalidArgumentError, type Command } from 'commander'
import { systemClock } from '../clock.ts'
import { createEmulator, type AttemptReport } from '../emulator/emulator.ts'
import { createScaledClock } from '../emulator/scaled-clock.ts'
import { InboxError } from '../errors.ts'
import { safeText, silentLogger } from '../log.ts'
import { isLoopbackUrl } from '../loopback.ts'
import { printError, printResult, type OutputOptions } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'
import { untilSignal } from './signals.ts'

interface EmulatorCommandOptions extends OutputOptions {
  readonly webhook: string
  readonly secret: string
  readonly seed: string
  readonly rate: number
  readonly speed: number
  readonly duplicates: number
  readonly count?: number
}

/** `onchain-inbox emulator`: sends plausible events to a webhook as the service does (R71–R92). */
export function addEmulatorCommand(program: Command): void {
  program
    .command('emulator')
    .description('send plausible, signed events to a webhook, with the retries of the service')
    .requiredOption('--webhook <url>', 'where the events go: https, or http to this machine')
    .requiredOption('--secret <secret>', 'what signs them: @file, - for standard input, or env:NAME')
    .option('--seed <text>', 'the same seed gives the same events', 'demo')
    .option('--rate <number>', 'events per second of world time', numberFrom(0.001, 100_000), 1)
    .option('--speed <number>', 'how many times faster than the wall the world goes', numberFrom(0.001, 1_000_000), 1)
    .option('--duplicates <share>', 'share of acknowledged events that come twice, 0 to 1', numberFrom(0, 1), 0.1)
    .option('--count <number>', 'end when this many events are acknowledged or undelivered', wholeNumberFrom(1))
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      '\nExample:\n  onchain-inbox emulator --webhook http://127.0.0.1:8080/webhooks --secret @secret.txt --count 100 --rate 20\n',
    )
    .action(async (options: EmulatorCommandOptions) => {
      try {
        process.exitCode = await run(options)
      } catch (error) {
        process.exitCode = printError(error, options)
      }
    })
}

async function run(options: EmulatorCommandOptions): Promise<0 | 1> {
  refuseOpenHttp(options.webhook)
  const secret = await readSecretArgument(options.secret, { url: options.webhook })
  await using emulator = createEmulator({
    seed: options.seed,
    clock: createScaledClock(options.speed),
    wall: systemClock,
    endpoints: [{ url: options.webhook, secret }],
    rate: options.rate,
    duplicateRate: options.duplicates,
    log: silentLogger,
    onAttempt: (report) => printResult(toJson(report), options, () => toLine(report)),
  })
  emulator.start(options.count)
  await untilSignal(emulator.finished())

  const { acknowledged, undelivered, waiting, inFlight } = emulator.deliveries.counts()
  const summary = { msg: 'finished', acknowledged, undelivered, unsettled: waiting + inFlight }
  printResult(
    summary,
    options,
    () => `${acknowledged} acknowledged, ${undelivered} undelivered, ${summary.unsettled} not settled`,
  )
  return options.count === undefined || acknowledged >= options.count ? 0 : 1
}

/** The service delivers by http to its own machine only (A25). */
function refuseOpenHttp(url: string): void {
  if (URL.parse(url)?.protocol !== 'http:' || isLoopbackUrl(url)) return
  throw new InboxError('usage', '--webhook: http goes to this machine only; expected https for any other')
}

function toJson(report: AttemptReport) {
  return {
    msg: 'attempt',
    ...report,
    at: new Date(report.at).toISOString(),
    nextAttemptAt: report.nextAttemptAt === null ? null : new Date(report.nextAttemptAt).toISOString(),
  }
}

function toLine(report: AttemptReport): string {
  const { at, eventType, eventId, status, outcome, latencyMs, attempt, isExtra, failure, nextAttemptAt } = report
  const notes = [
    ...(isExtra ? ['delivered again'] : attempt > 1 ? [`retry ${attempt - 1}`] : []),
    ...(failure !== null && status === null ? [safeText(failure)] : []),
    ...(nextAttemptAt === null ? [] : [`next at ${timeOfDay(nextAttemptAt)}`]),
  ]
  return [
    timeOfDay(at),
    eventType.padEnd(27),
    eventId,
    String(status ?? '---'),
    outcome.padEnd(12),
    `${latencyMs} ms`.padStart(7),
    notes.join(', '),
  ]
    .join('  ')
    .trimEnd()
}

function timeOfDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19)
}

function numberFrom(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && value >= low && value <= high) return value
    throw new InvalidArgumentError(`Expected a number from ${low} to ${high}.`)
  }
}

function wholeNumberFrom(low: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= low) return value
    throw new InvalidArgumentError(`Expected a whole number from ${low}.`)
  }
}
