import type { AttemptReport } from '../emulator/emulator.ts'
import { safeText } from '../base/log.ts'

interface LogEntry {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** Parses a log line of a handler thread; null for other output, such as prints of a handler. */
export function parseLogEntry(line: string): LogEntry | null {
  const value = parseObject(line)
  const isEntry = ['level', 'time', 'msg'].every((name) => typeof value?.[name] === 'string')
  return isEntry ? (value as unknown as LogEntry) : null
}

/** Parses a line of JSON; null if it is not an object. */
export function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as Readonly<Record<string, unknown>>) : null
  } catch {
    return null
  }
}

const indent = '          ↳ '

const faultTexts: Readonly<Record<string, string>> = {
  'signature-bad': 'wrong signature, on purpose',
  tamper: 'a byte changed after signing, on purpose',
  'drop-ack': 'acknowledgement lost, on purpose',
}

/** Describes a repeated or failed delivery; null for any other. */
export function remark(report: AttemptReport): string | null {
  const { eventType, eventId, status, outcome, attempt, isExtra } = report
  const event = `${indent}${safeText(`${eventType} ${eventId}`)}`
  if (outcome !== 'acknowledged') return `${event}: ${whyFailed(report)}`
  if (!isExtra && attempt === 1) return null
  const again = isExtra ? 'delivered twice' : `delivered again (retry ${attempt - 1})`
  return `${event} ${again}; answered ${status}${isDuplicate(report) ? ' as a duplicate; not handled again' : ''}`
}

function isDuplicate({ responseExcerpt }: AttemptReport): boolean {
  return responseExcerpt.startsWith('{"status":"duplicate"')
}

function whyFailed({ faults, status, failure, outcome, isExtra, at, nextAttemptAt }: AttemptReport): string {
  const causes = faults
    .filter((fault) => fault !== 'duplicate')
    .map((fault) => faultTexts[fault] ?? `${fault} on purpose`)
  const answer = status === null ? safeText(failure ?? 'no answer') : `answered ${status}`
  return [...causes, answer, nextStep()].filter((part) => part !== null).join('; ')

  function nextStep(): string | null {
    if (nextAttemptAt !== null) return `next attempt in ${roughly(nextAttemptAt - at)}`
    return outcome === 'cancelled' || isExtra ? null : 'not retried'
  }
}

const minuteMs = 60_000

function roughly(ms: number): string {
  const minutes = Math.round(ms / minuteMs)
  if (minutes < 1) return `${Math.round(ms / 1_000)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

/** Prefix of the product's own errors, which a remark omits. */
const internalCode = /^handler_(?:retryable|terminal): /

/** Formats a log entry as one line. Failures of handlers are put in words. `deadList`: the command that lists dead letters. */
export function logRemark({ level, msg, time, ...fields }: LogEntry, deadList: string): string {
  const { handler, eventId, error, nextAt, frame, replay } = fields
  if (typeof handler === 'string' && typeof eventId === 'string' && typeof error === 'string') {
    const run = typeof replay === 'number' ? `${eventId} in replay ${replay}` : eventId
    const place = typeof frame === 'string' ? ` ${frame.replace(`${process.cwd()}/`, '')}` : ''
    const failure = `${indent}${handler} failed on ${run} (${error.replace(internalCode, '')})${place}`
    if (typeof nextAt !== 'string') return `${failure}; now a dead letter: ${deadList}`
    return `${failure}; next attempt in ${roughly(Date.parse(nextAt) - Date.parse(time))}`
  }
  const details = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`)
  return `${indent}${level}: ${[msg, ...details].join('; ')}`
}
