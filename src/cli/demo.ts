import { InvalidArgumentError, type Command } from 'commander'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { relative } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { startApp, type App } from '../app.ts'
import { systemClock } from '../clock.ts'
import { loadConfig, type Config } from '../config.ts'
import { demoCredentials } from '../demo-credentials.ts'
import { createEmulator, type AttemptReport, type SeedInput } from '../emulator/emulator.ts'
import { builtInSeed, demoSeedName } from '../emulator/seed/built-in.ts'
import { InboxError } from '../errors.ts'
import type { InboxStats, RunCounts } from '../inbox/port.ts'
import { createLogger } from '../log.ts'
import { printBytes, printError, printResult, type OutputOptions } from './output.ts'
import { ownCommand } from './own-command.ts'
import { untilSignal } from './signals.ts'

interface DemoOptions extends OutputOptions {
  readonly seconds?: number
}

const dataDir = './data/demo'
const duplicateRate = 0.15
const history = '6h'
/** With it an event arises every few seconds. */
const activity = 40

/** `onchain-inbox demo`: receiver, sender and bundled handlers in one process, to be watched. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('watch it work: a sender, the receiver, and the ten bundled handlers, in one process')
    .option('--seconds <number>', 'end by itself after so many seconds', parseSeconds)
    .option('--json', 'print one JSON object per line')
    .addHelpText('after', '\nExample:\n  onchain-inbox demo --seconds 30\n')
    .action(async (options: DemoOptions) => {
      try {
        await demo(options)
      } catch (error) {
        process.exitCode = printError(explainInUse(error), options)
      }
    })
}

async function demo(options: DemoOptions): Promise<void> {
  process.umask(0o077)
  const config = await demoConfig()
  const app = await startApp({
    config,
    log: createLogger({ level: config.logLevel, pretty: options.json !== true }),
    clock: systemClock,
    prettyLog: options.json !== true,
    watch: true,
    hasSender: true,
    onReloaded(handlers, changed) {
      const names = handlers.map(({ name }) => name)
      const result = { msg: 'handlers reloaded', changed, handlers: names }
      printResult(result, options, () => `          ↳ handlers reloaded: ${changed.join(', ') || 'all'}`)
    },
    ...(options.json && { onOutput: printAsJson }),
    onFailure: (error) => {
      process.exitCode = printError(error, options)
      process.kill(process.pid, 'SIGTERM')
    },
  })
  const before = await app.inbox.stats()

  const emulator = createEmulator({
    seed: demoSeed(),
    listen: { host: '127.0.0.1', port: await freePort(8090) },
    endpoints: [{ url: app.url, secret: demoCredentials.secret }],
    duplicateRate,
    onAttempt: (report) => {
      const line = remark(report)
      if (line !== null) printResult({ msg: 'attempt', ...report }, options, () => line)
    },
  })
  await emulator.start()
  const restUrl = `${emulator.url}/v1`
  const controlUrl = `${emulator.url}/_emulator`
  const { apiKey, controlToken } = demoCredentials
  const { url, adminUrl } = app
  printResult({ msg: 'listening', url, adminUrl, restUrl, controlUrl, apiKey, controlToken }, options, () =>
    welcome(app, config, { restUrl, controlUrl }),
  )
  emulator.tour()
  emulator.world.acts.apply({ kind: 'activity', factor: activity })

  await untilSignal(options.seconds)
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
  printResult(
    { msg: 'stopped', ...result },
    options,
    () =>
      `\nStopped: ${acknowledged} events acknowledged, ${result.stored} stored, ${result.openRuns} not handled yet, ` +
      `${result.deadLetters} dead letters. They are kept in ${dataDir}.`,
  )
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

async function demoConfig(): Promise<Config> {
  return loadConfig({
    env: {
      INBOX_SECRETS: `demo:${demoCredentials.secret}`,
      INBOX_ADMIN_TOKEN: demoCredentials.adminToken,
      INBOX_HOST: '127.0.0.1',
      INBOX_PORT: String(await freePort(8080)),
      INBOX_ADMIN_HOST: '127.0.0.1',
      INBOX_ADMIN_PORT: String(await freePort(8081)),
      INBOX_DATABASE_URL: `sqlite:${dataDir}/inbox.db`,
      INBOX_HANDLERS: findHandlers(),
      INBOX_LOG_LEVEL: 'warn',
    },
    cwd: process.cwd(),
    // The settings of a real deployment are not for published credentials.
    configFile: null,
    allowDemoCredentials: true,
  })
}

/** The handlers as they are edited: the sources of a clone. An installed package has only what was built from them. */
function findHandlers(): string {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const sources = at('../../../handlers')
  const isBuilt = import.meta.url.endsWith('.js')
  return isBuilt && existsSync(sources) ? sources : at('../../handlers')
}

/** Another world each time, with the published credentials. */
function demoSeed(): SeedInput {
  const seed = builtInSeed(demoSeedName)
  return { ...seed, world: { ...seed.world, seed: `demo-${systemClock.now()}`, history } }
}

/** Its database is its own, so whoever holds it is a demo too. */
function explainInUse(error: unknown): unknown {
  if (!(error instanceof InboxError) || error.code !== 'database_in_use') return error
  const [holder = 'another process'] = /the process \d+/.exec(error.message) ?? []
  const message = `another demo is running in this folder (${holder}): stop it, or run this one in another folder`
  return new InboxError('database_in_use', message, { cause: error })
}

/** What handlers print, as JSON objects too. */
function printAsJson(output: Readable): void {
  createInterface({ input: output }).on('line', (line) => {
    printBytes(`${isJsonObject(line) ? line : JSON.stringify({ msg: 'output', line })}\n`)
  })
}

function isJsonObject(line: string): boolean {
  try {
    return line.startsWith('{') && typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

/** The port that was asked for if nobody has it, otherwise 0: any free one. */
function freePort(wanted: number): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(0))
    probe.listen(wanted, '127.0.0.1', () => probe.close(() => resolve(wanted)))
  })
}

interface EmulatorUrls {
  readonly restUrl: string
  readonly controlUrl: string
}

function welcome(app: App, { handlersDir }: Config, { restUrl, controlUrl }: EmulatorUrls): string {
  const { apiKey, controlToken } = demoCredentials
  const command = ownCommand(process.argv[1] ?? '', process.cwd())
  return [
    '',
    'onchain-inbox demo: a simulated world sends signed events, the inbox stores each before it says 200, handlers print them.',
    '',
    `  webhook   ${app.url}`,
    `  admin     ${app.adminUrl}  (bearer token: ${app.adminToken})`,
    `  REST      ${restUrl}  (API key: ${apiKey})`,
    `  control   ${controlUrl}  (bearer token: ${controlToken})`,
    `  database  ${dataDir}/inbox.db`,
    `  handlers  ${shortPath(handlersDir ?? '')}  (edit one: it is taken up at once)`,
    '',
    '  look inside from another terminal:',
    `    export INBOX_ADMIN_TOKEN=${app.adminToken}`,
    `    ${command} events list --admin-url ${app.adminUrl}`,
    `    curl -H 'Authorization: Bearer ${apiKey}' ${restUrl}/networks`,
    '  make something happen:',
    `    curl -H 'Authorization: Bearer ${controlToken}' -H 'Content-Type: application/json' \\`,
    `      -d '{"type":"pump.graduation"}' ${controlUrl}/trigger`,
    '',
    'One event of each of the ten types comes first, then one every few seconds. Some come twice. Ctrl-C ends it.',
    '',
  ].join('\n')
}

/** From this folder, if it is in it. */
function shortPath(path: string): string {
  const steps = relative('', path)
  return steps.startsWith('..') ? path : `./${steps}`
}

/** What is worth a line beside what the handlers print: a second delivery, a failure. */
function remark(report: AttemptReport): string | null {
  if (report.isExtra)
    return `          ↳ ${report.eventId} was delivered again; answered ${report.status}, not handled again`
  if (report.outcome === 'acknowledged') return null
  return `          ↳ ${report.eventId} failed (${report.status ?? report.failure ?? 'no answer'}); the sender will retry`
}
