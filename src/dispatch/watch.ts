import type { Clock, Timer } from '../base/clock.ts'
import { findHandlerFiles } from './registry.ts'
import { statSync, type BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'

export interface HandlerWatchOptions {
  readonly handlersDir: string
  /** Interval of the checks, in milliseconds. */
  readonly pollMs: number
  readonly clock: Clock
  /** Called when files changed and then stayed the same for one interval. */
  readonly onChange: (changed: readonly string[]) => void
}

/** Stamps of files, by path. */
type Stamps = ReadonlyMap<string, string>

/**
 * Watches the handler files of a folder, and the files they import, for changes. It polls, because file system events
 * are missing on mounted volumes and for changed targets of symbolic links.
 */
export class HandlerWatch {
  readonly #options: HandlerWatchOptions
  readonly #seen = new Map<string, string>()
  #inFolder: readonly string[] = []
  /** A change that may still be in progress. */
  #pending: Stamps | undefined
  #timer: Timer | undefined
  #isClosed = false

  constructor(options: HandlerWatchOptions) {
    this.#options = options
  }

  /** Await this before loading the files: later changes count. */
  async start(): Promise<void> {
    this.#addStamps(await this.#readStamps())
    this.#checkLater()
  }

  /** Adds an imported file with the stamp it had before the import. */
  note(file: string, stamp: string): void {
    if (!this.#seen.has(file)) this.#seen.set(file, stamp)
  }

  /** Stops watching all files except these and the folder's own files. */
  keep(files: ReadonlySet<string>): void {
    const kept = new Set([...files, ...this.#inFolder])
    for (const file of this.#seen.keys()) if (!kept.has(file)) this.#seen.delete(file)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #checkLater(): void {
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(this.#options.pollMs, () => {
      void this.#check().then(() => this.#checkLater())
    })
  }

  async #check(): Promise<void> {
    const stamps = await this.#readStamps()
    const changed = differences(this.#seen, stamps)
    const isSettled = this.#pending !== undefined && differences(this.#pending, stamps).length === 0
    this.#pending = changed.length > 0 && !isSettled ? stamps : undefined
    if (changed.length === 0 || !isSettled || this.#isClosed) return
    this.#addStamps(stamps)
    this.#options.onChange(changed)
  }

  /** Keeps files that were added during the check. */
  #addStamps(stamps: Stamps): void {
    for (const [file, stamp] of stamps) this.#seen.set(file, stamp)
  }

  async #readStamps(): Promise<Stamps> {
    this.#inFolder = await findHandlerFiles(this.#options.handlersDir).catch(() => [])
    const files = [...new Set([...this.#inFolder, ...this.#seen.keys()])]
    return new Map(await Promise.all(files.map(async (file) => [file, await stampOf(file)] as const)))
  }
}

function differences(before: Stamps, after: Stamps): string[] {
  return [...after.keys()].filter((file) => after.get(file) !== before.get(file))
}

/** A stamp that differs between two states of a file. A missing file has one, too. */
export function stampOfSync(file: string): string {
  try {
    return toStamp(statSync(file, { bigint: true }))
  } catch {
    return absent
  }
}

async function stampOf(file: string): Promise<string> {
  try {
    return toStamp(await stat(file, { bigint: true }))
  } catch {
    return absent
  }
}

const absent = 'absent'

/** Includes the inode: an editor that replaces a file may keep its time and size. */
function toStamp(stats: BigIntStats): string {
  const { ino, size, mtimeNs } = stats
  return stats.isDirectory() ? absent : `${ino} ${size} ${mtimeNs}`
}
