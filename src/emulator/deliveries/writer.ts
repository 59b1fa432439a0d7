import type { Timer, Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/log.ts'
import type { Attempt, DeliveryStore, StoredDelivery, StoredEvent } from './port.ts'

/** How long something waits, at most, to be written down with others: what a kill can take back was told to nobody. */
const writeAfterMs = 20
const writeAfterChanges = 1_000
/** After a write that failed, as when the disk is full, the next is tried so much later, whatever comes in between. */
const retryMs = 1_000
/** Between two looks at what is no longer to be kept. */
const pruneEvery = 10_000

/** Collects what changes, and writes it in one transaction. */
export interface DeliveryWriter {
  /** An event of the world with its number there, or one of its own (null), and the deliveries of it: never one without the other. */
  event(event: StoredEvent, deliveries: readonly StoredDelivery[], worldSeq: number | null): void
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
      log.error({ error: messageOf(error) }, 'deliveries could not be written down; tried again in a second')
    }
  }

  return {
    event(event, made, seq) {
      events.push(event)
      for (const delivery of made) deliveries.add(delivery)
      worldSeq = seq ?? worldSeq
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
      isClosed = true
      timer?.cancel()
      timer = undefined
    },
  }
}
