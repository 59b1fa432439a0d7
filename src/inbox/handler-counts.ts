import type { RunCounts } from './port.ts'

/** Runs of a handler that are open or dead, as every store counts them. */
export interface HandlerCounts extends RunCounts {
  /** The id of its oldest run that is open and no dead letter; Infinity: there is none. */
  readonly oldestRun: number
}

/** By the id of the handler. */
export type CountsByHandler = ReadonlyMap<number, HandlerCounts>

export const noCounts: HandlerCounts = {
  waiting: 0,
  ready: 0,
  suspect: 0,
  running: 0,
  held: 0,
  dead: 0,
  oldestRun: Infinity,
}
