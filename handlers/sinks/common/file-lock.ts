import { setTimeout as delay } from 'node:timers/promises'

export interface FileLock {
  /** Runs `task` while nobody else holds the lock. Rejects when `signal` is aborted while it waits. */
  hold<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T>
  close(): void
}

const lookMs = 20

/**
 * A lock between threads and processes: the write lock of an empty SQLite file. The operating system ends it with the process that
 * holds it, however that dies.
 */
export async function openFileLock(file: string): Promise<FileLock> {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Sqlite(file, { timeout: 0 })

  function isTaken(): boolean {
    try {
      db.exec('BEGIN IMMEDIATE')
      return false
    } catch (error) {
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) return true
      throw error
    }
  }

  return {
    async hold(signal, task) {
      while (isTaken()) await delay(lookMs, undefined, { signal })
      try {
        return await task()
      } finally {
        if (db.open) db.exec('ROLLBACK')
      }
    },
    close: () => void db.close(),
  }
}
