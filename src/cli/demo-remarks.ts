import type { AttemptReport } from '../emulator/emulator.ts'
import { safeText } from '../base/log.ts'

/** A line of the log, as it was written down. */
interface LogEntry {
  readonly level: string
  readonly time: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** A line that a thread of handlers has put out, as a line of the log; null if it is something that a handler has printed. */
export function parseLogEntry(line: string): LogEntry | null {
  const value = parseObject(line)
  const isEntry = ['level', 'time', 'msg'].every((name) => typeof value?.[name] === 'string')
  return isEntry ? (value as unknown as LogEntry) : null
}

/** The object that a line of JSON is; null if it is none. */
export function parseObject(line: string): Readonly<Record<string, unknown>> | null {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as Readonly<Record<string, unknown>>) : null
  } catch {
    return null
  }
}

/** Indents remarks below the lines of the handlers. */
const indent = '          ↳ '

const faultTexts: Readonly<Record<string, string>> = {
  'signature-bad': 'the signature was wrong on purpose',
  tamper: 'a byte was changed on purpose after it was signed',
  'drop-ack': 'the acknowledgement was lost on purpose',
}

/** The line for a repeated or failed delivery. Null for any other. */
export function remark(report: AttemptReport): string | null {
  const { eventType, eventId, status, outcome, attempt, isExtra } = report
  const event = `${indent}${safeText(`${eventType} ${eventId}`)}`
  if (outcome !== 'acknowledged') return `${event}: ${whyFailed(report)}`
  if (!isExtra && attempt === 1) return null
  const again = isExtra ? 'came again' : `came again on retry ${attempt - 1} of the sender`
  return `${event} ${again}; answered ${status}${isDuplicate(report) ? ' as a duplicate, not handled again' : ''}`
}

/** Whether the inbox had the event before. */
function isDuplicate({ responseExcerpt }: AttemptReport): boolean {
  return responseExcerpt.startsWith('{"status":"duplicate"')
}

function whyFailed({ faults, status, failure, outcome, isExtra, at, nextAttemptAt }: AttemptReport): string {
  const causes = faults
    .filter((fault) => fault !== 'duplicate')
    .map((fault) => faultTexts[fault] ?? `${fault} on purpose`)
  const answer = status === null ? safeText(failure ?? 'no answer') : `answered ${status}`
  return [...causes, answer, whatFollows()].filter((part) => part !== null).join('; ')

  function whatFollows(): string | null {
    if (nextAttemptAt !== null) return `retried in ${roughly(nextAttemptAt - at)}`
    return outcome === 'cancelled' || isExtra ? null : 'the sender gives up'
  }
}

const minuteMs = 60_000

function roughly(ms: number): string {
  const minutes = Math.round(ms / minuteMs)
  if (minutes < 1) return `${Math.round(ms / 1_000)} s`
  return minutes < 60 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

/** Prefix of our own errors, which a remark leaves out. */
const ownCode = /^handler_(?:retryable|terminal): /

/** An entry of the log in a line: the failures of handlers in words, others as they are. */
export function logRemark({ level, msg, time, ...fields }: LogEntry): string {
  const { handler, eventId, error, nextAt } = fields
  if (typeof handler === 'string' && typeof eventId === 'string' && typeof error === 'string') {
    const failure = `${indent}${handler} failed on ${eventId} (${error.replace(ownCode, '')})`
    if (typeof nextAt !== 'string') return `${failure}; a dead letter now: onchain-inbox dead list`
    return `${failure}; tried again in ${roughly(Date.parse(nextAt) - Date.parse(time))}`
  }
  const known = Object.entries(fields).map(([name, value]) => `${name}: ${String(value)}`)
  return `${indent}${level}: ${[msg, ...known].join('; ')}`
}
