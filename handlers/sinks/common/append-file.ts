import { constants } from 'node:fs'
import { mkdir, open, readdir, realpath, rename, rm, type FileHandle, access, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface AppendFileOptions {
  /** Absolute path. A missing folder is created. */
  readonly path: string
  /** Maximum length. Before a longer write, the file is renamed to `<path>.000001`, `<path>.000002` … */
  readonly maxBytes: number
  /** Number of renamed files to keep. Undefined: all. */
  readonly keep?: number | undefined
  /** True: every append waits until its lines are on disk. */
  readonly fsync: boolean
  /** Called after removing the incomplete last line of a crashed process, with its length. */
  readonly onCut: (bytes: number) => void
}

export interface AppendFile {
  /** Appends whole lines. If it rejects, some of them may be in the file. */
  append(lines: readonly Uint8Array[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Interval for checking a taken lock or a full pipe again. */
const pollMs = 20

interface Opened {
  /** Path without symbolic links. */
  readonly file: string
  readonly lock: FileLock
}

/**
 * Appends to a file that other threads and processes may append to, too. A lock file in the same folder admits one writer
 * at a time. Pipes and terminals need no lock.
 */
export function createAppendFile(options: AppendFileOptions): AppendFile {
  const { maxBytes, keep, fsync, onCut } = options
  let opened: Promise<Opened> | undefined
  let handle: FileHandle | undefined
  /** File length in bytes after this object's latest complete write; undefined: unknown. */
  let writtenLength: number | undefined
  /** Latest append. Appends run one after the other. */
  let last: Promise<unknown> = Promise.resolve()

  async function openOnce(): Promise<Opened> {
    await mkdir(dirname(options.path), { recursive: true })
    const file = await realPath(options.path)
    return { file, lock: await openFileLock(`${file}.lock`) }
  }

  /** Opens the file again if it was renamed or removed. */
  async function current(file: string): Promise<FileHandle> {
    const found = await statOf(file)
    if (handle !== undefined) {
      const { ino, dev } = await handle.stat()
      if (found?.ino === ino && found.dev === dev) return handle
      await closeHandle()
    }
    handle = await open(file, 'a+')
    if (found === undefined && fsync) await syncFolder(file)
    return handle
  }

  async function closeHandle(): Promise<void> {
    const old = handle
    handle = undefined
    writtenLength = undefined
    await old?.close()
  }

  /** Completes or removes an incomplete last line. Returns the new length of the file. */
  async function repairEnd(file: FileHandle, length: number): Promise<number> {
    if (length === writtenLength) return length
    const end = await readFileEnd(file, length)
    if (end.kind === 'whole') return length
    if (end.kind === 'no-newline') {
      await file.appendFile('\n')
      return length + 1
    }
    await file.truncate(end.start)
    onCut(length - end.start)
    return end.start
  }

  /** Writes lines at the end of a file of `length` bytes. Returns the new length. */
  async function write(file: FileHandle, lines: readonly Uint8Array[], length: number): Promise<number> {
    const bytes = Buffer.concat(lines)
    try {
      await file.appendFile(bytes)
      if (fsync) await file.datasync()
      return (writtenLength = length + bytes.length)
    } catch (error) {
      // Removes a partial line, which the next attempt would continue.
      await file.truncate(length).catch(() => {})
      await closeHandle().catch(() => {})
      throw error
    }
  }

  async function rotate(file: string): Promise<void> {
    await closeHandle()
    const numbers = await rotatedNumbers(file)
    const next = (numbers.at(-1) ?? 0) + 1
    await rename(file, rotatedPath(file, next))
    if (fsync) await syncFolder(file)
    if (keep === undefined) return
    const all = [...numbers, next]
    for (const number of all.slice(0, Math.max(0, all.length - keep)))
      await rm(rotatedPath(file, number), { force: true })
  }

  /** Appends while holding the lock. */
  async function appendLocked(file: string, lines: readonly Uint8Array[]): Promise<void> {
    let to = await current(file)
    let length = await repairEnd(to, (await to.stat()).size)
    for (let from = 0; from < lines.length;) {
      const fitting = countFitting(lines.slice(from), maxBytes - length)
      if (fitting === 0 && length > 0) {
        await rotate(file)
        to = await current(file)
        length = 0
        continue
      }
      // A line longer than `maxBytes` gets a separate file.
      const part = lines.slice(from, from + Math.max(1, fitting))
      length = await write(to, part, length)
      from += part.length
    }
  }

  async function append(lines: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const found = await statOf(options.path)
    if (found !== undefined && !found.isFile()) return appendToDevice(options.path, lines, signal)
    opened ??= openOnce()
    opened.catch(() => (opened = undefined))
    const { file, lock } = await opened
    await lock.hold(signal, () => appendLocked(file, lines))
  }

  return {
    append(lines, signal) {
      const appended = last.then(() => append(lines, signal))
      last = appended.catch(() => {})
      return appended
    },
    async close() {
      await last
      await closeHandle()
      const { lock } = (await opened?.catch(() => undefined)) ?? {}
      opened = undefined
      lock?.close()
    },
  }
}

/** Number of leading lines that fit into `bytes`. */
function countFitting(lines: readonly Uint8Array[], bytes: number): number {
  let left = bytes
  const first = lines.findIndex(({ length }) => (left -= length) < 0)
  return first === -1 ? lines.length : first
}

function rotatedPath(file: string, number: number): string {
  return `${file}.${String(number).padStart(6, '0')}`
}

/** Numbers of the renamed files, in ascending order. */
async function rotatedNumbers(file: string): Promise<number[]> {
  const prefix = `${basename(file)}.`
  const names = (await readdir(dirname(file))).filter((name) => name.startsWith(prefix))
  const numbers = names.map((name) => name.slice(prefix.length)).filter((rest) => /^\d{6,12}$/.test(rest))
  return numbers.map(Number).sort((a, b) => a - b)
}

/** Resolves symbolic links. The file may be missing. */
async function realPath(path: string): Promise<string> {
  if ((await statOf(path)) !== undefined) return realpath(path)
  return join(await realpath(dirname(path)), basename(path))
}

/**
 * Appends to a pipe or terminal. Writes don't block, because a blocked write would occupy one of Node's four I/O threads.
 * A pipe without a reader is an error (ENXIO).
 */
async function appendToDevice(path: string, lines: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
  const bytes = Buffer.concat(lines)
  const device = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)
  try {
    for (let from = 0; from < bytes.length;) {
      const written = await device.write(bytes, from).catch(ignoreFullPipe)
      from += written.bytesWritten
      if (written.bytesWritten === 0) await delay(pollMs, undefined, { signal })
    }
  } finally {
    await device.close()
  }
}

/** Returns 0 bytes written if the pipe is full, which is temporary. */
function ignoreFullPipe(error: unknown): { readonly bytesWritten: number } {
  if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return { bytesWritten: 0 }
  throw error
}

/** Makes a new file name durable: without it, a crash of the machine could lose the name. */
async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** How a file ends: with a complete line, with a complete JSON object but no newline, or with an incomplete line at byte `start`. */
type FileEnd =
  | { readonly kind: 'whole' }
  | { readonly kind: 'no-newline' }
  | { readonly kind: 'incomplete'; readonly start: number }

const newline = 0x0a
const blockBytes = 64 * 1024
/** This sink writes no longer lines, so a longer one means that the file isn't its own. */
const maxLineBytes = 64 * 1024 * 1024

/** Examines the last line of a file of `length` bytes. Throws if the line is too long. */
async function readFileEnd(handle: FileHandle, length: number): Promise<FileEnd> {
  if (length === 0) return { kind: 'whole' }
  const blocks: Buffer[] = []
  let start = length
  while (start > 0) {
    const size = Math.min(blockBytes, start)
    const { buffer } = await handle.read(Buffer.alloc(size), 0, size, start - size)
    const at = buffer.lastIndexOf(newline)
    if (start === length && at === size - 1) return { kind: 'whole' }
    blocks.unshift(buffer.subarray(at + 1))
    start -= size - (at + 1)
    if (at !== -1) break
    if (length - start > maxLineBytes) throw new Error('the file has no JSON lines')
  }
  return isObject(Buffer.concat(blocks).toString()) ? { kind: 'no-newline' } : { kind: 'incomplete', start }
}

/** True for a complete JSON object. Other JSON may be incomplete: `12` may be the beginning of `123`. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

interface FileLock {
  /** Runs `task` while holding the lock. Rejects if `signal` aborts the wait. */
  hold<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T>
  close(): void
}

/** Lock between threads and processes: the write lock of an empty SQLite file. The system releases it after a crash. */
async function openFileLock(file: string): Promise<FileLock> {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Sqlite(file, { timeout: 0 })

  /** Tries to take the lock. Returns false if another thread or process holds it. */
  function take(): boolean {
    try {
      db.exec('BEGIN IMMEDIATE')
      return true
    } catch (error) {
      if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) return false
      throw error
    }
  }

  return {
    async hold(signal, task) {
      while (!take()) await delay(pollMs, undefined, { signal })
      try {
        return await task()
      } finally {
        if (db.open) db.exec('ROLLBACK')
      }
    },
    close: () => void db.close(),
  }
}

/**
 * Checks that a file can be created at an absolute path, missing folders included, without writing. Throws an Error that
 * starts with `option`. Accepts pipes and terminals.
 */
export async function checkPlace(path: string, option: string): Promise<void> {
  const found = await statOf(path)
  if (found?.isDirectory()) throw new Error(`${option}: ${path} is a folder; expected the path of a file`)
  if (found?.isFile()) await requireWritable(path, option, constants.W_OK)
  if (found !== undefined && !found.isFile()) return
  let folder = dirname(path)
  while ((await statOf(folder)) === undefined) folder = dirname(folder)
  if (!(await statOf(folder))?.isDirectory())
    throw new Error(`${option}: ${folder} is not a folder; choose another path`)
  // Node's recursive mkdir never returns below /proc.
  if (/^\/(?:proc|sys)(?:\/|$)/.test(await realpath(folder)))
    throw new Error(`${option}: ${path} is in a system folder; choose another path`)
  await requireWritable(folder, option, constants.W_OK | constants.X_OK)
}

async function requireWritable(path: string, option: string, mode: number): Promise<void> {
  try {
    await access(path, mode)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new Error(
      `${option}: ${path} cannot be written to (${reason}): give this user write access, or choose another path`,
      { cause: error },
    )
  }
}

/** Undefined for a missing path, also if a parent is not a folder. */
async function statOf(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
