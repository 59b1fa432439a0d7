export const minuteMs = 60_000
export const hourMs = 3_600_000

/** Tallies are kept for 15 days. Silence rules learn from 14, so that two weekends are always among them. */
export const keptTallyMinutes = 15 * 24 * 60
/** When an hour begins, at most so many of the oldest minutes are deleted. */
export const prunedMinutes = 120
