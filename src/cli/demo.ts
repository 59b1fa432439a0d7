import { InvalidArgumentError, type Command } from 'commander'
import { createInterface } from 'node:readline'
import { startApp, type App } from '../app.ts'
import { systemClock } from '../clock.ts'
import { demoCredentials } from '../demo-credentials.ts'
import { createEmulator, type AttemptReport, type Emulator } from '../emulator/emulator.ts'
import { InboxError } from '../errors.ts'
import type { InboxStats, RunCounts } from '../inbox/port.ts'
import { createLogger } from '../log.ts'
import { siblingModule } from '../sibling-module.ts'
import { demoConfig, demoDataDir, freePort } from './demo-config.ts'
import { parseLogEntry, parseObject } from './demo-log.ts'
import { logRemark, remark } from './demo-remarks.ts'
import { createScreen, type Screen } from './demo-screen.ts'
import { demoSeed } from './demo-seed.ts'
import { counted, createTally, type Tally } from './demo-tally.ts'
import { welcome } from './demo-welcome.ts'
import { printBytes, printError, printResult, type OutputOptions } from './output.ts'
import { createProgress } from './progress.ts'
import { untilSignal } from './signals.ts'

interface DemoOptions extends OutputOptions {
  readonly seconds?: number
}

/** With it an event arises every few seconds. */
const activity = 40

/** `onchain-inbox demo`: receiver, sender and bundled handlers in one process, to be watched. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('watch it work: a sender, the receiver, and the ten bundled handlers, in one process')
    .option('--seconds <number>', 'end by itself after so many seconds', parseSeconds)
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', '\nExample:\n  $ onchain-inbox demo --seconds 30\n')
    .action(async (options: DemoOptions) => {
      const tally = createTally()
      const screen = createScreen(process.stdout, () => tally.text())
      try {
        await demo(options, { tally, screen })
      } catch (error) {
        screen.end()
        process.exitCode = printError(explainInUse(error), options)
      }
    })
}

interface Shown {
  readonly tally: Tally
  readonly screen: Screen
}

async function demo(options: DemoOptions, shown: Shown): Promise<void> {
  const { tally, screen } = shown
  process.umask(0o077)
  const isJson = options.json === true
  const tell = (value: object, line: string) => (isJson ? printResult(value, options, () => line) : screen.line(line))
  const config = await demoConfig()
  const app = await startApp({
    config,
    log: isJson
      ? createLogger({ level: config.logLevel, pretty: false })
      : // What the receiver refuses, a warning, is told as a failure of its delivery.
        createLogger({ level: 'error', pretty: false, output: { write: (line) => show(line.trimEnd(), shown) } }),
    clock: systemClock,
    prettyLog: false,
    watch: true,
    hasSender: true,
    bundledHandlers: [siblingModule(import.meta.url, '../demo/unlucky').href],
    onReloaded(handlers, changed) {
      const names = handlers.map(({ name }) => name)
      const line = `          ↳ handlers reloaded: ${changed.join(', ') || 'all'}`
      tell({ msg: 'handlers reloaded', changed, handlers: names }, line)
    },
    onOutput(output) {
      const print = isJson ? printAsJson : (line: string) => show(line, shown)
      createInterface({ input: output }).on('line', print)
    },
    onFailure: (error) => {
      process.exitCode = printError(error, options)
      process.kill(process.pid, 'SIGTERM')
    },
  })
  const before = await app.inbox.stats()
  const emulator = await startEmulator(app, (report) => {
    tally.attempted(report)
    const line = remark(report)
    if (line !== null) tell({ msg: 'attempt', ...report }, line)
    else if (!isJson) screen.refresh()
  })
  tellListening()
  emulator.tour()
  emulator.world.acts.apply({ kind: 'activity', factor: activity })

  await untilSignal(options.seconds)
  screen.end()
  const { acknowledged } = emulator.deliveries.counts()
  await emulator.stop()
  const after = await app.inbox.stats()
  await app.stop()
  const result = {
    acknowledged,
    stored: after.lastSeq - before.lastSeq,
    openRuns: countRuns(after, openStates),
    deadLetters: countRuns(after, ['dead']),
  }
  tell(
    { msg: 'stopped', ...result },
    `\nStopped: ${counted(acknowledged, 'event')} acknowledged, ${result.stored} stored, ${result.openRuns} not handled yet, ` +
      `${counted(result.deadLetters, 'dead letter')}. They are kept in ${demoDataDir}.`,
  )

  function tellListening(): void {
    const { url, adminUrl } = app
    const emulatorUrl = emulator.url ?? ''
    const { apiKey, controlToken, dashboardPassword: password } = demoCredentials
    const dashboard = { url: `${emulatorUrl}/`, user: emulator.login.user, password }
    const [restUrl, controlUrl] = [`${emulatorUrl}/v1`, `${emulatorUrl}/_emulator`]
    const databaseFile = `${demoDataDir}/inbox.db`
    tell(
      { msg: 'listening', url, adminUrl, restUrl, controlUrl, dashboard, apiKey, controlToken },
      welcome({ url, adminUrl, emulatorUrl, databaseFile, handlersDir: config.handlersDir ?? '' }),
    )
  }
}

async function startEmulator(app: App, onAttempt: (report: AttemptReport) => void): Promise<Emulator> {
  const emulator = createEmulator({
    seed: demoSeed(systemClock.now()),
    listen: { host: '127.0.0.1', port: await freePort(8090) },
    endpoints: [{ url: app.url, secret: demoCredentials.secret }],
    onAttempt,
  })
  const progress = createProgress()
  const startedAt = emulator.world.now()
  await emulator
    .start((at, until) => progress.show((at - startedAt) / Math.max(1, until - startedAt), 'a world is made'))
    .finally(() => progress.end())
  return emulator
}

const openStates = ['waiting', 'ready', 'suspect', 'running'] as const

function countRuns(stats: InboxStats, states: readonly (keyof RunCounts)[]): number {
  return stats.handlers.reduce((sum, handler) => sum + states.reduce((part, state) => part + handler[state], 0), 0)
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (seconds > 0 && seconds <= 1_000_000) return seconds
  throw new InvalidArgumentError('Expected a number of seconds above 0.')
}

/** Its database is its own, so whoever holds it is a demo too. */
function explainInUse(error: unknown): unknown {
  if (!(error instanceof InboxError) || error.code !== 'database_in_use') return error
  const [holder = 'another process'] = /the process \d+/.exec(error.message) ?? []
  const message = `another demo is running in this folder (${holder}): stop it, or run this one in another folder`
  return new InboxError('database_in_use', message, { cause: error })
}

/** What a handler printed, or an entry of the log. */
function show(line: string, { tally, screen }: Shown): void {
  const entry = parseLogEntry(line)
  if (entry !== null) tally.logged(entry)
  screen.line(entry === null ? line : logRemark(entry))
}

/** The same, as a JSON object. */
function printAsJson(line: string): void {
  printBytes(`${parseObject(line) === null ? JSON.stringify({ msg: 'output', line }) : line}\n`)
}
