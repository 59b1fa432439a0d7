import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { AcceptResult, IncomingDelivery, NewEvent } from '../inbox/port.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'
import type { Secret } from '../signature/keys.ts'
import { verify } from '../signature/verify.ts'
import { acceptedAnswer, answerFor, isAnswerCode, type Answer } from './answer.ts'
import { readEnvelope, keyOf } from './envelope.ts'
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
  readonly secrets: () => readonly Secret[]
  readonly clock: Clock
  readonly log: Logger
  readonly observer: IngestObserver
  /** Status for authentic bytes that are not a usable event: 200 or 422. */
  readonly unusableStatus: number
}

export interface Ingest {
  /**
   * Returns the response to a delivery. `raw`: its exact bytes. `signature`: the header as received. `receipt` is
   * called for authentic events only. Never rejects.
   */
  (raw: Uint8Array, signature: string | undefined, receipt?: ReceiptOf): Promise<Answer>
}

/** Headers and trace context stored with an event. */
export type Receipt = Required<Pick<NewEvent, 'headers' | 'trace'>>
export type ReceiptOf = (event: Pick<NewEvent, 'id' | 'type'>) => Receipt

const noReceipt = (): Receipt => ({ headers: null, trace: null })

/**
 * The receiver's algorithm, without a framework: signature over the raw bytes, envelope, durable store, response. It
 * follows the protocol: R73 (raw bytes), R75 (401), R79 (respond without waiting for handlers), R90 (duplicate is 200).
 */
export function createIngest(options: IngestOptions): Ingest {
  const { clock, observer, log } = options
  // A captured delivery stays authentic forever, so anyone who has one could cause these lines without end.
  const limits = {
    conflict: createLogLimit(clock),
    quarantined: createLogLimit(clock),
    internal: createLogLimit(clock),
  }

  return async (raw, signature, receipt = noReceipt) => {
    const verdict = verify(raw, signature, options.secrets())
    if (!verdict.ok) {
      observer.rejected(verdict.reason)
      return { ...answerFor('signature_invalid'), reason: `signature_${verdict.reason}` }
    }
    const delivery = toDelivery(raw, verdict.label, clock.now(), receipt)
    try {
      // A 2xx is sent only after this line: it resolves after the fsync.
      return stored(await options.commits.add(delivery), delivery)
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
        logLimited('conflict', { eventId: safeText(delivery.id) })
        return acceptedAnswer(200, 'duplicate', delivery.id)
      case 'duplicate':
        return acceptedAnswer(200, 'duplicate', delivery.id)
      case 'quarantined':
        logLimited('quarantined', { id: delivery.id, reason: reasonOf(delivery) })
        return acceptedAnswer(options.unusableStatus, 'quarantined', delivery.id)
    }
  }

  function notStored(error: unknown): Answer {
    const code = error instanceof InboxError && isAnswerCode(error.code) ? error.code : 'internal'
    observer.refused(code)
    if (code === 'internal') logLimited('internal', { error: messageOf(error) })
    return answerFor(code === 'internal' ? 'store_unavailable' : code)
  }

  function logLimited(kind: keyof typeof limits, fields: Readonly<Record<string, unknown>>): void {
    const line = limits[kind]()
    if (line !== null) log[lines[kind].level]({ ...fields, ...line }, lines[kind].message)
  }
}

const lines = {
  conflict: { level: 'warn', message: 'event id conflict' },
  quarantined: { level: 'warn', message: 'delivery quarantined' },
  internal: { level: 'error', message: 'delivery not stored' },
} as const

/** Turns authentic bytes into an event or a quarantined body. */
function toDelivery(raw: Uint8Array, secretLabel: string, receivedAt: number, receipt: ReceiptOf): IncomingDelivery {
  const read = readEnvelope(raw)
  if (!read.ok) {
    const id = `sha256:${createHash('sha256').update(raw).digest('hex')}`
    return { kind: 'quarantined', id, reason: read.reason, raw, receivedAt, secretLabel }
  }
  const { id, type, created_at: createdAt } = read.envelope
  return {
    kind: 'event',
    id,
    type,
    createdAt,
    ...keyOf(read.envelope),
    raw,
    receivedAt,
    secretLabel,
    ...receipt({ id, type }),
  }
}

/** Parses a quarantined body again. Returns the event, or the reason if it is still unusable. */
export function readAsEvent(body: Pick<IncomingDelivery, 'raw' | 'secretLabel' | 'receivedAt'>): NewEvent | string {
  const delivery = toDelivery(body.raw, body.secretLabel, body.receivedAt, noReceipt)
  return delivery.kind === 'event' ? delivery : delivery.reason
}

function reasonOf(delivery: IncomingDelivery): string {
  return delivery.kind === 'quarantined' ? delivery.reason : ''
}
