// What counts as a time out of service, and how long it is kept and watched, in every store.

/** A process is replaced in less. */
export const shortestGapMs = 1_000
/** Whoever is at work says so more often by far. */
export const longestSilenceMs = 60_000
export const mostKept = 1_000
/** So many of the last gaps, not longer ago than this, are watched for events that come after all; those with lost ones first. */
export const mostWatched = 20
export const watchedMs = 30 * 24 * 3_600_000
