import { retryDelaysMs } from '../ladder.ts'
import { handledBeside, type Capacity } from './capacity.ts'

/** One second, at its end. */
export interface Second {
  /** Events that were sent for the first time in it. */
  readonly arrived: number
  /** Deliveries in it that were answered 503. */
  readonly refused: number
  /** Events that are stored and not handled. */
  readonly backlog: number
  /** Events that were refused, and that the sender has yet to send again. */
  readonly outstanding: number
}

/** What became of the events that arrived. `arrived` is the sum of `stored`, `queued`, `outstanding` and `givenUp`. */
export interface Outcome {
  readonly arrived: number
  readonly stored: number
  /** Of those stored; the rest of them is the backlog of the last second. */
  readonly handled: number
  /** Not yet stored, and not yet refused. */
  readonly queued: number
  /** Deliveries that were answered 503. */
  readonly refused: number
  /** Refused, and to be sent again by the sender after the last second. */
  readonly outstanding: number
  /** Refused six times. */
  readonly givenUp: number
  readonly seconds: readonly Second[]
}

/** What waits for longer is answered 503: the default of INBOX_ACK_TIMEOUT_MS. */
const ackSeconds = 4
const delays = retryDelaysMs.map((ms) => ms / 1_000)

/**
 * Sends events, so many in each second, to an inbox with the capacity that it has in that second. What comes is stored first; what is
 * left of the second goes to handlers. More than can be stored within 4 s is refused, and comes again after the delays of the sender.
 */
export function runQueue(arrivals: readonly number[], capacityAt: (second: number) => Capacity): Outcome {
  /** By attempt from the second one on, then by second. */
  const retries = delays.map(() => new Float64Array(arrivals.length))
  const totals = { arrived: 0, stored: 0, handled: 0, refused: 0, givenUp: 0 }
  let [queued, backlog, outstanding] = [0, 0, 0]

  /** Refuses a part of what was sent in a second, each attempt alike. */
  function refuse(second: number, sent: readonly number[], part: number): void {
    for (const [attempt, events] of sent.entries()) {
      const [delay, schedule] = [delays[attempt], retries[attempt]]
      totals.refused += events * part
      if (delay === undefined || schedule === undefined) {
        totals.givenUp += events * part
        continue
      }
      outstanding += events * part
      // What is due after the last second stays outstanding.
      const at = second + delay
      if (at < schedule.length) schedule[at] = events * part
    }
  }

  const seconds = arrivals.map((arrived, second): Second => {
    const capacity = capacityAt(second)
    const { acceptPerSecond } = capacity
    const again = outstanding > 0 ? retries.map((schedule) => schedule[second] ?? 0) : []
    const [retried, before] = [sum(again), totals.refused]
    outstanding -= retried
    const waiting = queued + arrived + retried
    const stored = Math.min(waiting, acceptPerSecond)
    const surplus = Math.max(0, waiting - stored - ackSeconds * acceptPerSecond)
    if (surplus > 0) refuse(second, [arrived, ...again], Math.min(1, surplus / (arrived + retried)))
    const refused = totals.refused - before
    queued = Math.max(0, waiting - stored - refused)
    const handled = Math.min(backlog + stored, handledBeside(capacity, stored))
    backlog += stored - handled
    totals.arrived += arrived
    totals.stored += stored
    totals.handled += handled
    return { arrived, refused, backlog, outstanding }
  })
  return { ...totals, queued, outstanding, seconds }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
