import { constants } from 'node:fs'
import { mkdir, open, readdir, realpath, rename, rm, type FileHandle, access, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface AppendFileOptions {
  /** Absolute. Its folder is made where it is missing. */
  readonly path: string
  /** A file that would become longer is put aside first, as `<path>.000001`, `<path>.000002` … */
  readonly maxBytes: number
  /** How many of those are kept: the newest. Undefined: all. */
  readonly keep?: number | undefined
  readonly fsync: boolean
  /** Told when part of a line was cut off that a process left there when it died. */
  readonly onCut: (bytes: number) => void
}

export interface AppendFile {
  /** Appends whole lines; once it has resolved the disk has them, if `fsync`. After an error some may be there, each of them whole. */
  append(lines: readonly Uint8Array[], signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const lookMs = 20

interface Opened {
  readonly file: string
  readonly lock: FileLock
}

/**
 * A file that is only ever added to, by this thread and by others that write to it in the same way: a lock beside it lets in one at a
 * time. A pipe or a terminal is written to without any of this.
 */
export function createAppendFile(options: AppendFileOptions): AppendFile {
  const { maxBytes, keep, fsync, onCut } = options
  let opened: Promise<Opened> | undefined
  let handle: FileHandle | undefined
  /** How long the file was when it was last left in good order; undefined: unknown. */
  let leftAt: number | undefined
  let last: Promise<unknown> = Promise.resolve()

  async function openOnce(): Promise<Opened> {
    await makeFolder(dirname(options.path))
    const file = await realPath(options.path)
    return { file, lock: await openFileLock(`${file}.lock`) }
  }

  /** The file as it is now: another may have put it aside, or somebody may have removed it. */
  async function current(file: string): Promise<FileHandle> {
    const there = await statOf(file)
    if (handle !== undefined) {
      const { ino, dev } = await handle.stat()
      if (there?.ino === ino && there.dev === dev) return handle
      await closeHandle()
    }
    handle = await open(file, 'a+')
    if (there === undefined && fsync) await syncFolder(file)
    return handle
  }

  async function closeHandle(): Promise<void> {
    const old = handle
    handle = undefined
    leftAt = undefined
    await old?.close()
  }

  async function mendEnd(file: FileHandle, length: number): Promise<number> {
    if (length === leftAt) return length
    const end = await readFileEnd(file, length)
    if (end.kind === 'whole') return length
    if (end.kind === 'unended') {
      await file.appendFile('\n')
      return length + 1
    }
    await file.truncate(end.start)
    onCut(length - end.start)
    return end.start
  }

  async function write(file: FileHandle, lines: readonly Uint8Array[], length: number): Promise<number> {
    const bytes = Buffer.concat(lines)
    try {
      await file.appendFile(bytes)
      if (fsync) await file.datasync()
      return (leftAt = length + bytes.length)
    } catch (error) {
      // What is left of it would stand before the next attempt.
      await file.truncate(length).catch(() => {})
      await closeHandle().catch(() => {})
      throw error
    }
  }

  async function putAside(file: string): Promise<void> {
    await closeHandle()
    const there = await numbersAside(file)
    const next = (there.at(-1) ?? 0) + 1
    await rename(file, aside(file, next))
    if (fsync) await syncFolder(file)
    if (keep === undefined) return
    const all = [...there, next]
    for (const number of all.slice(0, Math.max(0, all.length - keep))) await rm(aside(file, number), { force: true })
  }

  async function appendAlone(file: string, lines: readonly Uint8Array[]): Promise<void> {
    let to = await current(file)
    let length = await mendEnd(to, (await to.stat()).size)
    for (let from = 0; from < lines.length;) {
      const fitting = howManyFit(lines.slice(from), maxBytes - length)
      if (fitting === 0 && length > 0) {
        await putAside(file)
        to = await current(file)
        length = 0
        continue
      }
      // A line that is longer than a file may be gets one of its own.
      const part = lines.slice(from, from + Math.max(1, fitting))
      length = await write(to, part, length)
      from += part.length
    }
  }

  async function append(lines: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    const there = await statOf(options.path)
    if (there !== undefined && !there.isFile()) return appendToDevice(options.path, lines, signal)
    opened ??= openOnce()
    opened.catch(() => (opened = undefined))
    const { file, lock } = await opened
    await lock.hold(signal, () => appendAlone(file, lines))
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

/**
 * Makes a folder and its parents. Below /proc, Node's own recursive `mkdir` never returns, and keeps one of the four threads that do
 * all file work of the process.
 */
export async function makeFolder(folder: string): Promise<void> {
  const parent = dirname(folder)
  if ((await statOf(parent)) === undefined) await makeFolder(parent)
  await mkdir(folder).catch(async (error: unknown) => {
    if (!(await statOf(folder))?.isDirectory()) throw error
  })
}

/** How many of the first lines have `bytes` bytes or less together. */
function howManyFit(lines: readonly Uint8Array[], bytes: number): number {
  let left = bytes
  const first = lines.findIndex(({ length }) => (left -= length) < 0)
  return first === -1 ? lines.length : first
}

function aside(file: string, number: number): string {
  return `${file}.${String(number).padStart(6, '0')}`
}

async function numbersAside(file: string): Promise<number[]> {
  const prefix = `${basename(file)}.`
  const names = (await readdir(dirname(file))).filter((name) => name.startsWith(prefix))
  const numbers = names.map((name) => name.slice(prefix.length)).filter((rest) => /^\d{6,12}$/.test(rest))
  return numbers.map(Number).sort((a, b) => a - b)
}

/** The one name of a file that may not be there yet: without symbolic links. */
async function realPath(path: string): Promise<string> {
  if ((await statOf(path)) !== undefined) return realpath(path)
  return join(await realpath(dirname(path)), basename(path))
}

/**
 * Without ever waiting inside the system, where nothing could end it: all files and names of the process are looked up by four
 * threads, and each pipe that nobody reads would take one of them. Such a pipe is an error (ENXIO).
 */
async function appendToDevice(path: string, lines: readonly Uint8Array[], signal: AbortSignal): Promise<void> {
  const bytes = Buffer.concat(lines)
  const device = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)
  try {
    for (let from = 0; from < bytes.length;) {
      const written = await device.write(bytes, from).catch(nothingIfFull)
      from += written.bytesWritten
      if (written.bytesWritten === 0) await delay(lookMs, undefined, { signal })
    }
  } finally {
    await device.close()
  }
}

/** A pipe whose reader is slow takes nothing for a while. */
function nothingIfFull(error: unknown): { readonly bytesWritten: number } {
  if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return { bytesWritten: 0 }
  throw error
}

/** A new name is only as durable as its folder. */
async function syncFolder(file: string): Promise<void> {
  const folder = await open(dirname(file), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** What is at the end of a file of lines: `whole` lines, a last line that only lacks its newline, or part of one from `start` on. */
type FileEnd =
  | { readonly kind: 'whole' }
  | { readonly kind: 'unended' }
  | { readonly kind: 'torn'; readonly start: number }

const newline = 0x0a
const blockBytes = 64 * 1024
/** More than any line has: a file whose last line is longer was not written by us. */
const longestLine = 64 * 1024 * 1024

/** Looks at the last line of a file of `length` bytes. Throws if that is so long that the file must be of another kind. */
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
    if (length - start > longestLine) throw new Error('it does not look like a file of lines of JSON')
  }
  return isObject(Buffer.concat(blocks).toString()) ? { kind: 'unended' } : { kind: 'torn', start }
}

/** Objects only: `12` may be the beginning of `123`. */
function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}

interface FileLock {
  /** Runs `task` while nobody else holds the lock. Rejects when `signal` is aborted while it waits. */
  hold<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T>
  close(): void
}

/**
 * A lock between threads and processes: the write lock of an empty SQLite file. The operating system ends it with the process that
 * holds it, however that dies.
 */
async function openFileLock(file: string): Promise<FileLock> {
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

/** These show what the system does: nobody can add a file to them, and making a folder there may never come back. */
const systemFolders = ['/proc', '/sys']

/**
 * Whether a file can be made at this absolute path, its folder too where it is missing; nothing is written. Throws an Error, with
 * `option` in front, that says what is in the way. A pipe or a terminal that is there is left to the first write.
 */
export async function checkPlace(path: string, option: string): Promise<void> {
  const there = await statOf(path)
  if (there !== undefined && !there.isFile() && !there.isDirectory()) return
  if (there?.isDirectory()) throw new Error(`${option}: ${path} is a folder; expected the path of a file`)
  if (there?.isFile()) await requireWritable(path, option, constants.W_OK)
  let folder = dirname(path)
  let found = await statOf(folder)
  while (found === undefined && folder !== dirname(folder)) {
    folder = dirname(folder)
    found = await statOf(folder)
  }
  if (found?.isDirectory() === false) throw new Error(`${option}: ${folder} is no folder; choose another path`)
  const real = await realpath(folder)
  if (systemFolders.some((system) => `${real}/`.startsWith(`${system}/`))) {
    throw new Error(
      `${option}: ${path} is in a folder of the system that holds no files of others; choose another path`,
    )
  }
  await requireWritable(folder, option, constants.W_OK | constants.X_OK)
}

async function requireWritable(path: string, option: string, mode: number): Promise<void> {
  try {
    await access(path, mode)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new Error(
      `${option}: ${path} cannot be written to (${reason}): let this user write there, or choose another path`,
      {
        cause: error,
      },
    )
  }
}

/** Undefined for a path that does not exist, also because a part of it is no folder. */
export async function statOf(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
