export const minuteMs = 60_000
export const hourMs = 3_600_000

/** Counts per minute are kept for 15 days. Silence rules learn from 14, which always contain two weekends. */
export const keptTallyMinutes = 15 * 24 * 60
/** Maximum minutes deleted when an hour begins, oldest first. */
export const prunedMinutes = 120
