// Limits for gaps: times in which no deliveries were accepted. Both stores use them.

/** Shorter gaps are not recorded: a restart can take as long. */
export const minGapMs = 1_000
/** A serving process that writes no heartbeat for longer stood still. */
export const maxSilenceMs = 60_000
/** Newest gaps that are kept. Older ones are deleted, except unacknowledged ones with lost events. */
export const maxGapsKept = 1_000
/** Late events are counted for this many of the latest gaps, those with lost events first. */
export const maxGapsWatched = 20
/** Late events are counted for gaps that ended within this time. */
export const watchedMs = 30 * 24 * 3_600_000
