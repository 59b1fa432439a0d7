import { pino, type Logger as PinoLogger } from 'pino'
import pretty from 'pino-pretty'

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

/** One JSON line per entry on standard output; on a terminal, lines for people. Time is UTC. */
export function createLogger(options: { level: string; pretty?: boolean }): Logger {
  const settings = {
    level: options.level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  if (options.pretty ?? process.stdout.isTTY) {
    return pino(settings, pretty({ colorize: true, translateTime: 'UTC:HH:MM:ss', sync: true }))
  }
  return pino(settings)
}

/** A log that goes nowhere, for tests and library use. */
export const silentLogger: Logger = pino({ level: 'silent' })
