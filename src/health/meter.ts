import { hourMs, minuteMs, type Clock } from '../base/clock.ts'
import { Histogram } from '../base/histogram.ts'
import type { AcceptResult, ActivityQuery } from '../inbox/port.ts'

/** How long the sender waits for a response, in milliseconds (R79). */
export const ackBudgetMs = 5_000

const secondMs = 1_000

/** Reject reasons that a genuine sender can cause. A wrong signature is not among them. */
export const rejections = ['body_too_large', 'content_encoding_unsupported', 'bad_request', 'body_incomplete'] as const
export type Rejection = (typeof rejections)[number]
export type RejectionCounts = Readonly<Record<Rejection, number>>

const counters = ['acknowledged', 'late', 'refused', 'unusable', 'mismatched', 'signed', 'old', ...rejections] as const
type Counter = (typeof counters)[number]

/** Counts of one unit of time, or of several. */
interface Counts extends Record<Counter, number> {
  /** Start of the unit, in milliseconds since 1970. */
  readonly at: number
  /** Durations of 2xx responses; null: none. */
  acks: Histogram | null
}

const noCounts = (at: number): Counts => ({
  ...(Object.fromEntries(counters.map((name) => [name, 0])) as Record<Counter, number>),
  at,
  acks: null,
})

/** Counts per unit of time. Each slot is reused once it is too old. */
class Ring {
  readonly #unitMs: number
  readonly #slots: (Counts | undefined)[]

  constructor(unitMs: number, slots: number) {
    this.#unitMs = unitMs
    this.#slots = Array.from({ length: slots })
  }

  /** Counts of the current unit. */
  at(now: number): Counts {
    const unit = Math.floor(now / this.#unitMs)
    const slot = unit % this.#slots.length
    const known = this.#slots[slot]
    if (known?.at === unit * this.#unitMs) return known
    return (this.#slots[slot] = noCounts(unit * this.#unitMs))
  }

  /** Non-empty units from `from` until before `to`, oldest first. */
  between(from: number, to: number): Counts[] {
    return this.#slots
      .filter((counts) => counts !== undefined && counts.at >= from && counts.at < to)
      .toSorted((a, b) => (a?.at ?? 0) - (b?.at ?? 0)) as Counts[]
  }
}

function sum(units: readonly Counts[]): Counts {
  const all = noCounts(units[0]?.at ?? 0)
  for (const unit of units) {
    for (const name of counters) all[name] += unit[name]
    if (unit.acks !== null) (all.acks ??= new Histogram()).add(unit.acks)
  }
  return all
}

export type HealthMeter = ReturnType<typeof createMeter>
export type SenderMeter = Readonly<ReturnType<HealthMeter['summary']>>
export type AckBucket = Readonly<ReturnType<HealthMeter['acks']>[number]>

/**
 * Counts the receiver's responses in memory: per second for an hour and per minute for a day. `unusableStatus`: the
 * response to signed deliveries that can't be parsed. `ackLimitMs`: later responses are late; null: none is. `mismatchReasons`:
 * reasons that count as an unknown secret.
 */
export function createMeter(
  clock: Pick<Clock, 'now'>,
  unusableStatus = 200,
  ackLimitMs: number | null = ackBudgetMs,
  mismatchReasons: readonly string[] = ['mismatch'],
) {
  const seconds = new Ring(secondMs, 3_600)
  const minutes = new Ring(minuteMs, 1_440)
  const startedAt = clock.now()
  const totals = { acknowledged: 0, late: 0, refused: 0, unusable: 0 }

  function countDelivery(result: keyof typeof totals, durationMs?: number): void {
    const now = clock.now()
    totals[result]++
    for (const unit of [seconds.at(now), minutes.at(now)]) {
      unit[result]++
      if (durationMs !== undefined) (unit.acks ??= new Histogram()).observe(durationMs)
    }
  }

  /** Counts of the last `windowMs`, at most an hour, the current second included. */
  function countsOf(windowMs: number): Counts {
    const now = clock.now()
    return sum(seconds.between(now - Math.min(windowMs, hourMs), now + 1))
  }

  return {
    /** A delivery was answered with 2xx after `durationMs`. */
    acknowledged: (durationMs: number) =>
      countDelivery(durationMs > (ackLimitMs ?? Infinity) ? 'late' : 'acknowledged', durationMs),
    /** A signature was valid and covers a time. */
    signed(isOld: boolean): void {
      const unit = seconds.at(clock.now())
      unit.signed++
      if (isOld) unit.old++
    },
    /** A delivery was answered with 503. */
    refused: () => countDelivery('refused'),
    /** A request was permanently rejected, or incomplete: it may not have been a delivery. */
    rejected(reason: string): void {
      if (mismatchReasons.includes(reason)) seconds.at(clock.now()).mismatched++
      else if ((rejections as readonly string[]).includes(reason)) seconds.at(clock.now())[reason as Rejection]++
    },
    /** The result of storing a signed delivery. */
    stored(result: AcceptResult): void {
      // Any response other than 2xx is a failure to the sender (R79).
      if (result === 'quarantined' && unusableStatus >= 300) countDelivery('unusable')
    },
    /**
     * Deliveries of the last `windowMs`, at most an hour. The default sender counts any 2xx within 5 s as a success (R43,
     * R44, R79). Includes authentic deliveries and all 503 responses, even before the signature was checked. Excludes
     * permanently rejected requests: anyone may have sent them.
     */
    summary(windowMs: number) {
      const { acknowledged, late, refused, unusable, acks } = countsOf(windowMs)
      const deliveries = acknowledged + late + refused + unusable
      return {
        windowMs: Math.min(windowMs, hourMs, Math.max(secondMs, clock.now() - startedAt)),
        deliveries,
        acknowledged,
        /** 2xx responses after the sender's time limit. */
        late,
        /** 503 responses. */
        refused,
        /** Authentic deliveries answered 422 because they are not usable events (INBOX_UNUSABLE_STATUS). */
        unusable,
        /** Null: no deliveries. */
        successRate: deliveries === 0 ? null : acknowledged / deliveries,
        p50Ms: acks?.quantile(0.5) ?? null,
        p99Ms: acks?.quantile(0.99) ?? null,
        maxMs: acks?.maxMs ?? null,
      }
    },
    /** Responses to deliveries per time bucket. Skips empty buckets. A minute belongs to one bucket as a whole. */
    acks({ from, to, bucketMs }: ActivityQuery) {
      const bucketOf = ({ at }: Counts) => from + Math.floor((at - from) / bucketMs) * bucketMs
      return [...Map.groupBy(minutes.between(from, to), bucketOf)].flatMap(([at, units]) => {
        const { acknowledged, late, refused, unusable, acks } = sum(units)
        // To the sender a late response is a failure.
        const failed = refused + late + unusable
        if (acknowledged + failed === 0) return []
        return [
          { at, p50Ms: acks?.quantile(0.5) ?? 0, p99Ms: acks?.quantile(0.99) ?? 0, acknowledged, refused: failed },
        ]
      })
    },
    /** Requests without a valid signature in the last `windowMs`, at most an hour. */
    mismatches: (windowMs: number): number => countsOf(windowMs).mismatched,
    /** Valid signatures with a time in the last `windowMs`, at most an hour. `old`: how many of these times are too old. */
    signatures(windowMs: number): { readonly signed: number; readonly old: number } {
      const { signed, old } = countsOf(windowMs)
      return { signed, old }
    },
    /** Requests that may be deliveries and were rejected in the last `windowMs`, at most an hour. */
    rejections: (windowMs: number): RejectionCounts => countsOf(windowMs),
    /** Deliveries since the start. */
    totals: (): Readonly<typeof totals> => totals,
  }
}
