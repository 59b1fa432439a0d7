import type { Timer, Clock } from '../../clock.ts'
import { messageOf } from '../../errors.ts'
import type { Logger } from '../../log.ts'
import type { Attempt, DeliveryStore, StoredDelivery, StoredEvent } from './port.ts'

/** How long something waits, at most, to be written down with others: what a kill can take back was told to nobody. */
const writeAfterMs = 20
const writeAfterChanges = 1_000
const retryMs = 1_000
/** Between two looks at what is no longer to be kept. */
const pruneEvery = 20_000

/** Collects what changes, and writes it in one transaction. */
export interface DeliveryWriter {
  event(event: StoredEvent): void
  /** The delivery as it is when the batch is written. */
  delivery(delivery: StoredDelivery): void
  attempt(delivery: StoredDelivery, attempt: Attempt): void
  /** Deliveries know of all events of the world up to this one. */
  sawWorldEvent(seq: number): void
  /** Writes all of it now. Throws what the store throws; then it is kept, and tried again. */
  flush(): void
  /** Forgets what is not written. */
  drop(): void
  /** No more timers. */
  close(): void
}

export interface DeliveryWriterOptions {
  readonly store: DeliveryStore
  readonly wall: Clock
  readonly worldSeq: number
  readonly log: Logger
}

/** Group commits: a commit per attempt would make the disk the limit of what is sent. */
export function createDeliveryWriter({ store, wall, log, ...begun }: DeliveryWriterOptions): DeliveryWriter {
  let { worldSeq } = begun
  let writtenWorldSeq = worldSeq
  let events: StoredEvent[] = []
  let attempts: { delivery: number; attempt: Attempt }[] = []
  let deliveries = new Set<StoredDelivery>()
  let timer: Timer | undefined
  let written = 0

  function flush(): void {
    timer?.cancel()
    timer = undefined
    const changes = events.length + attempts.length + deliveries.size
    if (changes === 0 && worldSeq === writtenWorldSeq) return
    store.write({ events, deliveries: [...deliveries], attempts, worldSeq })
    forget()
    writtenWorldSeq = worldSeq
    written += changes
    if (written < pruneEvery) return
    written = 0
    store.prune()
  }

  function forget(): void {
    events = []
    attempts = []
    deliveries = new Set()
  }

  function changed(): void {
    if (events.length + attempts.length + deliveries.size >= writeAfterChanges) tryFlush()
    else timer ??= wall.after(writeAfterMs, tryFlush)
  }

  function tryFlush(): void {
    try {
      flush()
    } catch (error) {
      log.error({ error: messageOf(error) }, 'deliveries could not be written down; tried again in a second')
      timer = wall.after(retryMs, tryFlush)
    }
  }

  return {
    event(event) {
      events.push(event)
      changed()
    },
    delivery(delivery) {
      deliveries.add(delivery)
      changed()
    },
    attempt(delivery, attempt) {
      attempts.push({ delivery: delivery.seq, attempt })
      deliveries.add(delivery)
      changed()
    },
    sawWorldEvent(seq) {
      worldSeq = seq
      changed()
    },
    flush,
    drop() {
      forget()
      worldSeq = 0
      writtenWorldSeq = 0
    },
    close() {
      timer?.cancel()
      timer = undefined
    },
  }
}
