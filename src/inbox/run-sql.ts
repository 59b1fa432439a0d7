import { replayStates, runStates } from './port.ts'

/** Stored numbers of states: their places in the list of names. */
function codesOf<S extends string>(states: readonly S[]): Readonly<Record<S, number>> {
  return Object.fromEntries(states.map((name, code) => [name, code])) as Record<S, number>
}

/** Values of `run.state`. */
export const runState = codesOf(runStates)
/** Values of `replay.state`. */
export const replayState = codesOf(replayStates)

// SQL conditions on `state` of a run. Each is the WHERE clause of an index in both stores: a query uses the index only if it repeats the
// clause literally. `run`: alias of the table with a dot, or nothing.

/** Index `run_open`: waiting, ready, suspect, running or held. */
export const isOpen = (run = ''): string => `${run}state < ${runState.dead}`
/** Index `run_claimable`: ready or suspect. */
export const isClaimable = (run = ''): string =>
  `${run}state >= ${runState.ready} AND ${run}state <= ${runState.suspect}`
/** Indexes `run_dead` and `run_died`: held or dead. */
export const isDeadLetter = (run = ''): string => `${run}state >= ${runState.held} AND ${run}state <= ${runState.dead}`
