import type { GroupCommit } from './group-commit.ts'

/** Decides, before any work is done for a request, whether there is room for it. */
export interface Pressure {
  /** Null if there is room, otherwise what is short. */
  reason(): 'queue' | 'event_loop' | 'commit' | null
  /** Counts a body that is large, or of unknown size, while it is read; null if there are too many of them. */
  enterLargeBody(): { leave(): void } | null
  close(): void
}

/** Bodies above this size are counted while they are read. */
export const largeBodyBytes = 64 * 1024

const limits = {
  pendingRows: 20_000,
  pendingBytes: 64 * 1024 * 1024,
  oldestPendingMs: 2_000,
  eventLoopDelayMs: 400,
  largeBodies: 64,
}
const sampleMs = 100

export function createPressure(pending: GroupCommit['pending']): Pressure {
  let largeBodies = 0
  let expectedSample = performance.now() + sampleMs
  let delayMs = 0
  const sampler = setInterval(() => {
    const now = performance.now()
    delayMs = Math.max(0, now - expectedSample)
    expectedSample = now + sampleMs
  }, sampleMs)
  sampler.unref()

  return {
    reason() {
      if (pending.rows >= limits.pendingRows || pending.bytes >= limits.pendingBytes) return 'queue'
      if (delayMs > limits.eventLoopDelayMs) return 'event_loop'
      return pending.oldestMs > limits.oldestPendingMs ? 'commit' : null
    },
    enterLargeBody() {
      if (largeBodies >= limits.largeBodies) return null
      largeBodies++
      let left = false
      return {
        leave() {
          if (!left) largeBodies--
          left = true
        },
      }
    },
    close: () => clearInterval(sampler),
  }
}
