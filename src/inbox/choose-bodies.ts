import { pruneBounds as bounds } from './operator-actions.ts'
import type { PruneLimits } from './port.ts'

/** The fields of a body that pruning reads. */
export interface StoredBody {
  readonly seq: number
  readonly receivedAt: number
  /** Running sum of body bytes in its table, including this body. */
  readonly total: number
}

interface Choice<B> {
  readonly limits: PruneLimits
  readonly now: number
  /** `total` of the newest body. */
  readonly lastTotal: number
  /** Share of `maxBytes` that is reserved for the newest bodies. */
  readonly share: number
  /** Bytes above `maxBytes`; infinite if all old bodies may go. */
  readonly surplus: number
  /** Bytes that pruning a body frees. */
  readonly freedBy: (body: B) => number
  /** First accept-sequence number that a backfill still needs; Infinity if none. */
  readonly firstNeeded: number
  /** True if a run of its event is open or a dead letter. */
  readonly isOpen: (body: B) => boolean
}

/**
 * Chooses the bodies to prune. Bodies are in order of receipt, so all bodies after a young one are younger. `after`: where the next step
 * continues; null at the end.
 */
export function chooseBodies<B extends StoredBody>(bodies: readonly B[], choice: Choice<B>) {
  const { now, lastTotal, share, freedBy, firstNeeded, isOpen } = choice
  const { receivedBefore, maxBytes } = choice.limits
  const chosen: B[] = []
  let remaining = choice.surplus
  for (const body of bodies) {
    const isExcess = remaining > 0 && lastTotal - body.total >= (maxBytes ?? 0) * share
    const isOld =
      (isExcess && body.receivedAt < now - bounds.minAgeMs) || body.receivedAt < (receivedBefore ?? -Infinity)
    // A body with a time in the future is neither old nor young: the clock was wrong.
    const isYoung = !isOld && body.receivedAt <= now
    if (isYoung || body.seq >= firstNeeded) return { chosen, after: null }
    if (!isOld || isOpen(body)) continue
    chosen.push(body)
    remaining -= freedBy(body)
    if (chosen.length === bounds.maxPruned) return { chosen, after: body.seq }
  }
  return { chosen, after: bodies.at(-1)?.seq ?? null }
}
