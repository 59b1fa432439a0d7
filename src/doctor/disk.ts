import { existsSync, statSync } from 'node:fs'
import { access, constants, stat, statfs } from 'node:fs/promises'
import { describeBytes } from '../config/values.ts'
import { messageOf } from '../errors.ts'
import { judgeFileSystem } from './file-system.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { judgeSync, measureSync } from './sync-speed.ts'

export interface DiskSettings {
  /** The folder of the database, or the nearest one above that is there: absolute. */
  readonly folder: string
  /** The database file, which need not be there: absolute. */
  readonly file: string
  readonly reserveBytes: number
  readonly retention: { readonly days: number; readonly maxBytes: number | undefined }
  readonly ackTimeoutMs: number
}

/** The disk of the database: what kind it is, whether it can be written, how much is free, how soon it makes a write durable. */
export async function examineDisk(settings: DiskSettings): Promise<Finding[]> {
  const { folder, file, ackTimeoutMs } = settings
  const findings = [await examineFolder(folder, file)]
  try {
    const { type, bavail, bsize } = await statfs(folder)
    findings.push(
      judgeFileSystem(type, folder),
      judgeSpace({ ...settings, freeBytes: bavail * bsize, usedBytes: sizeOf(file) }),
    )
  } catch (error) {
    findings.push(warn('disk space', `it cannot be told (${messageOf(error)})`, 'check that the disk is mounted'))
  }
  if (findings.every(({ result }) => result !== 'fail')) findings.push(examineSync(folder, ackTimeoutMs))
  return findings
}

async function examineFolder(folder: string, file: string): Promise<Finding> {
  try {
    await access(folder, constants.W_OK | constants.X_OK)
    if (!existsSync(file)) return ok('folder', `${folder} can be written`)
    await access(file, constants.R_OK | constants.W_OK)
    const { mode } = await stat(file)
    if ((mode & 0o077) === 0) return ok('folder', `${folder} can be written, and ${file} is for its own user only`)
    return warn('folder', `${file} can be read by other users: it holds every event`, `chmod 600 ${file}*`)
  } catch (error) {
    return fail(
      'folder',
      messageOf(error),
      'let this user write there, or name another place in INBOX_DATABASE_URL; run doctor as the user of the sidecar',
    )
  }
}

function examineSync(folder: string, ackTimeoutMs: number): Finding {
  try {
    return judgeSync(measureSync(folder), ackTimeoutMs)
  } catch (error) {
    return fail(
      'disk speed',
      `nothing can be written in ${folder} (${messageOf(error)})`,
      'mend the disk, or use another',
    )
  }
}

interface Space extends Pick<DiskSettings, 'reserveBytes' | 'retention'> {
  readonly freeBytes: number
  /** Of the database. */
  readonly usedBytes: number
}

/** Whether there is room for what is to be kept. */
export function judgeSpace({ freeBytes, usedBytes, reserveBytes, retention }: Space): Finding {
  const free = `${roughBytes(freeBytes)} are free, ${describeBytes(reserveBytes)} are to stay so (INBOX_DISK_RESERVE)`
  if (freeBytes < reserveBytes) {
    const advice =
      'make room, or give old bodies up: onchain-inbox prune --older-than 7; until then deliveries are answered 503'
    return fail('disk space', free, advice)
  }
  const roomBytes = usedBytes + freeBytes - reserveBytes
  const { days, maxBytes } = retention
  if (maxBytes !== undefined && maxBytes > roomBytes) {
    return warn(
      'disk space',
      `${free}; the database may grow to ${describeBytes(maxBytes)}, and there is room for ${roughBytes(roomBytes)}`,
      `set INBOX_RETENTION_BYTES below ${roughBytes(roomBytes)}, or use a larger disk`,
    )
  }
  if (freeBytes < 2 * reserveBytes) {
    return warn('disk space', free, 'make room before it is used up: then deliveries are answered 503')
  }
  const kept = maxBytes === undefined && days === 0 ? '; bodies are kept for ever, so look at it now and then' : ''
  return ok('disk space', `${free}; the database takes ${roughBytes(usedBytes)}${kept}`)
}

/** A size in the largest unit of which there is one at least: `1.5gb`. */
export function roughBytes(bytes: number): string {
  const units = ['bytes', 'kb', 'mb', 'gb', 'tb']
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** step
  const unit = units[step] ?? ''
  return step === 0 ? `${bytes} ${unit}` : `${size < 10 ? size.toFixed(1) : Math.floor(size)}${unit}`
}

function sizeOf(file: string): number {
  return ['', '-wal'].reduce((sum, end) => sum + (statSync(`${file}${end}`, { throwIfNoEntry: false })?.size ?? 0), 0)
}
