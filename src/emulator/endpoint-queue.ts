import type { Clock, Timer } from '../clock.ts'
import { retryDelaysMs } from '../ladder.ts'
import { createDueHeap } from './heap.ts'
import type { PostResult } from './post.ts'

/** How many deliveries one endpoint gets at once (A44). */
const maxParallel = 10

/** One POST to be made. An extra delivery repeats an acknowledged event: one attempt, no ladder (R88). */
interface Delivery<E> {
  readonly event: E
  readonly attempt: number
  readonly isExtra: boolean
}

export interface Counts {
  /** Events whose delivery is settled, by how. Extra deliveries are not counted. */
  readonly acknowledged: number
  readonly undelivered: number
  /** Deliveries that wait for their time or for a free place, and those being made. */
  readonly waiting: number
  readonly inFlight: number
}

export interface EndpointQueueOptions<E> {
  readonly clock: Clock
  readonly post: (event: E) => Promise<PostResult>
  /** Whether an acknowledged event is delivered a second time. */
  readonly isRepeated: (event: E) => boolean
  /** Called after each attempt; `nextAttemptAt` is null when none follows. */
  readonly onResult: (
    delivery: Delivery<E>,
    startedAt: number,
    result: PostResult,
    nextAttemptAt: number | null,
  ) => void
}

export interface EndpointQueue<E> {
  send(event: E): void
  counts(): Counts
  /** Calls `fn` whenever something ended. */
  onChange(fn: () => void): void
  close(): void
}

/** The deliveries of one endpoint: the retry ladder on `clock`, six attempts in all, then undelivered (R80–R86). */
export function createEndpointQueue<E>(options: EndpointQueueOptions<E>): EndpointQueue<E> {
  const { clock, post, isRepeated, onResult } = options
  const heap = createDueHeap<Delivery<E>>()
  let timer: Timer | undefined
  let timerAt: number | null = null
  let inFlight = 0
  let acknowledged = 0
  let undelivered = 0
  let isClosed = false
  let changed = () => {}

  const pump = () => {
    while (inFlight < maxParallel) {
      const delivery = heap.popDue(clock.now())
      if (!delivery) break
      inFlight++
      void run(delivery)
    }
    const dueAt = inFlight < maxParallel ? heap.nextDueAt() : null
    if (dueAt === timerAt) return
    timer?.cancel()
    timerAt = dueAt
    timer = dueAt === null ? undefined : clock.after(dueAt - clock.now(), wake)
  }
  // A timer may come early: the longest one of the system is 24 days.
  const wake = () => {
    timerAt = null
    pump()
  }

  const run = async (delivery: Delivery<E>) => {
    const startedAt = clock.now()
    const result = await post(delivery.event)
    inFlight--
    if (isClosed) return
    const nextAttemptAt = settle(delivery, result)
    pump()
    onResult(delivery, startedAt, result, nextAttemptAt)
    changed()
  }

  const settle = (delivery: Delivery<E>, result: PostResult): number | null => {
    const { event, attempt, isExtra } = delivery
    if (isExtra) return null
    if (result.isAcknowledged) {
      acknowledged++
      if (isRepeated(event)) heap.push(clock.now(), { event, attempt, isExtra: true })
      return null
    }
    const delayMs = retryDelaysMs[attempt - 1]
    if (delayMs === undefined) {
      undelivered++
      return null
    }
    const dueAt = clock.now() + delayMs
    heap.push(dueAt, { event, attempt: attempt + 1, isExtra: false })
    return dueAt
  }

  return {
    send(event) {
      if (isClosed) return
      heap.push(clock.now(), { event, attempt: 1, isExtra: false })
      pump()
    },
    counts: () => ({ acknowledged, undelivered, waiting: heap.size, inFlight }),
    onChange(fn) {
      changed = fn
    },
    close() {
      isClosed = true
      timer?.cancel()
      heap.clear()
    },
  }
}
