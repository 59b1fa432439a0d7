import type { AttemptReport, PlainEvent } from '../emulator/emulator.ts'
import { safeText } from '../base/log.ts'

/** An event that nobody gets, in a line for people. */
export function eventLine({ id, type, created_at }: PlainEvent): string {
  return `${created_at.slice(11, 19)}  ${type.padEnd(27)}  ${id}`
}

/** An attempt of a delivery, to be printed as JSON. */
export function attemptJson(report: AttemptReport): object {
  return {
    msg: 'attempt',
    ...report,
    at: new Date(report.at).toISOString(),
    nextAttemptAt: report.nextAttemptAt === null ? null : new Date(report.nextAttemptAt).toISOString(),
  }
}

/** The same in a line for people, which names the endpoint if there are several. */
export function attemptLine(report: AttemptReport, areSeveral: boolean): string {
  const { at, url, eventType, eventId, status, outcome, latencyMs, attempt, isExtra, failure, nextAttemptAt } = report
  const notes = [
    ...(isExtra ? ['delivered again'] : attempt > 1 ? [`retry ${attempt - 1}`] : []),
    ...(failure !== null && status === null ? [safeText(failure)] : []),
    ...(nextAttemptAt === null ? [] : [`next at ${timeSeenFrom(at, nextAttemptAt)}`]),
  ]
  return [
    timeOfDay(at),
    eventType.padEnd(27),
    eventId,
    ...(areSeveral ? [shortUrl(url)] : []),
    String(status ?? '---'),
    outcome.padEnd(12),
    `${latencyMs} ms`.padStart(7),
    notes.join(', '),
  ]
    .join('  ')
    .trimEnd()
}

const shownUrl = 36
const urlEnd = 16

/** Host, port and path; the middle of a long one is left out. */
function shortUrl(url: string): string {
  const { host, pathname } = new URL(url)
  const text = safeText(`${host}${pathname}`, url.length)
  if (text.length <= shownUrl) return text.padEnd(shownUrl)
  return `${text.slice(0, shownUrl - urlEnd - 1)}…${text.slice(-urlEnd)}`
}

/** The time of day of an instant, in UTC. */
function timeOfDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 19)
}

/** The time of day of `atMs`, with its date unless both instants are of the same day. */
export function timeSeenFrom(otherMs: number, atMs: number): string {
  const [other, date] = [otherMs, atMs].map((ms) => new Date(ms).toISOString().slice(0, 10))
  return date === other ? timeOfDay(atMs) : `${date} ${timeOfDay(atMs)}`
}
