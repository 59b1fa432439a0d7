import { checkReplayFilter } from '../replay-filter.ts'
import type { ReplayFilter } from '../port.ts'

/** A part of the accept sequence to count in. */
export interface CountPart {
  readonly filter: ReplayFilter
  /** Of the types to count. */
  readonly patterns: readonly string[]
  readonly fromSeq: number
}

export interface ReplayCount {
  readonly events: number
  readonly skipped: number
  /** Where the next part begins; null: there is none. */
  readonly nextSeq: number | null
}

/** Counts what a filter finds, part after part. */
export async function countAll(
  { filter, patterns }: Omit<CountPart, 'fromSeq'>,
  count: (part: CountPart) => Promise<ReplayCount>,
): Promise<{ readonly events: number; readonly skipped: number }> {
  checkReplayFilter(filter)
  let [events, skipped] = [0, 0]
  for (let fromSeq: number | null = 1; fromSeq !== null;) {
    const part: ReplayCount = await count({ filter, patterns, fromSeq })
    events += part.events
    skipped += part.skipped
    fromSeq = part.nextSeq
  }
  return { events, skipped }
}
