import type { RunError } from '../port.ts'

/** An attempt that did not end well, as the file has it. */
export interface AttemptRow {
  readonly attempt: number
  readonly started_at: number
  readonly ended_at: number
  readonly outcome: 'retry' | 'dead' | 'crashed' | 'dropped'
  readonly error_name: string
  readonly error_message: string
  readonly error_stack: string | null
}

const attempts = `SELECT attempt, started_at, ended_at, outcome, error_name, error_message, error_stack
     FROM attempt INDEXED BY attempt_run WHERE run_id = ? ORDER BY rowid`
/** Of a run, oldest first, and the last one. */
export const attemptsText = attempts
export const lastAttemptText = `${attempts} DESC LIMIT 1`

export function toError(row: AttemptRow): RunError {
  const error = { name: row.error_name, message: row.error_message }
  return row.error_stack === null ? error : { ...error, stack: row.error_stack }
}
