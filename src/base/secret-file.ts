import { readFile, stat } from 'node:fs/promises'
import { InboxError } from './errors.ts'

/** Maximum size of a secret file. */
const maxBytes = 64 * 1024

/**
 * Reads a secret from a file, without surrounding white space and byte-order mark. Undecodable bytes become U+FFFD,
 * which no secret may contain.
 *
 * @throws InboxError `config_invalid` with the reason, never with content of the file
 */
export async function readSecretFile(file: string): Promise<string> {
  const text = (await read(file)).trim()
  if (text === '') throw new InboxError('config_invalid', `${file} is empty, expected a secret in it`)
  return text
}

async function read(file: string): Promise<string> {
  try {
    const stats = await stat(file)
    // A pipe or a device might never return EOF.
    if (stats.isFile() && stats.size <= maxBytes) return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new InboxError('config_invalid', `${file} cannot be read (${reason}): check the path and its permissions`, {
      cause: error,
    })
  }
  throw new InboxError('config_invalid', `${file} is not a regular file of at most ${maxBytes} bytes`)
}

/** Valid admin tokens. They travel in a header, so only visible ASCII is allowed. */
export const adminTokenPattern = /^[\x21-\x7e]{16,}$/
