import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock, Timer } from '../base/clock.ts'
import type { DatabaseSetting } from '../config/values.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'

export interface DiskGuardOptions {
  /** Looked at is the disk of its folder. */
  readonly database: DatabaseSetting
  /** So much is to stay free; 0: all of the disk may be used. */
  readonly reserveBytes: number
  readonly clock: Clock
  readonly log: Logger
}

/** Watches the free space of a disk, so that deliveries are rejected before a commit fills it. */
export interface DiskGuard {
  isLow(): boolean
  /** Called before a commit. @throws InboxError `store_full` while the disk is low */
  check(): void
  close(): void
}

/** The health of an inbox on such a disk. */
export const nearlyFull = { ok: false, reason: 'the disk is nearly full', full: true } as const

/** Often enough for a disk that takes 100 MB in a second. */
const lookMs = 250

/** Begins to look; resolves after the first look. Where nothing is to be guarded, it is never low. */
export async function createDiskGuard({ database, reserveBytes, clock, log }: DiskGuardOptions): Promise<DiskGuard> {
  if (database.kind !== 'sqlite' || reserveBytes === 0) return { isLow: () => false, check() {}, close() {} }
  const { file } = database
  let isLow = false
  let isClosed = false
  let timer: Timer | undefined

  async function look(): Promise<void> {
    try {
      const { bavail, bsize } = await statfs(dirname(file))
      tell(bavail * bsize)
    } catch (error) {
      log.warn({ file, error: messageOf(error) }, 'it cannot be told how much of the disk is free')
    }
    if (!isClosed) timer = clock.after(lookMs, () => void look())
  }

  function tell(freeBytes: number): void {
    const wasLow = isLow
    isLow = freeBytes < reserveBytes
    if (isLow && !wasLow) {
      log.error(
        { file, freeBytes, reserveBytes },
        'the disk is nearly full: deliveries are answered 503 until there is space',
      )
    }
    if (!isLow && wasLow) log.info({ file, freeBytes, reserveBytes }, 'there is space on the disk again')
  }

  await look()
  return {
    isLow: () => isLow,
    check() {
      if (isLow) throw new InboxError('store_full', nearlyFull.reason)
    },
    close() {
      isClosed = true
      timer?.cancel()
    },
  }
}

/** How much of the disk that a file is on can be written; null where that cannot be told. */
export async function freeBytesOf(file: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(dirname(file))
    return bavail * bsize
  } catch {
    return null
  }
}
