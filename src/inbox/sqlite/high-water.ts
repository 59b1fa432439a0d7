import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../../base/files.ts'

/**
 * The highest committed accept-sequence number, kept in a small file beside the database. A damaged WAL can lose its last
 * commits without leaving a gap inside the database; this mark, which no WAL holds, still knows that they were there.
 * It is written after each commit and never fsync'd: after a power cut it may be behind, never ahead.
 */
export interface HighWaterMark {
  /** What an earlier process left, 0 if none. */
  readonly found: number
  write(seq: number): void
  /** Writes the mark again if it or its folder was deleted, so that the next start there counts the missing events. */
  writeAgain(): void
  close(): void
}

const width = 20

export function openHighWaterMark(databaseFile: string): HighWaterMark {
  const file = `${databaseFile}.seq`
  const fd = openSync(file, 'a+')
  closeSync(fd)
  const text = readFileSync(file, 'utf8').trim()
  const writable = openSync(file, 'r+')
  const found = /^\d{1,15}$/.test(text) ? Number(text) : 0
  let last = found
  return {
    found,
    write(seq) {
      if (seq === last) return
      last = seq
      try {
        writeSync(writable, `${String(seq).padStart(width)}\n`, 0)
      } catch {
        // Evidence only: a full disk here must not fail a commit that succeeded.
      }
    },
    writeAgain() {
      try {
        makeFolder(dirname(file))
        const there = openHighWaterMark(databaseFile)
        if (there.found < last) there.write(last)
        there.close()
      } catch {
        // Evidence only, as above.
      }
    },
    close: () => closeSync(writable),
  }
}
