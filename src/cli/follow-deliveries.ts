import { setTimeout as wait } from 'node:timers/promises'
import { safeText } from '../base/log.ts'
import type { DeliveryJson } from './control-json.ts'
import { printResult, type OutputOptions } from './output.ts'
import { createProgress } from './progress.ts'
import { timeSeenFrom } from './emulator-lines.ts'
import { InvalidArgumentError } from 'commander'

/** An item, and how its deliveries stand. */
export interface Standing<T> {
  readonly item: T
  readonly deliveries: readonly DeliveryJson[]
}

export interface FollowOptions<T> {
  /** What is followed, each with deliveries of its own. */
  readonly items: readonly T[]
  readonly look: (items: readonly T[]) => Promise<readonly Standing<T>[]>
  readonly timeoutMs: number
  /** Whether a delivery needs no more looks. Default: nothing of it is pending. */
  readonly isSettled?: (delivery: DeliveryJson) => boolean
  /** Called for each item once: when all its deliveries are settled, or with what is known when time is over. */
  readonly onEnd: (item: T, deliveries: readonly DeliveryJson[]) => void
}

const lookMs = 200
const mostAtOnce = 8

/** Looks at deliveries until all are settled, or for so long. Those of nobody are settled at once. */
export async function followDeliveries<T>(options: FollowOptions<T>): Promise<void> {
  const { items, look, timeoutMs, onEnd, isSettled = ({ state }) => state !== 'pending' } = options
  const areSettled = (deliveries: readonly DeliveryJson[]) => deliveries.every(isSettled)
  const deadline = performance.now() + timeoutMs
  const progress = createProgress()
  try {
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
  } finally {
    progress.end()
  }
}

/** Asks for the deliveries of each item, for a few at once. */
export function lookAtEach<T>(deliveriesOf: (item: T) => Promise<readonly DeliveryJson[]>): FollowOptions<T>['look'] {
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
export function printDelivery(delivery: DeliveryJson, options: OutputOptions): void {
  printResult({ msg: 'delivery', ...delivery }, options, deliveryLine)
}

function deliveryLine(delivery: DeliveryJson): string {
  const { eventType, eventId, lastStatus, lastFailure, state, url, attempts, createdAt, nextAttemptAt } = delivery
  const notes = [
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(lastFailure !== null && lastStatus === null ? [safeText(lastFailure)] : []),
    ...(nextAttemptAt === null ? [] : [`next at ${timeSeenFrom(Date.parse(createdAt), Date.parse(nextAttemptAt))}`]),
  ]
  const columns = [eventType.padEnd(27), eventId, String(lastStatus ?? '---'), state.padEnd(12), safeText(url)]
  return [...columns, notes.join(', ')].join('  ').trimEnd()
}

const longest = 86_400

/** Reads how many seconds something may take, as an option of a command. */
export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (text.trim() !== '' && seconds >= 0 && seconds <= longest) return seconds
  throw new InvalidArgumentError(`Expected a number of seconds from 0 to ${longest}.`)
}
