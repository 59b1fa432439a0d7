import type { ReceiverObserver } from '../receiver/receive.ts'
import type { HealthMeter } from './meter.ts'

/** Tells the metrics and the meter of what the receiver did. */
export function observeWith(metrics: ReceiverObserver, meter: HealthMeter): ReceiverObserver {
  return {
    stored(result, type) {
      metrics.stored(result, type)
      meter.stored(result)
    },
    rejected(reason) {
      metrics.rejected(reason)
      meter.rejected(reason)
    },
    refused(code) {
      metrics.refused(code)
      meter.refused(code)
    },
    acknowledged(durationMs) {
      metrics.acknowledged(durationMs)
      meter.acknowledged(durationMs)
    },
    committed: (size) => metrics.committed(size),
  }
}
