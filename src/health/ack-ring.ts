import { ackBucketOf, ackBuckets } from './ack-histogram.ts'
import { rejections } from './rejections.ts'

const counters = ['refused', 'mismatched', 'taken', 'unusable', ...rejections] as const
const allCounters = ['acknowledged', 'late', ...counters] as const

export type AckCounter = (typeof counters)[number]
type Numbers<N> = Record<(typeof allCounters)[number], N>

/** What was counted in some time, added up. */
export interface AckSum extends Numbers<number> {
  maxMs: number
  /** By `ackBucketOf`, late ones included. */
  readonly counts: Float64Array
}

/**
 * Counts per unit of time for as many units as it has slots; what is older is overwritten. All of its memory is taken at the begin,
 * and counting allocates nothing.
 */
export class AckRing {
  readonly unitMs: number
  readonly #slots: number
  /** The unit of time that a slot is of, counted since 1970. */
  readonly #units: Float64Array
  readonly #numbers: Readonly<Numbers<Uint32Array>>
  readonly #maxMs: Float64Array
  readonly #counts: Uint32Array

  constructor(unitMs: number, slots: number) {
    this.unitMs = unitMs
    this.#slots = slots
    this.#units = new Float64Array(slots).fill(-1)
    this.#numbers = perCounter(() => new Uint32Array(slots))
    this.#maxMs = new Float64Array(slots)
    this.#counts = new Uint32Array(slots * ackBuckets)
  }

  /** An answer in the 200s; `isLate`: after the sender had stopped to wait. */
  acknowledged(now: number, durationMs: number, isLate: boolean): void {
    const slot = this.#slotAt(now)
    const numbers = isLate ? this.#numbers.late : this.#numbers.acknowledged
    numbers[slot] = (numbers[slot] ?? 0) + 1
    const bucket = slot * ackBuckets + ackBucketOf(durationMs)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    if (durationMs > (this.#maxMs[slot] ?? 0)) this.#maxMs[slot] = durationMs
  }

  count(now: number, what: AckCounter): void {
    const slot = this.#slotAt(now)
    const numbers = this.#numbers[what]
    numbers[slot] = (numbers[slot] ?? 0) + 1
  }

  /** Units from `from` until before `to` in which something was counted, oldest first: when each began. */
  units(from: number, to: number): number[] {
    const found: number[] = []
    for (const unit of this.#units) {
      const at = unit * this.unitMs
      if (unit >= 0 && at >= from && at < to) found.push(at)
    }
    return found.toSorted((a, b) => a - b)
  }

  /** What was counted in the unit that began then. */
  number(at: number, what: AckCounter): number {
    const slot = this.#find(at)
    return slot === undefined ? 0 : (this.#numbers[what][slot] ?? 0)
  }

  /** Adds up the units that began at these times. */
  sum(units: readonly number[]): AckSum {
    const sum: AckSum = { ...perCounter(() => 0), maxMs: 0, counts: new Float64Array(ackBuckets) }
    for (const at of units) {
      const slot = this.#find(at)
      if (slot === undefined) continue
      for (const what of allCounters) sum[what] += this.#numbers[what][slot] ?? 0
      sum.maxMs = Math.max(sum.maxMs, this.#maxMs[slot] ?? 0)
      for (let bucket = 0; bucket < ackBuckets; bucket++)
        sum.counts[bucket] = (sum.counts[bucket] ?? 0) + (this.#counts[slot * ackBuckets + bucket] ?? 0)
    }
    return sum
  }

  #find(at: number): number | undefined {
    const unit = Math.floor(at / this.unitMs)
    const slot = unit % this.#slots
    return this.#units[slot] === unit ? slot : undefined
  }

  #slotAt(now: number): number {
    const unit = Math.floor(now / this.unitMs)
    const slot = unit % this.#slots
    if (this.#units[slot] !== unit) {
      this.#units[slot] = unit
      for (const numbers of Object.values(this.#numbers)) numbers[slot] = 0
      this.#maxMs[slot] = 0
      this.#counts.fill(0, slot * ackBuckets, (slot + 1) * ackBuckets)
    }
    return slot
  }
}

function perCounter<N>(make: () => N): Numbers<N> {
  return Object.fromEntries(allCounters.map((what) => [what, make()])) as Numbers<N>
}
