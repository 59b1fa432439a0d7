import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { FileOptions } from './file.ts'
import type { SinkKind } from './kinds.ts'
import type { SqlOptions } from './sql.ts'

export interface OwnDatabase {
  /** Absolute; undefined: the inbox is in memory. */
  readonly databaseFile?: string | undefined
  /** Makes a path absolute. */
  readonly at: (path: string) => string
}

/** Whether a sink would write to the file that the inbox itself is kept in. `options` are those of its kind, checked. */
export function isOwnDatabase(
  { kind, options }: { readonly kind: SinkKind; readonly options: unknown },
  { databaseFile, at }: OwnDatabase,
): boolean {
  const path = pathOf(kind, options)
  return path !== undefined && databaseFile !== undefined && realPath(at(path)) === realPath(databaseFile)
}

function pathOf(kind: SinkKind, options: unknown): string | undefined {
  if (kind === 'file') return (options as FileOptions).path
  return kind === 'sql' ? /^sqlite:(?:\/\/(?=\/))?(.*)$/s.exec((options as SqlOptions).url)?.[1] : undefined
}

/** Without symbolic links, as far as it is there. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path))
  }
}
