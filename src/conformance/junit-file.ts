import { open, unlink, writeFile } from 'node:fs/promises'
import { InboxError, messageOf } from '../errors.ts'
import { toJunit } from './junit.ts'
import type { Report } from './report.ts'

/**
 * Whether the report can be written, found out by opening its file. Leaves what is there as it is, and nothing behind.
 *
 * @throws InboxError `usage`
 */
export async function checkJunitFile(file: string): Promise<void> {
  try {
    if (await createEmpty(file)) await unlink(file)
    else await (await open(file, 'a')).close()
  } catch (error) {
    throw notWritable(file, error)
  }
}

/** @throws InboxError `usage` */
export async function writeJunitFile(file: string, report: Report): Promise<void> {
  try {
    await writeFile(file, toJunit(report))
  } catch (error) {
    throw notWritable(file, error)
  }
}

/** False if there is such a file already. */
async function createEmpty(file: string): Promise<boolean> {
  try {
    await (await open(file, 'wx')).close()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function notWritable(file: string, error: unknown): InboxError {
  return new InboxError(
    'usage',
    `--junit: ${file} cannot be written (${messageOf(error)}): name a file in a folder that is there`,
    { cause: error },
  )
}
