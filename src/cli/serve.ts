import { isatty } from 'node:tty'
import type { Command } from 'commander'
import { startApp, type App } from '../app/app.ts'
import { systemClock } from '../base/clock.ts'
import { loadConfig } from '../config/config.ts'
import { messageOf } from '../base/errors.ts'
import { createLogger } from '../base/log.ts'
import { printError, type OutputOptions } from './output.ts'
import { prepareEnd, type ProcessEnd } from './process-end.ts'
import { configSources } from './settings.ts'

interface ServeOptions extends OutputOptions {
  readonly watch?: boolean
  readonly config?: string
}

const exitTryAgain = 75
/** Longest time for a stop after a failure. */
const failedStopMs = 1_000

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
      const end = prepareEnd()
      try {
        await serve(options, (code) => end.now(code))
      } catch (error) {
        await end.now(printError(error, { json: options.json ?? !process.stderr.isTTY }))
      }
      // It ends the process by itself.
      await new Promise(() => {})
    })
}

async function serve(options: ServeOptions, end: ProcessEnd['now']): Promise<void> {
  // What it writes, events above all, is for its own user only.
  process.umask(0o077)
  const config = await loadConfig(configSources(options))
  const prettyLog = process.stdout.isTTY && options.json !== true
  const log = createLogger({ level: config.logLevel, pretty: prettyLog })
  for (const warning of config.warnings) log.warn({}, warning)

  // Stands in for the app until it has started: signals may arrive earlier.
  let app: Pick<App, 'inFlight' | 'reloadSecrets' | 'stop'> = {
    inFlight: [],
    async reloadSecrets() {},
    async stop() {},
  }
  const hasTerminal = isatty(0) || isatty(1)
  if (!hasTerminal) process.on('SIGHUP', () => void app.reloadSecrets())

  let code = 0
  async function stop(limitMs: number): Promise<void> {
    const late = setTimeout(() => {
      log.warn({ limitMs, handlers: app.inFlight }, 'the stop took too long; ending now')
      void end(code)
    }, limitMs)
    try {
      await app.stop()
    } catch (error) {
      log.error({ error: messageOf(error) }, 'the stop failed')
    }
    clearTimeout(late)
    log.info({}, 'stopped')
    await end(code)
  }

  let isStopping = false
  for (const signal of ['SIGINT', 'SIGTERM', ...(hasTerminal ? ['SIGHUP'] : [])]) {
    process.on(signal, () => {
      if (!isStopping) {
        isStopping = true
        log.info({ signal }, 'stopping')
        void stop(config.shutdownMs)
      } else if (signal !== 'SIGHUP') {
        // Safe: everything acknowledged is durable at any time. A terminal that closes sends SIGHUP twice.
        log.warn({ signal, handlers: app.inFlight }, 'ending now, because of a second signal')
        void end(code === 0 ? 1 : code)
      }
    })
  }

  const started = await startApp({
    config,
    log,
    clock: systemClock,
    prettyLog,
    watch: options.watch ?? false,
    onFailure: (error) => {
      log.fatal({ error: error.message }, 'ending after a failure, so that a new process can recover from it')
      code = exitTryAgain
      void stop(Math.min(failedStopMs, config.shutdownMs))
    },
  })
  app = started
  const { url, adminUrl, handlers } = started
  log.info({ url, adminUrl, handlers: handlers.map(({ name }) => name) }, 'listening')
}
