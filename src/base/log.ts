import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { isMainThread } from 'node:worker_threads'
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino'
import type * as PinoPretty from 'pino-pretty'

export { safeText } from './safe-text.ts'

/** Structured log: object first, constant message second: `log.info({ eventId }, 'accepted')`. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  child(bindings: Record<string, unknown>): Logger
}

/**
 * Writes one JSON line per entry to standard output, or to `output`. With `pretty`, writes readable lines, coloured on
 * a terminal. Times are UTC. Lines that can't be written are dropped: a missing or slow reader or a full disk must not
 * stop the process.
 */
export function createLogger(options: { level: string; pretty: boolean; output?: DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const { output = isMainThread ? standardOutput : workerOutput() } = options
  if (!options.pretty) return pino(settings, output)
  // Loaded on demand: most processes write JSON.
  const { isColorSupported, prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty
  // Checks the file descriptor: in a worker thread process.stdout is never a terminal.
  const toLine = prettyFactory({ colorize: isColorSupported && isatty(1), translateTime: 'UTC:HH:MM:ss' })
  return pino(settings, { write: (entry) => output.write(toLine(entry)) })
}

/** Bytes buffered for a slow reader. Output above this is dropped. */
const maxBacklogBytes = 16 * 1024 * 1024

/** Not pino's own destination, which could block the process at exit. */
const standardOutput: DestinationStream = {
  write(line) {
    if (process.stdout.writableLength < maxBacklogBytes) process.stdout.write(line)
  },
}

/** Output for worker threads. Bypasses process.stdout, whose writes would go through the main thread. */
function workerOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, maxLength: maxBacklogBytes })
  output.on('error', () => {})
  return output
}

/** Discards all entries; for tests and library use. */
export const silentLogger: Logger = pino({ level: 'silent' })
