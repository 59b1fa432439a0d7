import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

/**
 * The highest committed accept-sequence number, kept in a small file beside the database. A damaged WAL can lose its last
 * commits without leaving a gap inside the database; this mark, which no WAL holds, still knows that they were there.
 * It is written after each commit and never fsync'd: after a power cut it may be behind, never ahead.
 */
export interface HighWaterMark {
  /** What an earlier process left, 0 if none. */
  readonly found: number
  write(seq: number): void
  close(): void
}

const width = 20

export function openHighWaterMark(databaseFile: string): HighWaterMark {
  const file = `${databaseFile}.seq`
  const fd = openSync(file, 'a+')
  closeSync(fd)
  const text = readFileSync(file, 'utf8').trim()
  const writable = openSync(file, 'r+')
  let last = -1
  return {
    found: /^\d{1,15}$/.test(text) ? Number(text) : 0,
    write(seq) {
      if (seq === last) return
      last = seq
      try {
        writeSync(writable, `${String(seq).padStart(width)}\n`, 0)
      } catch {
        // Evidence only: a full disk here must not fail a commit that succeeded.
      }
    },
    close: () => closeSync(writable),
  }
}
