import { randomBytes } from 'node:crypto'
import { chmod, link, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { adminTokenPattern, readSecretFile } from '../base/secret-file.ts'
import type { Config } from '../config/config.ts'
import { InboxError } from '../base/errors.ts'
import { makeFolder } from '../base/files.ts'
import { isLoopback } from '../base/loopback.ts'

const ownerOnly = 0o600

/** Where the token that was made for a database is kept. */
export function adminTokenFile(databaseFile: string): string {
  return `${databaseFile}.admin-token`
}

/**
 * The token of the operator: the one that was set, otherwise, on loopback and with a database file only, one that is made
 * once and kept beside that file, readable by its owner only.
 *
 * @throws InboxError `config_invalid` if a token must be set, the file of the one that was made cannot be used, or its token is
 * that of viewers too
 */
export async function resolveAdminToken({ admin, database }: Pick<Config, 'admin' | 'database'>): Promise<string> {
  if (admin.token !== undefined) return admin.token
  if (!isLoopback(admin.host) || database.kind !== 'sqlite') {
    throw new InboxError('config_invalid', 'the admin side needs a token: set INBOX_ADMIN_TOKEN')
  }
  const file = adminTokenFile(database.file)
  await makeTokenFile(file)
  const token = await readTokenFile(file)
  if (token !== admin.viewerToken) return token
  throw new InboxError(
    'config_invalid',
    `INBOX_ADMIN_VIEWER_TOKEN is the token of the operator in ${file}, which would make every viewer an operator: set another`,
  )
}

/** Makes the file if it is not there. It appears with all of its content or not at all, and never replaces another. */
async function makeTokenFile(file: string): Promise<void> {
  makeFolder(dirname(file))
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: ownerOnly, flush: true })
    await link(draft, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function readTokenFile(file: string): Promise<string> {
  const { mode } = await stat(file)
  if ((mode & 0o077) !== 0) await chmod(file, ownerOnly)
  const token = await readSecretFile(file)
  if (adminTokenPattern.test(token)) return token
  throw new InboxError(
    'config_invalid',
    `${file} does not hold a token: delete it, and a new one is made at the next start`,
  )
}
