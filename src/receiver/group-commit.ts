import type { Clock } from '../base/clock.ts'
import type { AcceptPort, AcceptResult, IncomingDelivery } from '../inbox/port.ts'

export interface GroupCommitOptions {
  readonly accept: AcceptPort['accept']
  readonly clock: Clock
  /** How long an arrival may wait for its commit. */
  readonly ackTimeoutMs: number
  readonly onBatch: (size: number) => void
}

/** `late`: not committed in time. It may still be, and then the same event sent again is a duplicate. */
export type CommitResult = AcceptResult | 'late'

export interface GroupCommit {
  add(arrival: IncomingDelivery): Promise<CommitResult>
  /** What waits for its commit, also beyond its answer: it takes room until the inbox is done with it. */
  readonly pending: { readonly rows: number; readonly bytes: number; readonly oldestMs: number }
}

interface Batch {
  readonly arrivals: IncomingDelivery[]
  readonly resolves: ((result: CommitResult) => void)[]
  readonly rejects: ((error: unknown) => void)[]
  readonly since: number
  bytes: number
}

/**
 * Gathers the arrivals of one turn of the event loop into one batch for the inbox. Everything that is counted or timed is so
 * per batch, because an arrival comes every few microseconds.
 */
export function createGroupCommit(options: GroupCommitOptions): GroupCommit {
  const { clock } = options
  let gathering: Batch | undefined
  const waiting = new Set<Batch>()
  let rows = 0
  let bytes = 0

  async function commit(batch: Batch): Promise<void> {
    gathering = undefined
    options.onBatch(batch.arrivals.length)
    const timer = clock.after(options.ackTimeoutMs, () => {
      for (const resolve of batch.resolves) resolve('late')
    })
    try {
      const results = await options.accept(batch.arrivals)
      // Only here, behind the durable commit, may an arrival be acknowledged.
      batch.resolves.forEach((resolve, index) => resolve(results[index] ?? 'late'))
    } catch (error) {
      for (const reject of batch.rejects) reject(error)
    } finally {
      timer.cancel()
      waiting.delete(batch)
      rows -= batch.arrivals.length
      bytes -= batch.bytes
    }
  }

  function openBatch(): Batch {
    const batch: Batch = { arrivals: [], resolves: [], rejects: [], since: clock.now(), bytes: 0 }
    waiting.add(batch)
    setImmediate(() => void commit(batch))
    return batch
  }

  return {
    add(arrival) {
      const batch = (gathering ??= openBatch())
      rows++
      bytes += arrival.raw.length
      batch.bytes += arrival.raw.length
      batch.arrivals.push(arrival)
      return new Promise((resolve, reject) => {
        batch.resolves.push(resolve)
        batch.rejects.push(reject)
      })
    },
    pending: {
      get rows() {
        return rows
      },
      get bytes() {
        return bytes
      },
      get oldestMs() {
        // A Set keeps insertion order: its first entry is the oldest.
        const oldest = waiting.values().next().value
        return oldest === undefined ? 0 : clock.now() - oldest.since
      },
    },
  }
}
