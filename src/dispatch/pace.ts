import type { Clock } from '../base/clock.ts'
import { Histogram, type HistogramData } from '../base/histogram.ts'
import type { AttemptResult, EndedAttempt } from './dispatcher.ts'

/** Number of attempts of a handler that ended with one result since the last report. */
export interface SettledCount {
  readonly handler: string
  readonly kind: AttemptResult
  readonly count: number
  readonly durations: HistogramData
  /** The latest failed attempt; absent: none failed. */
  readonly error?: FailedAttempt
}

export interface FailedAttempt {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly name: string
  readonly message: string
}

/** Characters of an error's message in a report. */
const maxMessage = 300

/** Counts ended attempts until the next report. */
export class SettledCounter {
  #counts = new Map<string, SettledCount & { count: number; readonly durations: Histogram; error?: FailedAttempt }>()

  add(handler: string, kind: AttemptResult, durationMs: number, outcome: EndedAttempt['outcome']): void {
    const name = `${kind} ${handler}`
    const entry = this.#counts.get(name) ?? { handler, kind, count: 0, durations: new Histogram() }
    entry.count++
    entry.durations.observe(durationMs)
    if ('error' in outcome) {
      const { name: errorName, message } = outcome.error
      entry.error = { at: outcome.endedAt, name: errorName, message: message.slice(0, maxMessage) }
    }
    this.#counts.set(name, entry)
  }

  /** Returns everything counted since the last call. */
  take(): SettledCount[] {
    const taken = [...this.#counts.values()]
    this.#counts = new Map()
    return taken
  }
}

const slotMs = 10_000
const rateSlots = 6
const latencySlots = 30

interface Slot {
  readonly at: number
  attempts: number
  failures: number
  readonly durations: Histogram
  error: FailedAttempt | null
}

/** Skipped runs are not attempts. */
const notRun: ReadonlySet<SettledCount['kind']> = new Set(['expired', 'unmatched'])
const failed: ReadonlySet<SettledCount['kind']> = new Set(['retry', 'dead'])

export type HandlerPace = Readonly<ReturnType<ReturnType<typeof createPaces>['of']>>

/** Collects the counts of runners, and computes the pace of a handler. */
export function createPaces({ now }: Pick<Clock, 'now'>) {
  /** Slots by handler, oldest first. */
  const slots = new Map<string, Slot[]>()

  const slotAt = (ms: number) => Math.floor(ms / slotMs)

  function slotOf(handler: string): Slot {
    const at = slotAt(now())
    const known = slots.get(handler) ?? []
    // Drops slots in the future, from before the clock was set back: they would count for too long.
    const recent = known.filter((slot) => slot.at > at - latencySlots && slot.at <= at)
    const last = recent.at(-1)
    const slot = last?.at === at ? last : { at, attempts: 0, failures: 0, durations: new Histogram(), error: null }
    slots.set(handler, slot === last ? recent : [...recent, slot])
    return slot
  }

  return {
    add(counts: readonly SettledCount[]): void {
      for (const { handler, kind, count, durations, error } of counts) {
        if (notRun.has(kind)) continue
        const slot = slotOf(handler)
        slot.attempts += count
        if (failed.has(kind)) slot.failures += count
        slot.durations.add(durations)
        if (error !== undefined && error.at >= (slot.error?.at ?? 0)) slot.error = error
      }
    },
    /** Recent attempts of a handler, in this process. */
    of(handler: string) {
      const at = slotAt(now())
      const known = slots.get(handler) ?? []
      const recent = known.filter((slot) => slot.at > at - latencySlots && slot.at <= at)
      // A failed run may wait for hours: until then the latest attempts count.
      const latest = recent.length > 0 ? recent : known.slice(-1)
      const minute = recent.filter((slot) => slot.at > at - rateSlots)
      // The current slot is not over, so it counts for its elapsed part only.
      const seconds = ((rateSlots - 1) * slotMs + (now() % slotMs) + 1) / 1_000
      const durations = new Histogram()
      const attempts = total(latest, 'attempts')
      const series = Array.from({ length: latencySlots }, () => 0)
      for (const slot of recent) {
        durations.add(slot.durations)
        series[latencySlots - 1 - (at - slot.at)] = slot.attempts
      }
      return {
        /** Attempts that ended per second, over the last minute. */
        perSecond: total(minute, 'attempts') / seconds,
        /** Share of failed attempts of the last five minutes, or of the latest ten seconds with any; null: no attempts. */
        errorRate: attempts === 0 ? null : total(latest, 'failures') / attempts,
        /** Percentiles over the last five minutes; null: no attempts. */
        p50Ms: durations.quantile(0.5),
        p95Ms: durations.quantile(0.95),
        p99Ms: durations.quantile(0.99),
        /** Attempts that ended in each ten seconds of the last five minutes, oldest first. */
        series,
        /** The latest failed attempt of the same time; null: none failed. */
        lastError: latest.findLast(({ error }) => error !== null)?.error ?? null,
      }
    },
  }
}

function total(slots: readonly Slot[], member: 'attempts' | 'failures'): number {
  return slots.reduce((sum, slot) => sum + slot[member], 0)
}
