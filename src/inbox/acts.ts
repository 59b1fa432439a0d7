import type { AuditRecord, ViewPort } from './port.ts'

/** What an operator does, each with a note in the audit. */
export type OperatorActs = Pick<
  ViewPort,
  | 'setPaused'
  | 'setConcurrency'
  | 'requeueDead'
  | 'dropDead'
  | 'dropOpenRuns'
  | 'retryQuarantined'
  | 'dropQuarantined'
  | 'prune'
  | 'note'
>

/** Large acts are done in small transactions, so that they do not hold up acknowledgements. */
export const batchSize = 500
/** The audit has so many of the run ids of an act at the most, and how many there were. */
export const mostNotedRuns = 1_000

/** What a bounded piece of an act did. `after`: where to go on; null: that was all. */
export interface StepDone {
  readonly done: number
  readonly after: number | null
}

/** What is noted of a large act, by how much was done so far. */
export interface Noting {
  readonly action: AuditRecord['action']
  readonly detail: (total: number) => AuditRecord['detail']
  readonly by: string | undefined
}

/** `noted`: the id of the note; null: none was written. */
export interface Done {
  readonly total: number
  readonly noted: number | null
}
