import { constants } from 'node:fs'
import { access, mkdir, open, readdir, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface AppendOptions {
  /** Absolute path. A missing folder is created. */
  readonly path: string
  /** Maximum length. Before a longer write, the file is renamed to `<path>.000001`, `<path>.000002` … */
  readonly maxBytes: number
  /** Number of renamed files to keep. Undefined: all. */
  readonly keep?: number | undefined
  /** True: waits until the lines are on disk. */
  readonly fsync: boolean
  /** Called after removing an incomplete last line, with its length. */
  readonly onCut: (bytes: number) => void
}

/** Interval for checking a taken lock or a full pipe again. */
const pollMs = 20

/**
 * Appends whole lines to a file that other threads and processes may append to, too. If it rejects, some of the lines may be
 * in the file. Pipes and terminals are written without a lock.
 */
export async function appendLines(
  options: AppendOptions,
  lines: readonly Uint8Array[],
  signal: AbortSignal,
): Promise<void> {
  const existing = await statOf(options.path)
  if (existing !== undefined && !existing.isFile()) return appendToDevice(options.path, Buffer.concat(lines), signal)
  await mkdir(dirname(options.path), { recursive: true })
  // All writers of a file need the same lock, even if they know it by different links.
  const path =
    existing === undefined
      ? join(await realpath(dirname(options.path)), basename(options.path))
      : await realpath(options.path)
  await underLock(`${path}.lock`, signal, () => appendLocked({ ...options, path }, lines))
}

/**
 * Runs `task` while no other thread or process does. The lock is the write lock of an empty SQLite file: the system releases
 * it after a crash.
 */
async function underLock(file: string, signal: AbortSignal, task: () => Promise<void>): Promise<void> {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Sqlite(file, { timeout: 0 })
  const isTaken = () => {
    try {
      db.exec('BEGIN IMMEDIATE')
      return false
    } catch (error) {
      if (codeOf(error)?.startsWith('SQLITE_BUSY') === true) return true
      throw error
    }
  }
  try {
    while (isTaken()) await delay(pollMs, undefined, { signal })
    await task()
  } finally {
    db.close()
  }
}

async function appendLocked(options: AppendOptions, lines: readonly Uint8Array[]): Promise<void> {
  let length = await cutLastLine(options)
  for (let from = 0; from < lines.length;) {
    const fitting = countFitting(lines.slice(from), options.maxBytes - length)
    if (fitting === 0 && length > 0) {
      await rotate(options)
      length = 0
      continue
    }
    // A line longer than `maxBytes` gets a separate file.
    const part = lines.slice(from, from + Math.max(1, fitting))
    length += await write(options, Buffer.concat(part), length)
    from += part.length
  }
}

/** Number of leading lines that fit into `bytes`. */
function countFitting(lines: readonly Uint8Array[], bytes: number): number {
  let remaining = bytes
  const first = lines.findIndex(({ length }) => (remaining -= length) < 0)
  return first === -1 ? lines.length : first
}

/** Writes at the end of a file of `length` bytes. Returns the number of written bytes. */
async function write({ path, fsync }: AppendOptions, bytes: Uint8Array, length: number): Promise<number> {
  await using file = await open(path, 'a')
  try {
    await file.appendFile(bytes)
    if (fsync) await file.datasync()
  } catch (error) {
    // Removes a partial line.
    await file.truncate(length).catch(() => {})
    throw error
  }
  if (fsync && length === 0) await syncFolder(path)
  return bytes.length
}

async function rotate({ path, keep, fsync }: AppendOptions): Promise<void> {
  const prefix = `${basename(path)}.`
  const names = (await readdir(dirname(path))).filter((name) => name.startsWith(prefix))
  const numbers = names.map((name) => name.slice(prefix.length)).filter((rest) => /^\d{6,12}$/.test(rest))
  const rotated = numbers.map(Number).sort((a, b) => a - b)
  const next = (rotated.at(-1) ?? 0) + 1
  rotated.push(next)
  const rotatedPath = (number: number) => `${path}.${String(number).padStart(6, '0')}`
  await rename(path, rotatedPath(next))
  if (fsync) await syncFolder(path)
  const surplus = keep === undefined ? 0 : Math.max(0, rotated.length - keep)
  for (const number of rotated.slice(0, surplus)) await rm(rotatedPath(number), { force: true })
}

/** Makes a new file name durable: without it, a crash of the machine could lose the name. */
async function syncFolder(file: string): Promise<void> {
  await using folder = await open(dirname(file), 'r')
  await folder.sync()
}

const newline = 0x0a
const blockBytes = 64 * 1024
/** The sink writes shorter lines. A longer one means that another program wrote the file. */
const maxLineBytes = 64 * 1024 * 1024

/** Removes an incomplete last line, which a crash leaves: its items are sent again. Returns the length of the file. */
async function cutLastLine({ path, onCut }: AppendOptions): Promise<number> {
  if ((await statOf(path)) === undefined) return 0
  await using file = await open(path, 'r+')
  const { size } = await file.stat()
  const end = await endOfLines(file, size)
  if (end === size) return size
  await file.truncate(end)
  onCut(size - end)
  return end
}

/** Position after the last newline in a file of `size` bytes. */
async function endOfLines(file: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0;) {
    if (size - end > maxLineBytes) throw new Error('the file has no JSON lines')
    const start = Math.max(0, end - blockBytes)
    const { buffer } = await file.read(Buffer.alloc(end - start), 0, end - start, start)
    const at = buffer.lastIndexOf(newline)
    if (at !== -1) return start + at + 1
    end = start
  }
  return 0
}

/**
 * Appends to a pipe or terminal. Writes don't block, because a blocked write would occupy one of Node's four I/O threads.
 * A pipe without a reader is an error (ENXIO).
 */
async function appendToDevice(path: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
  await using device = await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK)
  for (let from = 0; from < bytes.length;) {
    try {
      from += (await device.write(bytes, from)).bytesWritten
    } catch (error) {
      // The pipe is full.
      if (codeOf(error) !== 'EAGAIN') throw error
      await delay(pollMs, undefined, { signal })
    }
  }
}

/** Checks that a file can be created at an absolute path, missing folders included. Throws an Error that starts with `option`. */
export async function checkWritable(path: string, option: string): Promise<void> {
  const existing = await statOf(path)
  if (existing?.isDirectory()) throw new Error(`${option}: ${path} is a folder; expected the path of a file`)
  let nearest = path
  while ((await statOf(nearest)) === undefined) nearest = dirname(nearest)
  if (nearest !== path && !(await stat(nearest)).isDirectory())
    throw new Error(`${option}: ${nearest} is not a folder; choose another path`)
  try {
    await access(nearest, constants.W_OK)
  } catch (error) {
    const advice = 'give this user write access, or choose another path'
    throw new Error(`${option}: ${nearest} cannot be written to (${codeOf(error)}): ${advice}`, { cause: error })
  }
}

/** Undefined for a missing path, also if a parent is not a folder. */
async function statOf(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
