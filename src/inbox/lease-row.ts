import type { Lease, StoredEvent } from './types.ts'

/** The event and the outbox item of a claimed run, as stored. */
export interface LeaseRow extends Pick<StoredEvent, 'id' | 'type' | 'createdAt' | 'receivedAt' | 'secretLabel'> {
  /** Null if the event's key is its id. */
  readonly eventKey: string | null
  /** W3C `traceparent` of the receipt; null without one. */
  readonly trace: string | null
  /** Null if the body or the event is missing. */
  readonly raw: Uint8Array | null
  /** Both null for a run without an outbox item. */
  readonly payload: string | null
  readonly idempotencyKey: string | null
}

type ClaimedRun = Omit<Lease, 'event' | 'item'> & Pick<StoredEvent, 'seq'>

export function toLease(run: ClaimedRun, row: LeaseRow, raw: Uint8Array): Lease {
  const { runId, token, handler, attempt, failed, crashed, key, replay, seq } = run
  const { id, type, createdAt, receivedAt, eventKey, secretLabel, trace, payload, idempotencyKey } = row
  return {
    runId,
    token,
    handler,
    attempt,
    failed,
    crashed,
    event: { seq, id, type, createdAt, receivedAt, key: eventKey ?? id, secretLabel, raw, trace },
    key,
    replay,
    item: payload === null || idempotencyKey === null ? null : { payload, idempotencyKey },
  }
}
