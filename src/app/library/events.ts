import { EventEmitter } from 'node:events'
import { messageOf } from '../../base/errors.ts'
import type { EndedAttempt } from '../../dispatch/dispatcher.ts'
import type { AcceptResult, IncomingDelivery, RunError } from '../../inbox/port.ts'
import type { Logger } from '../../base/log.ts'

/** A delivery of a valid event. */
export interface DeliveryReport {
  readonly eventId: string
  readonly type: string
}

/** A stored attempt. */
export interface RunReport {
  readonly handler: string
  readonly eventId: string
  readonly type: string
  /** Number of the attempt, from 1. */
  readonly attempt: number
  /** Duration of the handler. */
  readonly durationMs: number
}

/** Events of an inbox. Each is emitted after the change was stored. */
export interface InboxEvents {
  /** A new event is stored. */
  readonly accepted: [DeliveryReport]
  /** A duplicate: the event is already stored. */
  readonly duplicate: [DeliveryReport]
  /** A known id with a different body; the first body is kept. */
  readonly conflict: [DeliveryReport]
  /** A signed but invalid body is stored. */
  readonly quarantined: [{ readonly id: string; readonly reason: string }]
  /** A request had no valid signature, or was not a delivery. */
  readonly rejected: [{ readonly reason: string }]
  /** A delivery got 503, or could not be read: an error code. */
  readonly refused: [{ readonly code: string }]
  /** A run succeeded. */
  readonly handled: [RunReport]
  /** An attempt failed; the next one starts at `nextAt`, in milliseconds since 1970. */
  readonly retried: [RunReport & { readonly nextAt: number; readonly error: RunError }]
  /** A run became a dead letter. */
  readonly dead: [RunReport & { readonly error: RunError }]
  /** A handler postponed its run. */
  readonly snoozed: [RunReport & { readonly nextAt: number }]
  /** An event was too old for a handler. */
  readonly expired: [RunReport]
  /** `match` of a handler returned false. */
  readonly unmatched: [RunReport]
  /** A handler runs on after its timeout, and occupies its slot until it ends. */
  readonly stuck: [{ readonly handler: string }]
  /** The store failed permanently: all deliveries get 503 until a new inbox is created. */
  readonly failed: [{ readonly error: Error }]
}

export type InboxEventName = keyof InboxEvents

/** A typed `EventEmitter` of Node: `on`, `once`, `off`. */
export type InboxEmitter = EventEmitter<{ [Name in InboxEventName]: InboxEvents[Name] }>

export type Reporter = ReturnType<typeof createReporter>

/** Errors of listeners, async ones included, are logged. */
export function createReporter(log: Logger) {
  const emitter: InboxEmitter = new EventEmitter()
  let pending: (() => void)[] = []

  function call(name: InboxEventName, report: unknown): void {
    for (const listener of emitter.rawListeners(name) as ((report: unknown) => unknown)[]) {
      try {
        void Promise.resolve(listener.call(emitter, report)).catch((error: unknown) => logFailure(name, error))
      } catch (error) {
        logFailure(name, error)
      }
    }
  }

  function logFailure(name: InboxEventName, error: unknown): void {
    log.error({ event: name, error: messageOf(error) }, 'event listener failed')
  }

  function flush(): void {
    const calls = pending
    pending = []
    for (const emit of calls) emit()
  }

  return {
    emitter,
    /** Emits an event in order on a later turn of the event loop, so that listeners don't interrupt other work. */
    report<Name extends InboxEventName>(name: Name, report: InboxEvents[Name][0]) {
      if (emitter.listenerCount(name) === 0) return
      if (pending.length === 0) setImmediate(flush)
      pending.push(() => call(name, report))
    },
    /** Emits all pending events. */
    flush,
  }
}

export function reportStored(reporter: Reporter, delivery: IncomingDelivery, result: AcceptResult | undefined): void {
  if (result === undefined) return
  if (delivery.kind === 'quarantined') reporter.report('quarantined', { id: delivery.id, reason: delivery.reason })
  else if (result !== 'quarantined') reporter.report(result, { eventId: delivery.id, type: delivery.type })
}

export function reportEnded(reporter: Reporter, { lease, outcome }: EndedAttempt, durationMs: number): void {
  const { handler, attempt, event } = lease
  const report = { handler, eventId: event.id, type: event.type, attempt, durationMs }
  switch (outcome.kind) {
    case 'done':
      return reporter.report('handled', report)
    case 'retry':
      return reporter.report('retried', { ...report, nextAt: outcome.at, error: outcome.error })
    case 'dead':
      return reporter.report('dead', { ...report, error: outcome.error })
    case 'snooze':
      return reporter.report('snoozed', { ...report, nextAt: outcome.at })
    case 'expired':
    case 'unmatched':
      return reporter.report(outcome.kind, report)
  }
}
