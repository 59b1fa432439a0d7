import type { Command } from 'commander'
import { startApp } from '../app.ts'
import { systemClock } from '../clock.ts'
import { loadConfig, processEnvironment } from '../config.ts'
import { createLogger, type Logger } from '../log.ts'
import { printError, type OutputOptions } from './output.ts'

interface ServeOptions extends OutputOptions {
  readonly config?: string
}

const exitTryAgain = 75

/** `onchain-inbox serve`: the sidecar itself, until SIGINT or SIGTERM. */
export function addServeCommand(program: Command): void {
  program
    .command('serve')
    .description('receive, store and handle events: the sidecar')
    .option(
      '--config <file>',
      'configuration file (default: onchain-inbox.config.ts, .js or .mjs in this folder, if there is one)',
    )
    .option('--json', 'log lines as JSON even on a terminal')
    .addHelpText('after', '\nExample:\n  INBOX_SECRETS_FILE=/run/secrets/inbox onchain-inbox serve\n')
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
  process.on('SIGHUP', () => void reloadSecrets())

  const app = await startApp({
    config,
    log,
    clock: systemClock,
    prettyLog,
    onFailure: (error) => {
      log.fatal({ error: error.message }, 'the store failed; ending, so that a new process can recover it')
      void exitAfter(() => app.stop(), config.shutdownMs, exitTryAgain, log)
    },
  })

  reloadSecrets = () => app.reloadSecrets()
  let signals = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // A second one ends at once: everything acknowledged is durable at any time.
      if (++signals > 1) process.exit(1)
      log.info({ signal }, 'stopping')
      void exitAfter(() => app.stop(), config.shutdownMs, 0, log)
    })
  }
  log.info({ url: app.url, adminUrl: app.adminUrl, handlers: app.handlers.map((handler) => handler.name) }, 'listening')
}

/** Stops, then ends the process; at the latest after `limitMs`, which is safe: it is what a crash would do. */
async function exitAfter(stop: () => Promise<void>, limitMs: number, code: number, log: Logger): Promise<void> {
  const force = setTimeout(() => {
    log.warn({ limitMs }, 'the stop took too long; ending now')
    process.exit(code === 0 ? 1 : code)
  }, limitMs)
  try {
    await stop()
  } catch (error) {
    log.error({ error: error instanceof Error ? error.message : 'unknown' }, 'the stop failed')
  }
  clearTimeout(force)
  log.info({}, 'stopped')
  process.exit(code)
}
