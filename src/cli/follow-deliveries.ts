import { setTimeout as wait } from 'node:timers/promises'
import { safeText } from '../base/log.ts'
import type { ShownDelivery } from '../emulator/control/deliveries.ts'
import { printResult, type OutputOptions } from './output.ts'
import { createProgress } from './screen.ts'
import type { AttemptReport, PlainEvent } from '../emulator/emulator.ts'

/** An item, and how its deliveries stand. */
export interface Standing<T> {
  readonly item: T
  readonly deliveries: readonly ShownDelivery[]
}

export interface FollowOptions<T> {
  /** What is followed, each with deliveries of its own. */
  readonly items: readonly T[]
  readonly look: (items: readonly T[]) => Promise<readonly Standing<T>[]>
  readonly timeoutMs: number
  /** Whether a delivery needs no more looks. Default: nothing of it is pending. */
  readonly isSettled?: (delivery: ShownDelivery) => boolean
  /** Called for each item once: when all its deliveries are settled, or with what is known when time is over. */
  readonly onEnd: (item: T, deliveries: readonly ShownDelivery[]) => void
}

const lookMs = 200
const mostAtOnce = 8

/** Looks at deliveries until all are settled, or for so long. Those of nobody are settled at once. */
export async function followDeliveries<T>(options: FollowOptions<T>): Promise<void> {
  const { items, look, timeoutMs, onEnd, isSettled = ({ state }) => state !== 'pending' } = options
  const areSettled = (deliveries: readonly ShownDelivery[]) => deliveries.every(isSettled)
  const deadline = performance.now() + timeoutMs
  using progress = createProgress()
  for (let open = items; open.length > 0;) {
    const found = await look(open)
    const isOver = performance.now() >= deadline
    progress.end()
    for (const { item, deliveries } of found) if (isOver || areSettled(deliveries)) onEnd(item, deliveries)
    if (isOver) return
    open = found.filter(({ deliveries }) => !areSettled(deliveries)).map(({ item }) => item)
    if (open.length === 0) return
    progress.show(1 - open.length / items.length, `${open.length} not yet settled`)
    await wait(Math.min(lookMs, Math.max(0, deadline - performance.now())))
  }
}

/** Asks for the deliveries of each item, for a few at once. */
export function lookAtEach<T>(deliveriesOf: (item: T) => Promise<readonly ShownDelivery[]>): FollowOptions<T>['look'] {
  return async (items) => {
    const found: Standing<T>[] = []
    for (let at = 0; at < items.length; at += mostAtOnce) {
      const some = items.slice(at, at + mostAtOnce)
      found.push(...(await Promise.all(some.map(async (item) => ({ item, deliveries: await deliveriesOf(item) })))))
    }
    return found
  }
}

/** Prints what has become of a delivery. */
export function printDelivery(delivery: ShownDelivery, options: OutputOptions): void {
  printResult({ msg: 'delivery', ...delivery }, options, deliveryLine)
}

function deliveryLine(delivery: ShownDelivery): string {
  const { eventType, eventId, lastStatus, lastFailure, state, url, attempts, createdAt, nextAttemptAt } = delivery
  const notes = [
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(lastFailure !== null && lastStatus === null ? [safeText(lastFailure)] : []),
    ...(nextAttemptAt === null ? [] : [`next at ${timeSeenFrom(Date.parse(createdAt), Date.parse(nextAttemptAt))}`]),
  ]
  const columns = [eventType.padEnd(27), eventId, String(lastStatus ?? '---'), state.padEnd(12), safeText(url)]
  return [...columns, notes.join(', ')].join('  ').trimEnd()
}

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
