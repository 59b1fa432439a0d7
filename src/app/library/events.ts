import { EventEmitter } from 'node:events'
import { messageOf } from '../../base/errors.ts'
import type { EndedAttempt } from '../../dispatch/dispatcher.ts'
import type { AcceptResult, IncomingDelivery, RunError } from '../../inbox/port.ts'
import type { Logger } from '../../base/log.ts'

/** A delivery of a usable event. */
export interface DeliveryReport {
  readonly eventId: string
  readonly type: string
}

/** An attempt of a handler, as it was stored. */
export interface RunReport {
  readonly handler: string
  readonly eventId: string
  readonly type: string
  /** Which attempt it was, from 1. */
  readonly attempt: number
  /** The handler's own time. */
  readonly durationMs: number
}

/** What an inbox tells. All of it is told after it was stored; nothing is told that may still be undone. */
export interface InboxEvents {
  /** A new event is stored. */
  readonly accepted: [DeliveryReport]
  /** A known event came again. */
  readonly duplicate: [DeliveryReport]
  /** A known id came with another body; the first body is kept. */
  readonly conflict: [DeliveryReport]
  /** An authentic body that is no usable event is stored. */
  readonly quarantined: [{ readonly id: string; readonly reason: string }]
  /** A request was not authentic, or no delivery at all. */
  readonly rejected: [{ readonly reason: string }]
  /** A delivery was answered 503, or could not be read: a code of the error catalogue. */
  readonly refused: [{ readonly code: string }]
  /** A handler did its work. */
  readonly handled: [RunReport]
  /** An attempt failed; `nextAt` is when it is tried again, in milliseconds since 1970. */
  readonly retried: [RunReport & { readonly nextAt: number; readonly error: RunError }]
  /** A run is a dead letter. */
  readonly dead: [RunReport & { readonly error: RunError }]
  /** A handler put its run off. */
  readonly snoozed: [RunReport & { readonly nextAt: number }]
  /** An event was too old for a handler. */
  readonly expired: [RunReport]
  /** A handler did not want an event. */
  readonly unmatched: [RunReport]
  /** A handler goes on after its timeout, and keeps its place until it ends. */
  readonly stuck: [{ readonly handler: string }]
  /** The store failed for good: everything is answered 503 until another inbox is created. */
  readonly failed: [{ readonly error: Error }]
}

export type InboxEventName = keyof InboxEvents

/** A typed `EventEmitter` of Node: `on`, `once`, `off`. */
export type InboxEmitter = EventEmitter<{ [Name in InboxEventName]: InboxEvents[Name] }>

export interface Telling {
  readonly emitter: InboxEmitter
  /** Tells it soon, in order, on a turn of the event loop of its own, so that no listener is run in the midst of other work. */
  tell<Name extends InboxEventName>(name: Name, report: InboxEvents[Name][0]): void
  /** Tells what was not told yet. */
  flush(): void
}

/** What a listener throws is logged and breaks nothing, whether it is async or not. */
export function createTelling(log: Logger): Telling {
  const emitter: InboxEmitter = new EventEmitter()
  let waiting: (() => void)[] = []

  function call(name: InboxEventName, report: unknown): void {
    for (const listener of emitter.rawListeners(name) as ((report: unknown) => unknown)[]) {
      try {
        void Promise.resolve(listener.call(emitter, report)).catch((error: unknown) => complain(name, error))
      } catch (error) {
        complain(name, error)
      }
    }
  }

  function complain(name: InboxEventName, error: unknown): void {
    log.error({ event: name, error: messageOf(error) }, 'a listener failed')
  }

  function flush(): void {
    const calls = waiting
    waiting = []
    for (const tellNow of calls) tellNow()
  }

  return {
    emitter,
    tell(name, report) {
      if (emitter.listenerCount(name) === 0) return
      if (waiting.length === 0) setImmediate(flush)
      waiting.push(() => call(name, report))
    },
    flush,
  }
}

export function tellStored(telling: Telling, arrival: IncomingDelivery, result: AcceptResult | undefined): void {
  if (result === undefined) return
  if (arrival.kind === 'quarantined') telling.tell('quarantined', { id: arrival.id, reason: arrival.reason })
  else if (result !== 'quarantined') telling.tell(result, { eventId: arrival.id, type: arrival.type })
}

export function tellEnded(telling: Telling, { lease, outcome }: EndedAttempt, durationMs: number): void {
  const { handler, attempt, event } = lease
  const report = { handler, eventId: event.id, type: event.type, attempt, durationMs }
  switch (outcome.kind) {
    case 'done':
      return telling.tell('handled', report)
    case 'retry':
      return telling.tell('retried', { ...report, nextAt: outcome.at, error: outcome.error })
    case 'dead':
      return telling.tell('dead', { ...report, error: outcome.error })
    case 'snooze':
      return telling.tell('snoozed', { ...report, nextAt: outcome.at })
    case 'expired':
    case 'unmatched':
      return telling.tell(outcome.kind, report)
  }
}
