import { statSync, type BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'

/** What tells one state of a file from another. A file that is not there has one, too. */
export function stampOfSync(file: string): string {
  try {
    return toStamp(statSync(file, { bigint: true }))
  } catch {
    return absent
  }
}

export async function stampOf(file: string): Promise<string> {
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
