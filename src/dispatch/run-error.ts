import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import { handlerFrame } from '../inbox/error-group.ts'
import type { CrashedRun, Lease, Outcome, RunError } from '../inbox/port.ts'
import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'

/** Maximum stored characters of an error. */
const maxName = 200
const maxMessage = 2_000
const maxStack = 8_000
/** Maximum causes in the message of an error. */
const maxCauses = 3

/**
 * Converts a thrown value to text of limited length. Never throws: user code can throw anything, even an error with a
 * symbol as name or a getter as message. An error that can't be stored would be retried without end.
 */
export function toRunError(thrown: unknown): RunError {
  try {
    const message = text(withCauses(thrown), maxMessage) ?? ''
    if (!(thrown instanceof Error)) return { name: 'handler_failed', message }
    const name = text(thrown instanceof InboxError ? thrown.code : thrown.name, maxName) ?? 'Error'
    const stack = text(typeof thrown.stack === 'string' ? withoutUserinfo(thrown.stack) : undefined, maxStack)
    return stack === undefined ? { name, message } : { name, message, stack }
  } catch {
    return { name: 'handler_failed', message: 'the thrown value cannot be read' }
  }
}

/** Appends causes: `fetch failed` alone says nothing. */
function withCauses(thrown: unknown): string {
  const messages = [messageOf(thrown)]
  let cause = causeOf(thrown)
  for (let depth = 0; depth < maxCauses && cause !== undefined; depth++, cause = causeOf(cause)) {
    const message = messageOfCause(cause)
    if (message !== '' && !messages.some((before) => before.includes(message))) messages.push(message)
  }
  return messages.join(': ')
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? (thrown.cause ?? undefined) : undefined
}

function messageOfCause(cause: unknown): string {
  // If several addresses were tried, the message is empty and only `code` tells why.
  if (cause instanceof Error && cause.message === '' && 'code' in cause) return String(cause.code)
  return messageOf(cause)
}

function text(value: unknown, maxLength: number): string | undefined {
  if (value === undefined) return undefined
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, maxLength).toWellFormed()
}

/** Log fields of an attempt. */
export interface AttemptName extends Pick<CrashedRun, 'handler' | 'attempt' | 'eventId'> {
  /** Id of its replay; absent for a live run. */
  readonly replay?: number | undefined
}

export function attemptNameOf({ handler, attempt, event, replay }: Lease): AttemptName {
  return { handler, attempt, eventId: event.id, replay: replay?.id }
}

/** Logs an attempt that failed, after its outcome was stored. Rate limited. */
export type FailureLog = (attempt: AttemptName, outcome: Outcome | { kind: 'dead'; error: RunError }) => void

export function createFailureLog({ log, clock }: { readonly log: Logger; readonly clock: Clock }): FailureLog {
  const limit = createLogLimit(clock)
  return ({ handler, attempt, eventId, replay }, outcome) => {
    if (outcome.kind !== 'dead' && outcome.kind !== 'retry') return
    const line = limit()
    if (line === null) return
    const { name, message, stack } = outcome.error
    const frame = handlerFrame(stack)
    const fields = {
      handler,
      eventId: safeText(eventId),
      ...(replay !== undefined && { replay }),
      attempt,
      error: safeText(`${name}: ${message}`),
      ...(frame !== undefined && { frame: safeText(frame) }),
    }
    if (outcome.kind === 'dead') log.error({ ...fields, ...line }, 'run became a dead letter')
    else {
      const nextAt = new Date(outcome.at).toISOString()
      log.warn({ ...fields, nextAt, ...line }, 'attempt failed, retry scheduled')
    }
  }
}
