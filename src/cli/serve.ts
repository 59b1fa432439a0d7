import { isatty } from 'node:tty'
import type { Command } from 'commander'
import { startApp } from '../app.ts'
import { systemClock } from '../clock.ts'
import { loadConfig, processEnvironment } from '../config.ts'
import { createLogger, type Logger } from '../log.ts'
import { printError, type OutputOptions } from './output.ts'

interface ServeOptions extends OutputOptions {
  readonly watch?: boolean
  readonly config?: string
}

const exitTryAgain = 75
/** Longest time for a stop once nothing can be stored any more. */
const failedStopMs = 2_000

/** `onchain-inbox serve`: the sidecar itself, until SIGINT or SIGTERM, or until its terminal is closed. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('receive, store and handle events: the sidecar')
    .option(
      '--config <file>',
      'configuration file (default: onchain-inbox.config.ts, .js or .mjs in this folder, if there is one)',
    )
    .option('--watch', 'take up edited handlers, and the files that they import, while it runs')
    .option('--json', 'log lines as JSON even on a terminal')
    .addHelpText('after', '\nExample:\n  $ INBOX_SECRETS_FILE=/run/secrets/inbox onchain-inbox serve\n')
    .action(async (options: ServeOptions) => {
      try {
        await serve(options)
      } catch (error) {
        process.exitCode = printError(error, { json: options.json ?? !process.stderr.isTTY })
      }
    })
}

async function serve(options: ServeOptions): Promise<void> {
  // What it writes, events above all, is for its own user only.
  process.umask(0o077)
  const config = await loadConfig({
    env: processEnvironment(),
    cwd: process.cwd(),
    ...(options.config !== undefined && { configFile: options.config }),
  })
  const prettyLog = process.stdout.isTTY && options.json !== true
  const log = createLogger({ level: config.logLevel, pretty: prettyLog })
  for (const warning of config.warnings) log.warn({}, warning)

  // Heard from here on: unheard, it would end a process that is still starting.
  let reloadSecrets = async (): Promise<void> => {}
  const hasTerminal = isatty(0) || isatty(1)
  if (!hasTerminal) process.on('SIGHUP', () => void reloadSecrets())

  const exit: ExitState = { code: 0 }
  const app = await startApp({
    config,
    log,
    clock: systemClock,
    prettyLog,
    watch: options.watch ?? false,
    onFailure: (error) => {
      log.fatal({ error: error.message }, 'the store failed; ending, so that a new process can recover it')
      exit.code = exitTryAgain
      void exitAfter(() => app.stop(), Math.min(failedStopMs, config.shutdownMs), exit, log)
    },
  })

  reloadSecrets = () => app.reloadSecrets()
  let isStopping = false
  for (const signal of ['SIGINT', 'SIGTERM', ...(hasTerminal ? ['SIGHUP'] : [])]) {
    process.on(signal, () => {
      // A second one ends at once: everything acknowledged is durable at any time. But a terminal that closes says so twice.
      if (isStopping && signal !== 'SIGHUP') process.exit(1)
      if (isStopping) return
      isStopping = true
      log.info({ signal }, 'stopping')
      void exitAfter(() => app.stop(), config.shutdownMs, exit, log)
    })
  }
  log.info({ url: app.url, adminUrl: app.adminUrl, handlers: app.handlers.map((handler) => handler.name) }, 'listening')
}

interface ExitState {
  /** May still change while a stop is under way, by a failure of the store. */
  code: number
}

/** Stops, then ends the process; at the latest after `limitMs`, which is safe: it is what a crash would do. */
async function exitAfter(stop: () => Promise<void>, limitMs: number, exit: ExitState, log: Logger): Promise<void> {
  const force = setTimeout(() => {
    log.warn({ limitMs }, 'the stop took too long; ending now')
    process.exit(exit.code === 0 ? 1 : exit.code)
  }, limitMs)
  try {
    await stop()
  } catch (error) {
    log.error({ error: error instanceof Error ? error.message : 'unknown' }, 'the stop failed')
  }
  clearTimeout(force)
  log.info({}, 'stopped')
  process.exit(exit.code)
}
