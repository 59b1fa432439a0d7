import type { Clock } from '../base/clock.ts'
import type { Outcome, RunError } from '../inbox/port.ts'
import { createLogLimit } from '../base/log-limit.ts'
import { safeText, type Logger } from '../base/log.ts'

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
