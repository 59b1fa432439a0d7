import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** True if both paths lead to the same file, which may not exist yet. Both are absolute. */
export function isSameFile(path: string, other: string): boolean {
  return realPath(path) === realPath(other)
}

/** Without symbolic links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path))
  }
}
