import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { AcceptResult, IncomingDelivery, NewEvent } from '../inbox/port.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'
import { acceptedAnswer, answerFor, isAnswerCode, testAnswer, type Answer } from './answer.ts'
import type { CommitResult, GroupCommit } from './group-commit.ts'

/** Receives the result of each request, for metrics. Called once per request. */
export interface IngestObserver {
  /** `type` comes from the event: external text. */
  stored(result: AcceptResult, delivery: IncomingDelivery): void
  /** The request is not authentic. */
  rejected(reason: string): void
  /** Rejected temporarily: overload or store. */
  refused(code: string): void
}

export interface IngestOptions {
  readonly commits: Pick<GroupCommit, 'add'>
  readonly read: DeliveryReader
  readonly clock: Clock
  readonly log: Logger
  readonly observer: IngestObserver
  /** Status for authentic bytes that are not a usable event: 200 or 422. */
  readonly unusableStatus: number
}

/** A request with its body. */
export interface Delivery {
  /** Exact bytes; inflated if the sender signs inflated bytes. */
  readonly raw: Uint8Array
  /** Names in lower case. Repeated headers are joined. */
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, unchanged. */
  readonly rawHeaders: readonly string[]
  /** Path and query; undefined: unknown. */
  readonly target?: string | undefined
}

/** `test`: an authentic delivery that is not stored. */
export type DeliveryReading =
  | IncomingDelivery
  | { readonly kind: 'rejected'; readonly answer: Answer; readonly reason: string }
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'test'; readonly status: number }

/** Verifies and identifies a delivery. `receipt` is called for authentic events only. Never throws or rejects. */
export type DeliveryReader = (delivery: Delivery, receipt: ReceiptOf) => DeliveryReading | Promise<DeliveryReading>

/** Returns the response to a delivery. Never rejects. */
export type Ingest = (delivery: Delivery, receipt?: ReceiptOf) => Promise<Answer>

/** Headers and trace context stored with an event. */
export type Receipt = Required<Pick<NewEvent, 'headers' | 'trace'>>
export type ReceiptOf = (event: Pick<NewEvent, 'id' | 'type'>) => Receipt

export const noReceipt = (): Receipt => ({ headers: null, trace: null })

/**
 * The receiver's algorithm, without a framework: signature over the raw bytes, identity, durable store, response. It
 * follows the protocol of the default source: R73 (raw bytes), R75 (401), R79 (respond without waiting for handlers), R90 (duplicate is 200).
 */
export function createIngest(options: IngestOptions): Ingest {
  const { clock, observer, log } = options
  const logConflict = limited('warn', 'event id conflict')
  const logQuarantined = limited('warn', 'delivery quarantined')
  const logInternal = limited('error', 'delivery not stored')

  return async (delivery, receipt = noReceipt) => {
    const reading = await options.read(delivery, receipt)
    if (reading.kind === 'rejected') {
      observer.rejected(reading.reason)
      return { ...reading.answer, reason: `signature_${reading.reason}` }
    }
    if (reading.kind === 'unavailable') {
      observer.refused('keys_unavailable')
      return answerFor('keys_unavailable')
    }
    if (reading.kind === 'test') return testAnswer(reading.status)
    try {
      // A 2xx is sent only after this line: it resolves after the fsync.
      return stored(await options.commits.add(reading), reading)
    } catch (error) {
      return notStored(error)
    }
  }

  function stored(result: CommitResult, delivery: IncomingDelivery): Answer {
    if (result === 'late') {
      observer.refused('not_committed_in_time')
      return answerFor('not_committed_in_time')
    }
    observer.stored(result, delivery)
    switch (result) {
      case 'accepted':
        return acceptedAnswer(200, 'accepted', delivery.id)
      case 'conflict':
        logConflict({ eventId: safeText(delivery.id) })
        return acceptedAnswer(200, 'duplicate', delivery.id)
      case 'duplicate':
        return acceptedAnswer(200, 'duplicate', delivery.id)
      case 'quarantined':
        logQuarantined({ id: delivery.id, reason: reasonOf(delivery) })
        return acceptedAnswer(options.unusableStatus, 'quarantined', delivery.id)
    }
  }

  function notStored(error: unknown): Answer {
    const code = error instanceof InboxError && isAnswerCode(error.code) ? error.code : 'internal'
    observer.refused(code)
    if (code === 'internal') logInternal({ error: messageOf(error) })
    return answerFor(code === 'internal' ? 'store_unavailable' : code)
  }

  /** A captured delivery stays authentic forever, so anyone who has one could cause these lines without end. */
  function limited(level: 'warn' | 'error', message: string) {
    const limit = createLogLimit(clock)
    return (fields: Readonly<Record<string, unknown>>): void => {
      const line = limit()
      if (line !== null) log[level]({ ...fields, ...line }, message)
    }
  }
}

function reasonOf(delivery: IncomingDelivery): string {
  return delivery.kind === 'quarantined' ? delivery.reason : ''
}
