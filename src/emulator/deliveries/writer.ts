import type { Timer, Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Attempt, DeliveryStore, StoredDelivery, StoredEvent } from './port.ts'

/** Maximum delay before changes are stored. A kill can lose only changes that were reported to nobody. */
const writeAfterMs = 20
const writeAfterChanges = 1_000
/** Delay after a failed write, for example with a full disk. New changes don't shorten it. */
const retryMs = 1_000
/** Stored changes between two prunings. */
const pruneEvery = 10_000

export interface DeliveryWriterOptions {
  readonly store: DeliveryStore
  readonly wall: Clock
  readonly worldSeq: number
  readonly log: Logger
}

/** Collects changes and stores them in one transaction: with one commit per attempt, the disk would limit the send rate. */
export function createDeliveryWriter({ store, wall, log, ...begun }: DeliveryWriterOptions) {
  let { worldSeq } = begun
  let writtenWorldSeq = worldSeq
  let events: StoredEvent[] = []
  let attempts: { delivery: number; attempt: Attempt }[] = []
  let deliveries = new Set<StoredDelivery>()
  let timer: Timer | undefined
  let isFailing = false
  let isClosed = false
  let written = 0

  const changes = () => events.length + attempts.length + deliveries.size

  function flush(): void {
    const count = changes()
    if (count === 0 && worldSeq === writtenWorldSeq) return
    try {
      store.write({ events, deliveries: [...deliveries], attempts, worldSeq })
    } catch (error) {
      isFailing = true
      writeLater(retryMs)
      throw error
    }
    isFailing = false
    timer?.cancel()
    timer = undefined
    forget()
    writtenWorldSeq = worldSeq
    written += count
    if (written < pruneEvery) return
    written = 0
    store.prune()
  }

  function forget(): void {
    events = []
    attempts = []
    deliveries = new Set()
  }

  function writeLater(ms: number): void {
    if (!isClosed) timer ??= wall.after(ms, tryFlush)
  }

  function changed(): void {
    if (changes() >= writeAfterChanges && !isFailing) tryFlush()
    else writeLater(writeAfterMs)
  }

  function tryFlush(): void {
    timer = undefined
    try {
      flush()
    } catch (error) {
      log.error({ error: messageOf(error) }, 'delivery store write failed')
    }
  }

  return {
    /** Adds an event together with its deliveries. `seq` is its number in the world; null if it did not arise there. */
    event(event: StoredEvent, made: readonly StoredDelivery[], seq: number | null): void {
      events.push(event)
      for (const delivery of made) deliveries.add(delivery)
      worldSeq = seq ?? worldSeq
      changed()
    },
    /** Marks a delivery as changed. Its state at the time of the write is stored. */
    delivery(delivery: StoredDelivery): void {
      deliveries.add(delivery)
      changed()
    },
    attempt(delivery: StoredDelivery, attempt: Attempt): void {
      attempts.push({ delivery: delivery.seq, attempt })
      deliveries.add(delivery)
      changed()
    },
    /** Marks all events of the world up to this one as handled. */
    sawWorldEvent(seq: number): void {
      worldSeq = seq
      changed()
    },
    /** Stores everything now. Throws errors of the store; the changes are kept and retried. */
    flush,
    /** Drops changes that are not stored. */
    drop(): void {
      forget()
      worldSeq = 0
      writtenWorldSeq = 0
    },
    /** Stops its timer. */
    close(): void {
      isClosed = true
      timer?.cancel()
      timer = undefined
    },
  }
}
