import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** How much of the disk that a file is on can be written; null where that cannot be told. */
export async function freeBytesOf(file: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(dirname(file))
    return bavail * bsize
  } catch {
    return null
  }
}
