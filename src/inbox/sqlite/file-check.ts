import { statSync, type BigIntStats } from 'node:fs'
import { messageOf } from '../../base/errors.ts'

/** A path that no longer leads to the file that was opened there. */
export interface FileChange {
  readonly path: string
  /** Such as "was deleted or moved". */
  readonly what: string
}

/**
 * SQLite goes on writing to a file that was deleted, moved or replaced, where the next start won't look. The check that this returns
 * compares the paths with the inodes that they had at first. It only uses `stat`: to close a descriptor of the database would release
 * SQLite's locks on it. `onLinked` is called once, when the first path has several names.
 */
export function createFileCheck(
  paths: readonly [string, ...string[]],
  onLinked: (names: number) => void,
): () => FileChange | null {
  const opened = paths.map((path) => ({ path, stats: statSync(path, { bigint: true }) }))
  let isLinked = false

  function changeOf(path: string, stats: BigIntStats): FileChange | null {
    try {
      const now = statSync(path, { bigint: true, throwIfNoEntry: false })
      if (now === undefined) return { path, what: 'was deleted or moved' }
      if (now.ino !== stats.ino || now.dev !== stats.dev) return { path, what: 'was replaced by another file' }
      if (!isLinked && now.nlink > 1n && path === paths[0]) {
        isLinked = true
        onLinked(Number(now.nlink))
      }
      return null
    } catch (error) {
      return { path, what: `can no longer be looked up (${messageOf(error)})` }
    }
  }

  return () => {
    for (const { path, stats } of opened) {
      const change = changeOf(path, stats)
      if (change !== null) return change
    }
    return null
  }
}
