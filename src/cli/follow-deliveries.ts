import PQueue from 'p-queue'
import { setTimeout as wait } from 'node:timers/promises'
import { safeText } from '../base/log.ts'
import type { ShownDelivery, ShownReport } from '../emulator/control/deliveries.ts'
import type { ControlClient } from './control-client.ts'
import { printResult, type OutputOptions, createProgress } from './output.ts'
import type { PlainEvent } from '../emulator/emulator.ts'

const pollMs = 200
const concurrency = 8

/**
 * Polls the deliveries of events. Calls `onEnd` once per event: when all its deliveries are settled, or at the timeout.
 * An id is null if the event hasn't arisen.
 */
export async function followDeliveries(
  { deliveriesOf }: Pick<ControlClient, 'deliveriesOf'>,
  eventIds: readonly (string | null)[],
  timeoutMs: number,
  onEnd: (eventId: string | null, deliveries: readonly ShownDelivery[]) => void,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  using progress = createProgress()
  for (let unsettled = eventIds; unsettled.length > 0;) {
    const reads = unsettled.map((eventId) => async () => ({
      eventId,
      deliveries: eventId === null ? [] : await deliveriesOf(eventId),
    }))
    const current = await new PQueue({ concurrency }).addAll(reads)
    const isTimeUp = performance.now() >= deadline
    progress.end()
    unsettled = []
    for (const { eventId, deliveries } of current) {
      if (isTimeUp || deliveries.every(({ state }) => state !== 'pending')) onEnd(eventId, deliveries)
      else unsettled = [...unsettled, eventId]
    }
    if (unsettled.length === 0) return
    progress.show(1 - unsettled.length / eventIds.length, `${unsettled.length} not yet settled`)
    await wait(Math.min(pollMs, Math.max(0, deadline - performance.now())))
  }
}

export function printDelivery(delivery: ShownDelivery, options: OutputOptions): void {
  printResult({ msg: 'delivery', ...delivery }, options, deliveryLine)
}

function deliveryLine(delivery: ShownDelivery): string {
  const { eventType, eventId, lastStatus, lastFailure, state, url, attempts, createdAt } = delivery
  const notes = notesOf(createdAt, lastStatus, lastFailure, delivery.nextAttemptAt)
  const columns = [eventType.padEnd(27), eventId, String(lastStatus ?? '---'), state.padEnd(12), safeText(url)]
  return lineOf(columns, [...(attempts > 1 ? [`${attempts} attempts`] : []), ...notes])
}

/** An event without a webhook, as a line for people. */
export function eventLine({ id, type, created_at }: PlainEvent): string {
  return lineOf([created_at.slice(11, 19), type.padEnd(27), id], [])
}

/** An attempt as a line for people. It names the endpoint if there are several. */
export function attemptLine(report: ShownReport, hasSeveral: boolean): string {
  const { at, url, eventType, eventId, status, outcome, latencyMs, attempt, isExtra, failure } = report
  const faults = report.faults.filter((fault) => fault !== 'duplicate').map((fault) => `fault ${fault}`)
  const which = isExtra ? ['delivered again'] : attempt > 1 ? [`retry ${attempt - 1}`] : []
  const endpoint = hasSeveral ? [shortUrl(url)] : []
  const result = [String(status ?? '---'), outcome.padEnd(12), `${latencyMs} ms`.padStart(7)]
  return lineOf(
    [at.slice(11, 19), eventType.padEnd(27), eventId, ...endpoint, ...result],
    [...which, ...faults, ...notesOf(at, status, failure, report.nextAttemptAt)],
  )
}

function lineOf(columns: readonly string[], notes: readonly string[]): string {
  return [...columns, notes.join(', ')].join('  ').trimEnd()
}

function notesOf(at: string, status: number | null, failure: string | null, nextAt: string | null): string[] {
  return [
    ...(failure !== null && status === null ? [safeText(failure)] : []),
    ...(nextAt === null ? [] : [`next at ${timeSeenFrom(at, nextAt)}`]),
  ]
}

const shownUrl = 36
const urlEnd = 16

/** Host, port and path, shortened in the middle. */
function shortUrl(url: string): string {
  const { host, pathname } = new URL(url)
  const text = safeText(`${host}${pathname}`, url.length)
  if (text.length <= shownUrl) return text.padEnd(shownUrl)
  return `${text.slice(0, shownUrl - urlEnd - 1)}…${text.slice(-urlEnd)}`
}

/** Time of day of `at`, with its date unless both are on the same day. */
export function timeSeenFrom(other: string, at: string): string {
  const [date, time] = [at.slice(0, 10), at.slice(11, 19)]
  return other.startsWith(date) ? time : `${date} ${time}`
}
