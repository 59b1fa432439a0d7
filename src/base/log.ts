import { createRequire } from 'node:module'
import { isatty } from 'node:tty'
import { isMainThread } from 'node:worker_threads'
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino'
import type * as PinoPretty from 'pino-pretty'

/** Structured log, object first, message constant: `log.info({ eventId }, 'accepted')`. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error' | 'fatal'> & {
  child(bindings: Record<string, unknown>): Logger
}

// Control characters, bidi overrides and line separators could forge log lines or reorder what a person reads.
const unsafe =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

/** Text of outside origin made safe for a log line or a terminal: control and bidi characters escaped, length capped. */
export function safeText(text: string, maxLength = 300): string {
  const escaped = text.replace(unsafe, (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
  return escaped.length > maxLength ? `${escaped.slice(0, maxLength)}…` : escaped
}

/**
 * One JSON line per entry on standard output; with `pretty`, lines for people, coloured on a terminal. Time is UTC. What cannot
 * be written is lost: a log whose reader is gone, or does not read, or whose disk is full, is no reason to stop.
 * With `output` the entries go there.
 */
export function createLogger(options: { level: string; pretty: boolean; output?: DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  const { output = isMainThread ? standardOutput : ownOutput() } = options
  if (!options.pretty) return pino(settings, output)
  // Loaded only here: most processes write JSON.
  const { isColorSupported, prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty
  // Asked of the file descriptor: in a worker thread process.stdout is never a terminal.
  const toLine = prettyFactory({ colorize: isColorSupported && isatty(1), translateTime: 'UTC:HH:MM:ss' })
  return pino(settings, { write: (entry) => output.write(toLine(entry)) })
}

/** What is kept in memory for a reader that does not read; what comes on top of it is dropped. */
const longestBacklog = 16 * 1024 * 1024

/** Not pino's own, which at the end of the process would try to write for ever. */
const standardOutput: DestinationStream = {
  write(line) {
    if (process.stdout.writableLength < longestBacklog) process.stdout.write(line)
  },
}

/** For a worker thread, whose process.stdout is written by the main thread: that one has better things to do. */
function ownOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, maxLength: longestBacklog })
  output.on('error', () => {})
  return output
}

/** A log that goes nowhere, for tests and library use. */
export const silentLogger: Logger = pino({ level: 'silent' })
