import type { GroupCommit } from './group-commit.ts'

interface Upload {
  readonly stop: () => void
  bytes: number
  /** Bytes received since its last progress. */
  newBytes: number
}

const mebibyte = 1024 * 1024
const limits = {
  pendingRows: 20_000,
  pendingBytes: 64 * mebibyte,
  oldestPendingMs: 2_000,
  eventLoopDelayMs: 400,
  /** Maximum bytes of all bodies being read, in addition to one body of the maximum size. */
  bodyBytes: 64 * mebibyte,
}
/** Fewer new bytes are not progress: otherwise single bytes would keep an upload alive. */
const progressBytes = 1024
const sampleMs = 100

export type Pressure = ReturnType<typeof createPressure>

/** Decides whether there is room for a request. */
export function createPressure(pending: GroupCommit['pending'], bodyLimitBytes: number) {
  const roomBytes = limits.bodyBytes + bodyLimitBytes
  /** Uploads that take room, by time of their last progress. */
  const uploads = new Set<Upload>()
  let bodyBytes = 0
  let expectedSample = performance.now() + sampleMs
  let delayMs = 0
  const sampler = setInterval(() => {
    const now = performance.now()
    delayMs = Math.max(0, now - expectedSample)
    expectedSample = now + sampleMs
  }, sampleMs)
  sampler.unref()

  function receive(upload: Upload, bytes: number): void {
    bodyBytes += bytes
    upload.bytes += bytes
    upload.newBytes += bytes
    if (upload.newBytes >= progressBytes) {
      upload.newBytes = 0
      uploads.delete(upload)
    }
    uploads.add(upload)
    for (const stalled of uploads) {
      if (bodyBytes <= roomBytes) return
      leave(stalled)
      stalled.stop()
    }
  }

  function leave(upload: Upload): void {
    if (uploads.delete(upload)) bodyBytes -= upload.bytes
  }

  return {
    /** The overloaded resource; null if there is room. Call it before any other work. */
    reason() {
      if (pending.rows >= limits.pendingRows || pending.bytes >= limits.pendingBytes) return 'queue'
      if (delayMs > limits.eventLoopDelayMs) return 'event_loop'
      return pending.oldestMs > limits.oldestPendingMs ? 'commit' : null
    },
    /** A body is about to be read. `stop` is called if bodies with more progress need its room. */
    enterBody(stop: () => void) {
      const upload = { stop, bytes: 0, newBytes: 0 }
      return {
        /** Counts received bytes. */
        received: (bytes: number) => receive(upload, bytes),
        /** The body is no longer being read. Idempotent. */
        leave: () => leave(upload),
      }
    },
    close: () => clearInterval(sampler),
  }
}
