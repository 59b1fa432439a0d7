import type { GroupCommit } from './group-commit.ts'

/** Decides, before any work is done for a request, whether there is room for it. */
export interface Pressure {
  /** Null if there is room, otherwise what is short. */
  reason(): 'queue' | 'event_loop' | 'commit' | null
  /** Takes room for a body of so many bytes that is to be read; false if there is none. */
  enterBody(bytes: number): boolean
  /** Gives the room back once the body is no longer being read. */
  leaveBody(bytes: number): void
  close(): void
}

const mebibyte = 1024 * 1024
const limits = {
  pendingRows: 20_000,
  pendingBytes: 64 * mebibyte,
  oldestPendingMs: 2_000,
  eventLoopDelayMs: 400,
  /** Of all bodies that are being read, beside one of the largest size. */
  bodyBytes: 64 * mebibyte,
  /** Room that only small bodies may take beyond that, so that large ones cannot keep them out. */
  smallBodyBytes: 16 * mebibyte,
}
const smallBody = 64 * 1024
const sampleMs = 100

export function createPressure(pending: GroupCommit['pending'], bodyLimitBytes: number): Pressure {
  const roomForLarge = limits.bodyBytes + bodyLimitBytes
  const roomForSmall = roomForLarge + limits.smallBodyBytes
  let bodyBytes = 0
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
    enterBody(bytes) {
      if (bodyBytes + bytes > (bytes > smallBody ? roomForLarge : roomForSmall)) return false
      bodyBytes += bytes
      return true
    },
    leaveBody(bytes) {
      bodyBytes -= bytes
    },
    close: () => clearInterval(sampler),
  }
}
