/** Delays before retry 1 to 5, each from the previous failure (R81–R85); after the sixth attempt the sender gives up (R86). */
export const retryDelaysMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 28_800_000]

/** When attempts are made, counted from the first. */
const offsetsMs = retryDelaysMs.reduce<number[]>((offsets, delay) => [...offsets, (offsets.at(-1) ?? 0) + delay], [0])
/** The sender waits 5 s for an answer (R79), and counts from when an attempt has failed: six of them may be so much later. */
const slackMs = 30_000
/** An event that was first sent longer ago is not sent again. */
export const ladderMs = Math.max(...offsetsMs) + slackMs

/** A time from `from` until before `to`: milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What the sender makes of a time in which nothing was received. */
export interface LadderOutlook {
  /** By then each event that it tried to send in that time has come that will come by itself: milliseconds since 1970. */
  readonly retriedUntil: number
  /** Events that were first sent in this time were given up in that one, and need a replay by hand in the service's dashboard. */
  readonly lost: Span | null
}

/**
 * What comes after the last of the times in which nothing was received, with those before it. An event is tried again at fixed
 * times after its first attempt, so the later its attempt in the gap was, the longer it takes until the next; and it is given up
 * if all of them fell into such times. Attempts are known to within some seconds: what is lost is said to be more rather than less.
 */
export function outlookAfter(gap: Span, before: readonly Span[] = []): LadderOutlook {
  let failed = joined([...before, gap])
  let retriedUntil = gap.to
  for (const [attempt, offsetMs] of offsetsMs.entries()) {
    const firstSent = ({ from, to }: Span) => ({
      from: from - offsetMs - (attempt > 0 ? slackMs : 0),
      to: to - offsetMs,
    })
    const failedHere = overlapsOf(failed, [firstSent(gap)])
    const delayMs = retryDelaysMs[attempt]
    if (delayMs === undefined) return { retriedUntil, lost: hullOf(failedHere) }
    if (failedHere.length > 0) retriedUntil = Math.max(retriedUntil, gap.to + delayMs + slackMs)
    failed = overlapsOf(failed, joined([...before, gap].map(firstSent)))
  }
  return { retriedUntil, lost: null }
}

/** In order, and no two of them touch. */
function joined(spans: readonly Span[]): Span[] {
  const apart: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = apart.at(-1)
    if (last === undefined || span.from > last.to) apart.push(span)
    else apart[apart.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
  }
  return apart
}

/** What is in both; in order if they are. */
function overlapsOf(some: readonly Span[], others: readonly Span[]): Span[] {
  return some.flatMap((a) =>
    others
      .map((b) => ({ from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) }))
      .filter(({ from, to }) => from < to),
  )
}

function hullOf(spans: readonly Span[]): Span | null {
  const [first, last] = [spans.at(0), spans.at(-1)]
  return first && last ? { from: first.from, to: last.to } : null
}
