import type { Command } from 'commander'
import { existsSync } from 'node:fs'
import { relative } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startApp } from '../app/app.ts'
import { systemClock } from '../base/clock.ts'
import { loadConfig, type Config } from '../config/config.ts'
import { demoCredentials } from '../base/demo-credentials.ts'
import { createEmulator, type SeedInput } from '../emulator/emulator.ts'
import { builtInSeed, demoSeedName } from '../emulator/seed/parse-seed.ts'
import { InboxError } from '../base/errors.ts'
import { createLogger } from '../base/log.ts'
import { siblingModule } from '../base/sibling-module.ts'
import { toShownAttempt } from '../emulator/control/deliveries.ts'
import { numberFrom } from './arguments.ts'
import { attemptLine } from './follow-deliveries.ts'
import { listenOnce } from './doctor/machine.ts'
import { commandLine, host, untilSignal } from './host.ts'
import { counted, printBytes, printError, printResult, withExamples, type OutputOptions } from './output.ts'
import { startEmulator } from './emulator-listening.ts'

interface DemoOptions extends OutputOptions {
  readonly seconds?: number
}

/** Activity factor of the world: about one event every few seconds. */
const activity = 40

/** `onchain-inbox demo`: receiver, sender and bundled handlers in one process. */
export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('Run a demo: sender, receiver and ten handlers in one process')
    .option('--seconds <number>', 'stop after this many seconds', numberFrom(0.001, 1_000_000))
    .option('--json', 'print one JSON object per line')
  withExamples(command, ['demo --seconds 30']).action(async (options: DemoOptions) => {
    try {
      await demo(options)
    } catch (error) {
      host().exitCode = printError(explainInUse(error), options)
    }
  })
}

async function demo(options: DemoOptions): Promise<void> {
  const isJson = options.json === true
  const print = (value: object, line: string) =>
    isJson ? printResult(value, options, () => line) : printBytes(`${line}\n`)
  const config = await demoConfig()
  const toLine = isJson ? toJson : toText
  const app = await startApp({
    config,
    log: createLogger({
      // Rejects are warnings; people see them as failed deliveries.
      level: isJson ? config.logLevel : 'error',
      pretty: false,
      output: { write: (line) => printBytes(`${toLine(line.trimEnd())}\n`) },
    }),
    clock: systemClock,
    prettyLog: false,
    watch: true,
    hasSender: true,
    bundledHandlers: [siblingModule(import.meta.url, './demo/unlucky').href],
    onReloaded(handlers, changed) {
      const names = handlers.map(({ name }) => name)
      const line = `${indent}handlers reloaded: ${changed.join(', ') || 'all'}`
      print({ msg: 'handlers reloaded', changed, handlers: names }, line)
    },
    onOutput(output) {
      createInterface({ input: output }).on('line', (line) => printBytes(`${toLine(line)}\n`))
    },
    onFailure: (error) => {
      host().exitCode = printError(error, options)
      process.kill(process.pid, 'SIGTERM')
    },
  })
  const before = await app.inbox.stats()
  const emulator = createEmulator({
    seed: demoSeed(systemClock.now()),
    listen: { host: '127.0.0.1', port: await freePort(8090) },
    endpoints: [{ url: app.url, secret: demoCredentials.secret }],
    onAttempt(report) {
      if (report.outcome === 'acknowledged' && !report.isExtra && report.attempt === 1) return
      const attempt = toShownAttempt(report)
      print({ msg: 'attempt', ...attempt }, `${indent}${attemptLine(attempt, false)}`)
    },
  })
  await startEmulator(emulator)
  const { url, adminUrl } = app
  const emulatorUrl = emulator.url ?? ''
  const { apiKey, controlToken, dashboardPassword: password } = demoCredentials
  const dashboard = { url: `${emulatorUrl}/`, user: emulator.login.user, password }
  const urls = { url, adminUrl, restUrl: `${emulatorUrl}/v1`, controlUrl: `${emulatorUrl}/_emulator` }
  print(
    { msg: 'listening', ...urls, dashboard, apiKey, controlToken },
    welcome(url, adminUrl, emulatorUrl, config.handlersDir ?? ''),
  )
  emulator.tour()
  emulator.world.commands.apply({ kind: 'activity', factor: activity })

  await untilSignal(options.seconds)
  const { acknowledged } = emulator.deliveries.counts()
  await emulator.stop()
  const after = await app.inbox.stats()
  await app.stop()
  const stored = after.lastSeq - before.lastSeq
  const line = `\nStopped: ${counted(acknowledged, 'event')} acknowledged, ${stored} stored. They are kept in ${demoDataDir}.`
  print({ msg: 'stopped', acknowledged, stored }, line)
}

/** Only demos use this database, so its holder is another demo. */
function explainInUse(error: unknown): unknown {
  if (!(error instanceof InboxError) || error.code !== 'database_in_use') return error
  const [holder = 'another process'] = /process \d+/.exec(error.message) ?? []
  const message = `another demo is running in this folder (${holder}): stop it, or run this one in another folder`
  return new InboxError('database_in_use', message, { cause: error })
}

/** Starts lines that show no event. */
const indent = '          ↳ '

type LogEntry = Readonly<Record<string, unknown>>

/** Parses a log line of a handler thread; null for other output, such as prints of a handler. */
function parseEntry(line: string): LogEntry | null {
  try {
    const value = JSON.parse(line) as LogEntry | null
    return typeof value?.['msg'] === 'string' ? value : null
  } catch {
    return null
  }
}

function toJson(line: string): string {
  return parseEntry(line) === null ? JSON.stringify({ msg: 'output', line }) : line
}

function toText(line: string): string {
  const entry = parseEntry(line)
  if (entry === null) return line
  const { level: _level, time: _time, msg, ...fields } = entry
  const details = Object.entries(fields).map(([name, value]) => {
    return `${name} ${typeof value === 'string' ? value.replace(`${process.cwd()}/`, '') : JSON.stringify(value)}`
  })
  return `${indent}${String(msg)}: ${details.join(', ')}`
}

/** Data folder, relative to the working directory. */
const demoDataDir = './data/demo'
const databaseFile = `${demoDataDir}/inbox.db`

/** Settings on loopback with the published credentials. Ports are the default ones if free. */
async function demoConfig(): Promise<Config> {
  return loadConfig({
    env: {
      INBOX_SECRETS: `demo:${demoCredentials.secret}`,
      INBOX_ADMIN_TOKEN: demoCredentials.adminToken,
      INBOX_HOST: '127.0.0.1',
      INBOX_PORT: String(await freePort(8080)),
      INBOX_ADMIN_HOST: '127.0.0.1',
      INBOX_ADMIN_PORT: String(await freePort(8081)),
      INBOX_DATABASE_URL: `sqlite:${databaseFile}`,
      INBOX_HANDLERS: findHandlers(),
      INBOX_LOG_LEVEL: 'warn',
    },
    cwd: host().cwd(),
    // Never mix the settings of a real deployment with published credentials.
    configFile: null,
    allowDemoCredentials: true,
  })
}

/** The wanted port if it is free, otherwise 0: any free one. */
async function freePort(wanted: number): Promise<number> {
  return (await listenOnce('127.0.0.1', wanted)) === null ? wanted : 0
}

/** Folder of the editable handlers in a clone; in an installed package, of the built ones. */
function findHandlers(): string {
  const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const editableHandlers = pathOf('../../../handlers')
  const isBuilt = import.meta.url.endsWith('.js')
  return isBuilt && existsSync(editableHandlers) ? editableHandlers : pathOf('../../handlers')
}

const history = '6h'

/** Applies a fault to delivery number `first`, then to every `every`-th one. */
const sometimes = (first: number, every: number) => ({
  script: `${'.'.repeat(first - 1)}x${'.'.repeat(every - first)}`,
  scriptRepeats: true,
})

/**
 * Deliberate faults. The first event of each type has none, so that all types show up at once. Then about one delivery fails per
 * minute. One in ten is delivered twice (R88).
 */
const faults = [
  { direction: 'out', fault: { kind: 'duplicate' }, ...sometimes(4, 10) },
  { direction: 'out', fault: { kind: 'signature-bad' }, types: ['wallet.new_position'], ...sometimes(9, 40) },
  { direction: 'out', fault: { kind: 'drop-ack' }, types: ['wallet.large_trade'], ...sometimes(4, 20) },
  { direction: 'out', fault: { kind: 'tamper' }, types: ['token.*'], ...sometimes(12, 40) },
] as const satisfies SeedInput['faults']

/** The demo seed with a new world at each start. */
function demoSeed(startedAt: number): SeedInput {
  const seed = builtInSeed(demoSeedName)
  return { ...seed, faults: [...faults], world: { ...seed.world, seed: `demo-${startedAt}`, history } }
}

/** Default of `--emulator`. */
const defaultEmulatorUrl = 'http://127.0.0.1:8090'

/** Introduction, addresses and commands to try, in at most 24 lines. */
function welcome(url: string, adminUrl: string, emulatorUrl: string, handlersDir: string): string {
  const { apiKey, adminToken, controlToken, dashboardPassword } = demoCredentials
  const adminOption = `--admin-url ${adminUrl}`
  const emulator = emulatorUrl === defaultEmulatorUrl ? '' : ` --emulator ${emulatorUrl}`
  return [
    '',
    'onchain-inbox demo: a simulated world sends signed events; the inbox stores each before it answers',
    '200, and handlers print it. Failures below are deliberate.',
    'One delivery in ten is sent twice on purpose: the inbox recognizes the duplicate.',
    '',
    `  webhook    ${url}`,
    `  dashboard  ${emulatorUrl}/  (user demo, password ${dashboardPassword})`,
    `  REST       ${emulatorUrl}/v1  (API key ${apiKey})`,
    `  control    ${emulatorUrl}/_emulator  (bearer token ${controlToken})`,
    `  console    ${adminUrl}  (token ${adminToken})`,
    `  database   ${databaseFile}`,
    `  handlers   ${shortPath(handlersDir)}  (edit one: it is reloaded at once)`,
    '',
    'From another terminal in this folder: list events, list and requeue dead letters, trigger an event:',
    `  export INBOX_ADMIN_TOKEN=${adminToken}`,
    `  ${commandLine('events list')} ${adminOption}`,
    `  ${commandLine('dead list')} ${adminOption}`,
    `  ${commandLine('dead requeue --all')} ${adminOption}`,
    `  ${commandLine('trigger pump.graduation')}${emulator}`,
    '',
    'First comes one event of each of the ten types, then one every few seconds. Ctrl-C stops the demo.',
    '',
  ].join('\n')
}

/** Relative to the working directory if inside it. */
function shortPath(path: string): string {
  const steps = relative('', path)
  return steps.startsWith('..') ? path : `./${steps}`
}
