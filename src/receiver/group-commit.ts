import type { Clock } from '../base/clock.ts'
import type { AcceptPort, AcceptResult, IncomingDelivery } from '../inbox/port.ts'

export interface GroupCommitOptions {
  readonly accept: AcceptPort['accept']
  readonly clock: Clock
  /** How long a delivery may wait for its commit, in milliseconds. */
  readonly ackTimeoutMs: number
  readonly onBatch: (size: number) => void
}

/** `late`: not committed in time. It may still be committed; a retry is then a duplicate. */
export type CommitResult = AcceptResult | 'late'

export type GroupCommit = ReturnType<typeof createGroupCommit>

interface Batch {
  readonly deliveries: IncomingDelivery[]
  readonly resolves: ((result: CommitResult) => void)[]
  readonly rejects: ((error: unknown) => void)[]
  readonly openedAt: number
  bytes: number
}

/**
 * Collects the deliveries of one turn of the event loop into one batch. Counters and timers are per batch, because a
 * delivery arrives every few microseconds.
 */
export function createGroupCommit(options: GroupCommitOptions) {
  const { clock } = options
  let gathering: Batch | undefined
  /** Oldest first. */
  const waiting: Batch[] = []
  /** Deliveries waiting for their commit, even after a late response: they take memory until the store is done. */
  const pending = {
    rows: 0,
    bytes: 0,
    get oldestMs() {
      const [oldest] = waiting
      return oldest === undefined ? 0 : clock.now() - oldest.openedAt
    },
  }

  async function commit(batch: Batch): Promise<void> {
    gathering = undefined
    options.onBatch(batch.deliveries.length)
    const timer = clock.after(options.ackTimeoutMs, () => {
      for (const resolve of batch.resolves) resolve('late')
    })
    try {
      const results = await options.accept(batch.deliveries)
      // Only after the durable commit may a delivery be acknowledged.
      batch.resolves.forEach((resolve, index) => resolve(results[index] ?? 'late'))
    } catch (error) {
      for (const reject of batch.rejects) reject(error)
    } finally {
      timer.cancel()
      waiting.splice(waiting.indexOf(batch), 1)
      pending.rows -= batch.deliveries.length
      pending.bytes -= batch.bytes
    }
  }

  function openBatch(): Batch {
    const batch: Batch = { deliveries: [], resolves: [], rejects: [], openedAt: clock.now(), bytes: 0 }
    waiting.push(batch)
    setImmediate(() => void commit(batch))
    return batch
  }

  return {
    add(delivery: IncomingDelivery): Promise<CommitResult> {
      const batch = (gathering ??= openBatch())
      pending.rows++
      pending.bytes += delivery.raw.length
      batch.bytes += delivery.raw.length
      batch.deliveries.push(delivery)
      return new Promise((resolve, reject) => {
        batch.resolves.push(resolve)
        batch.rejects.push(reject)
      })
    },
    pending: pending as Readonly<typeof pending>,
  }
}
