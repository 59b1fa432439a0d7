import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import type { RunError, Outcome } from '../inbox/port.ts'
import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'

const maxName = 200
const maxMessage = 2_000
const maxStack = 8_000
const mostCauses = 3

/**
 * What a handler threw, as text of limited length. Never throws: user code can throw anything, also an error whose name is a
 * symbol or whose message is a getter, and a verdict that cannot be stored would be tried for ever.
 */
export function toRunError(thrown: unknown): RunError {
  try {
    const message = text(withCauses(thrown), maxMessage) ?? ''
    if (!(thrown instanceof Error)) return { name: 'handler_failed', message }
    const name = text(thrown instanceof InboxError ? thrown.code : thrown.name, maxName) ?? 'Error'
    const stack = text(typeof thrown.stack === 'string' ? withoutUserinfo(thrown.stack) : undefined, maxStack)
    return stack === undefined ? { name, message } : { name, message, stack }
  } catch {
    return { name: 'handler_failed', message: 'something was thrown that cannot be read' }
  }
}

/** `fetch failed` says nothing without what it was caused by. */
function withCauses(thrown: unknown): string {
  const said = [messageOf(thrown)]
  let cause = causeOf(thrown)
  for (let depth = 0; depth < mostCauses && cause !== undefined; depth++, cause = causeOf(cause)) {
    const words = wordsOf(cause)
    if (words !== '' && !said.some((before) => before.includes(words))) said.push(words)
  }
  return said.join(': ')
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error ? (thrown.cause ?? undefined) : undefined
}

function wordsOf(cause: unknown): string {
  // An address that was tried by several ways says it by its code only.
  if (cause instanceof Error && cause.message === '' && 'code' in cause) return String(cause.code)
  return messageOf(cause)
}

function text(value: unknown, maxLength: number): string | undefined {
  if (value === undefined) return undefined
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, maxLength).toWellFormed()
}

/** An attempt, as log lines name it. */
export interface AttemptName {
  readonly handler: string
  readonly attempt: number
  readonly eventId: string
}

/** Logs what became of an attempt that was not done, once that is stored; a flood of failures is a few lines. */
export type FailureLog = (attempt: AttemptName, outcome: Outcome | Death) => void

interface Death {
  readonly kind: 'dead'
  readonly error: RunError
}

export function createFailureLog({ log, clock }: { readonly log: Logger; readonly clock: Clock }): FailureLog {
  const limit = createLogLimit(clock)
  return ({ handler, attempt, eventId }, outcome) => {
    if (outcome.kind !== 'dead' && outcome.kind !== 'retry') return
    const line = limit()
    if (line === null) return
    const { name, message } = outcome.error
    const fields = { handler, eventId: safeText(eventId), attempt, error: safeText(`${name}: ${message}`) }
    if (outcome.kind === 'dead') log.error({ ...fields, ...line }, 'a run is a dead letter')
    else {
      const nextAt = new Date(outcome.at).toISOString()
      log.warn({ ...fields, nextAt, ...line }, 'an attempt failed; it will be tried again')
    }
  }
}
