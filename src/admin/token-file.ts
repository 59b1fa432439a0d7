import { randomBytes } from 'node:crypto'
import { chmod, link, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { adminTokenPattern, readSecretFile } from '../base/secret-file.ts'
import type { Config } from '../config/config.ts'
import { codeOf, InboxError } from '../base/errors.ts'
import { makeFolder } from '../base/files.ts'
import { isLoopback } from '../base/loopback.ts'

const ownerOnly = 0o600

/** File of the generated token of a database. */
export function adminTokenFile(databaseFile: string): string {
  return `${databaseFile}.admin-token`
}

/**
 * The operator's token: the configured one, else a generated one in a file next to the database, readable by its owner
 * only. It is generated only on loopback and with a database file.
 *
 * @throws InboxError `config_invalid` if a token must be configured, the file is invalid, or viewers have the same token
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
    `INBOX_ADMIN_VIEWER_TOKEN is the operator's token in ${file}: viewers would be operators; set another one`,
  )
}

/** Creates the file unless it exists. It appears atomically with its content, and never replaces another. */
async function makeTokenFile(file: string): Promise<void> {
  makeFolder(dirname(file))
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: ownerOnly, flush: true })
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(draft, { force: true })
  }
}

async function readTokenFile(file: string): Promise<string> {
  const { mode } = await stat(file)
  if ((mode & 0o077) !== 0) await chmod(file, ownerOnly)
  const token = await readSecretFile(file)
  if (adminTokenPattern.test(token)) return token
  throw new InboxError('config_invalid', `${file} does not hold a token: delete it, and the next start generates one`)
}
