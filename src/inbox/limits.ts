import type { RunError } from './types.ts'

// Limits of both stores.

/** Maximum stored sets of headers: a sender whose headers differ in every delivery must not fill the database. */
export const maxHeaderSets = 1_000
/** Maximum runs superseded at once. Usually one; more only if a handler became `latestOnly` with a backlog. */
export const maxSuperseded = 500
/** A claim with this many bytes of bodies gets no more runs. */
export const maxClaimBytes = 4 * 1024 * 1024
/** Expired state entries deleted per write of an expiring entry. More than one, so that their number shrinks. */
export const purgedPerWrite = 4

/** Stored characters of an error. */
const maxErrorMessage = 2_000
const maxErrorStack = 8_000

/** The part of an error that is stored. `stack`: null without one. */
export function storedError({ name, message, stack }: RunError) {
  return { name, message: message.slice(0, maxErrorMessage), stack: stack?.slice(0, maxErrorStack) ?? null }
}

/** The error of a dead letter whose body or event is missing. */
export const bodyMissing: RunError = {
  name: 'body_missing',
  message: 'the event or its body is missing in the database: it was damaged, restored in part or changed by hand',
}
