import { isatty } from 'node:tty'
import type { Command } from 'commander'
import { startApp, type App } from '../app/app.ts'
import { systemClock } from '../base/clock.ts'
import { loadConfig } from '../config/config.ts'
import { messageOf } from '../base/errors.ts'
import { createLogger } from '../base/log.ts'
import { tuneGarbageCollector, trimMemory } from '../base/trim-memory.ts'
import { printError, type OutputOptions } from './output.ts'
import { prepareEnd, type ProcessEnd } from './process-end.ts'
import { configInputs } from './settings.ts'

interface ServeOptions extends OutputOptions {
  readonly watch?: boolean
  readonly config?: string
}

const exitTryAgain = 75
/** Time limit of a stop after a failure. */
const failedStopMs = 1_000

/** `onchain-inbox serve`: runs the sidecar until SIGINT, SIGTERM, or the end of its terminal. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('Run the sidecar: receive, store and handle events')
    .option('--config <file>', 'config file (default: onchain-inbox.config.{ts,js,mjs} in this folder)')
    .option('--watch', 'reload handlers and the files they import when they change')
    .option('--json', 'print log lines as JSON, for log collectors')
    .addHelpText('after', '\nExample:\n  $ INBOX_SECRETS_FILE=/run/secrets/inbox onchain-inbox serve\n')
    .action(async (options: ServeOptions) => {
      const end = prepareEnd()
      try {
        await serve(options, (code) => end.now(code))
      } catch (error) {
        await end.now(printError(error, { json: options.json ?? false }))
      }
      // `serve` ends the process itself.
      await new Promise(() => {})
    })
}

async function serve(options: ServeOptions, end: ProcessEnd['now']): Promise<void> {
  const config = await loadConfig(configInputs(options))
  const prettyLog = options.json !== true
  const log = createLogger({ level: config.logLevel, pretty: prettyLog })
  for (const warning of config.warnings) log.warn({ warning }, 'config warning')

  // A placeholder until the app has started: signals may arrive earlier.
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
      log.warn({ limitMs, handlers: app.inFlight }, 'stop timed out')
      void end(code)
    }, limitMs)
    try {
      await app.stop()
    } catch (error) {
      log.error({ error: messageOf(error) }, 'stop failed')
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
        // Safe, because every acknowledged event is durable. A closing terminal sends SIGHUP twice, so the second SIGHUP is ignored.
        log.warn({ signal, handlers: app.inFlight }, 'stopped by second signal')
        void end(code === 0 ? 1 : code)
      }
    })
  }

  tuneGarbageCollector()
  const started = await startApp({
    config,
    log,
    clock: systemClock,
    prettyLog,
    watch: options.watch ?? false,
    onFailure: (error) => {
      log.fatal({ error: error.message }, 'exiting after failure')
      code = exitTryAgain
      void stop(Math.min(failedStopMs, config.shutdownMs))
    },
  })
  app = started
  const { url, adminUrl, handlers } = started
  const sources = config.sources.map(({ settings: { path } }) => new URL(path, url).href)
  const fields = {
    ...(config.webhookSecrets !== null && { url }),
    ...(sources.length > 0 && { sources }),
    adminUrl,
    handlers: handlers.map(({ name }) => name),
  }
  log.info(fields, 'listening')
  trimMemory()
}
