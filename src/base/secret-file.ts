import { readFile, stat } from 'node:fs/promises'
import { InboxError } from './errors.ts'

const largestBytes = 64 * 1024

/**
 * The text of a file that holds a secret, without white space and a byte-order mark around it. Undecodable bytes become U+FFFD,
 * which no secret may contain.
 *
 * @throws InboxError `config_invalid` that says why the file cannot be read, without any of its content
 */
export async function readSecretFile(file: string): Promise<string> {
  const text = (await read(file)).trim()
  if (text === '') throw new InboxError('config_invalid', `${file} is empty, expected a secret in it`)
  return text
}

async function read(file: string): Promise<string> {
  try {
    const stats = await stat(file)
    // Reading a pipe or a device could wait, or go on, for ever.
    if (stats.isFile() && stats.size <= largestBytes) return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new InboxError('config_invalid', `${file} cannot be read (${reason}): check the path and its permissions`, {
      cause: error,
    })
  }
  throw new InboxError('config_invalid', `${file} is not a regular file of at most ${largestBytes} bytes`)
}

/** What can be an admin token. It travels in a header, so it is visible ASCII only. */
export const adminTokenPattern = /^[\x21-\x7e]{16,}$/
