import type { Span } from '../base/retry-schedule.ts'
import { internalLabel, type NewEvent } from './port.ts'

// Gaps are times in which no deliveries were accepted. Both stores use these limits and counts.

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

export interface Gap extends Span {
  readonly id: number
  /** Both null if nothing was lost. */
  readonly lostFrom: number | null
  readonly lostTo: number | null
}

/** Counts late events: new ones that were created in a watched gap. */
export function createGapWatch() {
  let watched: (Gap & { arrived: number; arrivedLost: number })[] = []
  return {
    watch(gaps: readonly Gap[]): void {
      watched = gaps.map((gap) => ({ ...gap, arrived: 0, arrivedLost: 0 }))
    },
    /** Counts a new event as late if it was created in a watched gap. */
    arrived({ createdAt, secretLabel }: Pick<NewEvent, 'createdAt' | 'secretLabel'>): void {
      // The inbox's own warnings are not late deliveries of the sender.
      if (watched.length === 0 || secretLabel === internalLabel) return
      const at = Date.parse(createdAt)
      for (const gap of watched) {
        const isLost = gap.lostFrom !== null && gap.lostTo !== null && at >= gap.lostFrom && at < gap.lostTo
        if (isLost) gap.arrivedLost++
        if (isLost || (at >= gap.from && at < gap.to)) gap.arrived++
      }
    },
    /** Takes the counts since the last call, of gaps with any. `putBack` returns one that could not be stored. */
    take() {
      const counted = watched.filter(({ arrived }) => arrived > 0)
      return counted.map((gap) => {
        const { id, arrived, arrivedLost } = gap
        Object.assign(gap, { arrived: 0, arrivedLost: 0 })
        const putBack = () => {
          gap.arrived += arrived
          gap.arrivedLost += arrivedLost
        }
        return { id, arrived, arrivedLost, putBack }
      })
    },
  }
}
