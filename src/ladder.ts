/** Delays before retry 1 to 5, each from the previous failure (R81–R85); after the sixth attempt the sender gives up (R86). */
export const retryDelaysMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 28_800_000]

/** When attempts are made, counted from the first. */
const offsetsMs = retryDelaysMs.reduce<number[]>((offsets, delay) => [...offsets, (offsets.at(-1) ?? 0) + delay], [0])
const ladderMs = offsetsMs.at(-1) ?? 0
/** The sender waits 5 s for an answer (R79), and counts from when an attempt has failed: six of them may be so much later. */
const slackMs = 30_000

/** What the sender makes of a time in which nothing was received. */
export interface LadderOutlook {
  /** By then each event has come again that will come by itself: milliseconds since 1970. */
  readonly retriedUntil: number
  /** Events that were first sent in this time have been given up, and need a replay by hand in the service's dashboard. */
  readonly lost: { readonly from: number; readonly to: number } | null
}

/**
 * What comes after a gap from `from` to `to`. An event is tried again at fixed times after its first attempt, so the later in the
 * gap an attempt fell, the longer it takes until the next; and what was first sent longer before the end of the gap than the whole ladder
 * takes is not tried again.
 */
export function outlookAfter({ from, to }: { readonly from: number; readonly to: number }): LadderOutlook {
  const length = to - from
  const waits = retryDelaysMs.filter((_, rung) => (offsetsMs[rung] ?? 0) <= length)
  const retriedUntil = to + Math.max(0, ...waits) + slackMs
  return { retriedUntil, lost: length > ladderMs ? { from, to: to - ladderMs } : null }
}
