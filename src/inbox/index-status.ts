import type { IndexStatus } from './index-port.ts'

/** Up to here an index is as good as complete. */
const currentLagMs = 5_000
const currentBehind = 5_000

/** How far an index is, and how far behind. */
export type Progress = Pick<IndexStatus, 'indexedSeq' | 'behind' | 'sizeBytes'> & {
  /** When the oldest event was received that is not in it; null: all are in it. */
  readonly waitingSince: number | null
}

/**
 * What is told of an index that has come so far, or of none. `since`: when it was opened, or begun anew; before that nothing waited
 * for it.
 */
export function statusOf(
  progress: Progress | undefined,
  offReason: string | null,
  since: number,
  now: number,
): IndexStatus {
  if (progress === undefined) return indexOff(offReason ?? 'it is being opened')
  const { indexedSeq, behind, sizeBytes, waitingSince } = progress
  const lagMs = waitingSince === null ? 0 : Math.max(0, now - Math.max(waitingSince, since))
  const isCurrent = behind === 0 || (lagMs <= currentLagMs && behind <= currentBehind)
  return { state: isCurrent ? 'current' : 'building', reason: null, indexedSeq, behind, lagMs, sizeBytes }
}

export function indexOff(reason: string): IndexStatus {
  return { state: 'off', reason, indexedSeq: 0, behind: 0, lagMs: 0, sizeBytes: null }
}
