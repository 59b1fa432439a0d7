/** Delays before retry 1 to 5, each from the previous failure (R81–R85). The sender drops the event after the sixth attempt (R86). */
export const retryDelaysMs: readonly number[] = [60_000, 300_000, 1_800_000, 7_200_000, 28_800_000]

/** Times of the attempts, relative to the first. */
const offsetsOf = (delaysMs: readonly number[]): readonly number[] =>
  delaysMs.reduce<number[]>((offsets, delay) => [...offsets, (offsets.at(-1) ?? 0) + delay], [0])
/** Maximum time that response timeouts add: six attempts of 5 s (R79). Retry delays begin after them. */
export const slackMs = 30_000
/** Time from the first to the last possible attempt. */
export const retryPeriodMs = Math.max(...offsetsOf(retryDelaysMs)) + slackMs

/** A time span from `from` (inclusive) to `to` (exclusive), in milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Consequences of a downtime for the sender's events. */
export interface DowntimeOutlook {
  /** Time by which the last retry of events from the downtime arrives, in milliseconds since 1970. */
  readonly retriedUntil: number
  /** Events first sent in this span are lost and need a manual replay in the upstream's dashboard; null: none. */
  readonly lost: Span | null
}

/**
 * Computes the consequences of a downtime, together with earlier ones. Retries follow at fixed times after the first
 * attempt: the later an attempt fell into the downtime, the longer until the next one. An event is lost if all its
 * attempts fell into downtimes. Attempt times are known to within seconds, so the result errs on the side of loss.
 * `delaysMs`: delays between the attempts of the sender.
 */
export function outlookAfter(
  gap: Span,
  before: readonly Span[] = [],
  delaysMs: readonly number[] = retryDelaysMs,
): DowntimeOutlook {
  let failed = mergeOverlapping([...before, gap])
  let retriedUntil = gap.to
  for (const [attempt, offsetMs] of offsetsOf(delaysMs).entries()) {
    const firstSent = ({ from, to }: Span) => ({
      from: from - offsetMs - (attempt > 0 ? slackMs : 0),
      to: to - offsetMs,
    })
    const failedHere = overlapsOf(failed, [firstSent(gap)])
    const delayMs = delaysMs[attempt]
    if (delayMs === undefined) return { retriedUntil, lost: hullOf(failedHere) }
    if (failedHere.length > 0) retriedUntil = Math.max(retriedUntil, gap.to + delayMs + slackMs)
    failed = overlapsOf(failed, mergeOverlapping([...before, gap].map(firstSent)))
  }
  return { retriedUntil, lost: null }
}

/** Merges overlapping spans and sorts them. */
function mergeOverlapping(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last === undefined || span.from > last.to) merged.push(span)
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
  }
  return merged
}

/** Intersections; sorted if the inputs are. */
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
