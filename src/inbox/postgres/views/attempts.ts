import type { AttemptRecord, RunError } from '../../port.ts'
import { unknownError } from '../../error-group.ts'
import { fromStored } from '../text.ts'

/** An attempt that did not end well, as the tables have it. */
export interface AttemptRow {
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: Exclude<AttemptRecord['outcome'], 'done'>
  readonly errorName: string | null
  readonly errorMessage: string | null
  readonly errorStack: string | null
}

/** The columns of an `AttemptRow`. */
export const attemptColumns = `attempt, started_at AS "startedAt", ended_at AS "endedAt", outcome,
  error_name AS "errorName", error_message AS "errorMessage", error_stack AS "errorStack"`

export function toError({ errorName, errorMessage, errorStack }: AttemptRow): RunError {
  if (errorName === null) return unknownError
  const error = { name: fromStored(errorName), message: fromStored(errorMessage ?? '') }
  return errorStack === null ? error : { ...error, stack: fromStored(errorStack) }
}
