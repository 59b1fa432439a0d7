import type { Clock } from '../base/clock.ts'
import type { AcceptResult } from '../inbox/port.ts'
import { ackQuantile } from './ack-histogram.ts'
import { AckRing, type AckSum } from './ack-ring.ts'
import type { AckBucket, Meter, SenderMeter } from './port.ts'
import { isRejection, rejections, type Rejection } from './rejections.ts'

/** The sender waits so long for an answer (R79). */
export const ackBudgetMs = 5_000

const secondMs = 1_000
const minuteMs = 60_000
const hourMs = 3_600_000
const rateSeconds = 10

export interface SenderTotals {
  readonly acknowledged: number
  readonly late: number
  readonly refused: number
  readonly unusable: number
}

/** How many requests were refused for good, by reason. */
export type RejectionCounts = Readonly<Record<Rejection, number>>

/** A meter with what the warnings and the metrics of this process need beside. */
export interface HealthMeter extends Meter {
  /** An authentic delivery was stored, or known already. */
  stored(result: AcceptResult): void
  /** Requests of the last `windowMs`, at most an hour, whose signature was that of another secret. */
  mismatches(windowMs: number): number
  /** Requests of the last `windowMs`, at most an hour, that the sender may have sent, and that were refused for good. */
  rejections(windowMs: number): RejectionCounts
  /** Since the start. */
  totals(): SenderTotals
}

/**
 * Counts per second for an hour and per minute for a day, in about 3 MB that are taken at once. `unusableStatus`: what authentic
 * deliveries that are no usable event are answered with; default 200.
 */
export function createMeter(clock: Pick<Clock, 'now'>, unusableStatus = 200): HealthMeter {
  const seconds = new AckRing(secondMs, 3_600)
  const minutes = new AckRing(minuteMs, 1_440)
  const startedAt = clock.now()
  const totals = { acknowledged: 0, late: 0, refused: 0, unusable: 0 }
  let rejects = 0

  /** The seconds of the last `windowMs`, the running one included. */
  function lately(windowMs: number): AckSum {
    const now = clock.now()
    return seconds.sum(seconds.units(now - Math.min(windowMs, hourMs), now + 1))
  }

  return {
    acknowledged(durationMs) {
      const now = clock.now()
      const isLate = durationMs > ackBudgetMs
      if (isLate) totals.late++
      else totals.acknowledged++
      seconds.acknowledged(now, durationMs, isLate)
      minutes.acknowledged(now, durationMs, isLate)
    },
    refused() {
      const now = clock.now()
      totals.refused++
      seconds.count(now, 'refused')
      minutes.count(now, 'refused')
    },
    rejected(reason) {
      rejects++
      if (reason === 'mismatch') seconds.count(clock.now(), 'mismatched')
      else if (isRejection(reason)) seconds.count(clock.now(), reason)
    },
    stored(result) {
      if (result === 'accepted' || result === 'duplicate') seconds.count(clock.now(), 'taken')
      if (result !== 'quarantined' || unusableStatus < 300) return
      // Any other answer than 2xx is a failure to the sender (R79).
      const now = clock.now()
      totals.unusable++
      seconds.count(now, 'unusable')
      minutes.count(now, 'unusable')
    },
    summary(windowMs) {
      const sinceStart = Math.max(secondMs, clock.now() - startedAt)
      return toSenderMeter(lately(windowMs), Math.min(windowMs, hourMs, sinceStart))
    },
    acks({ from, to, bucketMs }) {
      // Of the last hour in seconds only where minutes are too coarse: a minute that has begun is all of it in its bucket.
      const ring = bucketMs < minuteMs ? seconds : minutes
      const buckets = Map.groupBy(ring.units(from, to), (at) => from + Math.floor((at - from) / bucketMs) * bucketMs)
      return [...buckets].flatMap(([at, units]) => toAckBucket(at, ring.sum(units)))
    },
    mismatches: (windowMs) => lately(windowMs).mismatched,
    rejections(windowMs) {
      const sum = lately(windowMs)
      return Object.fromEntries(rejections.map((reason) => [reason, sum[reason]])) as RejectionCounts
    },
    perSecond() {
      const now = clock.now()
      // Without the running second, which has only begun.
      const end = Math.floor(now / secondMs) * secondMs
      const units = seconds.units(end - rateSeconds * secondMs, end)
      const elapsed = Math.min(rateSeconds, Math.max(1, (end - startedAt) / secondMs))
      return units.reduce((sum, at) => sum + seconds.number(at, 'taken'), 0) / elapsed
    },
    rejects: () => rejects,
    totals: () => totals,
  }
}

function toSenderMeter(sum: AckSum, windowMs: number): SenderMeter {
  const { acknowledged, late, refused, unusable, maxMs, counts } = sum
  const deliveries = acknowledged + late + refused + unusable
  return {
    windowMs,
    deliveries,
    acknowledged,
    late,
    refused,
    unusable,
    successRate: deliveries === 0 ? null : acknowledged / deliveries,
    p50Ms: ackQuantile(counts, 0.5, maxMs),
    p99Ms: ackQuantile(counts, 0.99, maxMs),
    maxMs: acknowledged + late === 0 ? null : maxMs,
  }
}

function toAckBucket(at: number, { acknowledged, late, refused, unusable, maxMs, counts }: AckSum): AckBucket[] {
  if (acknowledged + late + refused + unusable === 0) return []
  return [
    {
      at,
      p50Ms: ackQuantile(counts, 0.5, maxMs) ?? 0,
      p99Ms: ackQuantile(counts, 0.99, maxMs) ?? 0,
      acknowledged,
      // To the sender an answer that comes too late is none.
      refused: refused + late + unusable,
    },
  ]
}
