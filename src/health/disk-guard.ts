import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock, Timer } from '../base/clock.ts'
import type { DatabaseSetting } from '../config/values.ts'
import { InboxError } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'

export interface DiskGuardOptions {
  /** The disk of its folder is watched. */
  readonly database: DatabaseSetting
  /** Minimum free space in bytes; 0: no limit. */
  readonly reserveBytes: number
  readonly clock: Clock
  readonly log: Logger
}

/** Store health while the disk is low. */
export const nearlyFull = { ok: false, reason: 'the disk is nearly full', full: true } as const

const notGuarded = { freeBytes: () => null, isLow: () => false, check() {}, close() {} }

/** Short enough for a disk that fills at 100 MB/s. */
const checkMs = 250

/**
 * Watches the free space of a disk, so that deliveries are rejected before a commit fills it. Resolves after the first
 * check. Never low on PostgreSQL or with a reserve of 0.
 */
export async function createDiskGuard({ database, reserveBytes, clock, log }: DiskGuardOptions) {
  if (database.kind !== 'sqlite' || reserveBytes === 0) return notGuarded
  const { file } = database
  let freeBytes: number | null = Infinity
  let isLow = false
  let isClosed = false
  let timer: Timer | undefined

  async function check(): Promise<void> {
    const [wasKnown, wasLow] = [freeBytes !== null, isLow]
    freeBytes = await freeBytesOf(file)
    if (freeBytes !== null) isLow = freeBytes < reserveBytes
    else if (wasKnown) log.warn({ file }, 'free disk space unknown')
    if (isLow && !wasLow) log.error({ file, freeBytes, reserveBytes }, 'disk nearly full, deliveries rejected')
    if (!isLow && wasLow) log.info({ file, freeBytes, reserveBytes }, 'disk space freed')
    if (!isClosed) timer = clock.after(checkMs, () => void check())
  }

  await check()
  return {
    /** At the last check; null: unknown, or not guarded. */
    freeBytes: () => freeBytes,
    isLow: () => isLow,
    /** Call before a commit. @throws InboxError `store_full` while the disk is low */
    check(): void {
      if (isLow) throw new InboxError('store_full', nearlyFull.reason)
    },
    close(): void {
      isClosed = true
      timer?.cancel()
    },
  }
}

/** Free bytes of the disk that holds the file; null if unknown. */
async function freeBytesOf(file: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(dirname(file))
    return bavail * bsize
  } catch {
    return null
  }
}
