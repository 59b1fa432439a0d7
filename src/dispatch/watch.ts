import type { Clock, Timer } from '../base/clock.ts'
import { findHandlerFiles } from './registry.ts'
import { statSync, type BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'

export interface SourceWatchOptions {
  readonly handlersDir: string
  /** How often it looks. */
  readonly lookMs: number
  readonly clock: Clock
  /** Called when files have changed and then stayed as they are for one look. */
  readonly onChange: (changed: readonly string[]) => void
}

/** Files and how they looked. */
type Look = ReadonlyMap<string, string>

/**
 * Looks whether the handler files of a folder, or files that they import, have changed. It asks for the state of each by and by,
 * because events of the file system do not come from mounted volumes, nor for what a link is turned to.
 */
export class SourceWatch {
  readonly #options: SourceWatchOptions
  readonly #seen = new Map<string, string>()
  #inFolder: readonly string[] = []
  /** A change that may not be over yet. */
  #pending: Look | undefined
  #timer: Timer | undefined
  #isClosed = false

  constructor(options: SourceWatchOptions) {
    this.#options = options
  }

  /** To be awaited before the files are loaded: what changes from then on counts. */
  async start(): Promise<void> {
    this.#see(await this.#look())
    this.#lookLater()
  }

  /** A file that was imported, as it looked before; from now on it is watched as well. */
  note(file: string, stamp: string): void {
    if (!this.#seen.has(file)) this.#seen.set(file, stamp)
  }

  /** Forgets all but these, and what is in the folder. */
  keep(files: ReadonlySet<string>): void {
    const kept = new Set([...files, ...this.#inFolder])
    for (const file of this.#seen.keys()) if (!kept.has(file)) this.#seen.delete(file)
  }

  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
  }

  #lookLater(): void {
    if (this.#isClosed) return
    this.#timer = this.#options.clock.after(this.#options.lookMs, () => {
      void this.#lookAgain().then(() => this.#lookLater())
    })
  }

  async #lookAgain(): Promise<void> {
    const look = await this.#look()
    const changed = differences(this.#seen, look)
    const isOver = this.#pending !== undefined && differences(this.#pending, look).length === 0
    this.#pending = changed.length > 0 && !isOver ? look : undefined
    if (changed.length === 0 || !isOver || this.#isClosed) return
    this.#see(look)
    this.#options.onChange(changed)
  }

  /** What was noted while it looked stays. */
  #see(look: Look): void {
    for (const [file, stamp] of look) this.#seen.set(file, stamp)
  }

  async #look(): Promise<Look> {
    this.#inFolder = await findHandlerFiles(this.#options.handlersDir).catch(() => [])
    const files = [...new Set([...this.#inFolder, ...this.#seen.keys()])]
    return new Map(await Promise.all(files.map(async (file) => [file, await stampOf(file)] as const)))
  }
}

function differences(before: Look, after: Look): string[] {
  return [...after.keys()].filter((file) => after.get(file) !== before.get(file))
}

/** What tells one state of a file from another. A file that is not there has one, too. */
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

/** The inode too: an editor that puts another file in its place may keep time and size. */
function toStamp(stats: BigIntStats): string {
  const { ino, size, mtimeNs } = stats
  return stats.isDirectory() ? absent : `${ino} ${size} ${mtimeNs}`
}
