import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmod, link, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { dirname } from 'node:path'
import { adminTokenPattern } from '../admin-token.ts'
import type { Config } from '../config.ts'
import { InboxError } from '../errors.ts'
import { isLoopback, withoutBrackets } from '../loopback.ts'
import { readSecretFile } from '../secret-file.ts'
import { withoutLineBreak } from '../signature/keys.ts'

const ownerOnly = 0o600

/** Where the token that was made for a database is kept. */
export function adminTokenFile(databaseFile: string): string {
  return `${databaseFile}.admin-token`
}

/**
 * The token of the admin side: the one that was set, otherwise, on loopback and with a database file only, one that is made
 * once and kept beside that file, readable by its owner only.
 *
 * @throws InboxError `config_invalid` if a token must be set, or the file of the one that was made cannot be used
 */
export async function resolveAdminToken({ admin, database }: Pick<Config, 'admin' | 'database'>): Promise<string> {
  if (admin.token !== undefined) return admin.token
  if (!isLoopback(admin.host) || database.kind === 'memory') {
    throw new InboxError('config_invalid', 'the admin side needs a token: set INBOX_ADMIN_TOKEN')
  }
  const file = adminTokenFile(database.file)
  await makeTokenFile(file)
  return readTokenFile(file)
}

/** Makes the file if it is not there. It appears with all of its content or not at all, and never replaces another. */
async function makeTokenFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
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
  const token = withoutLineBreak(await readSecretFile(file))
  if (adminTokenPattern.test(token)) return token
  throw new InboxError(
    'config_invalid',
    `${file} does not hold a token: delete it, and a new one is made at the next start`,
  )
}

export interface GuardOptions {
  readonly token: string
  /** Host names that are allowed beside those of loopback; one with a port goes with that port only. */
  readonly hosts: readonly string[]
}

/** Gives null, or the error that says why the request is refused. */
export type RequestCheck = (request: IncomingMessage) => InboxError | null

export interface Guard {
  /** The Host header names this server: else a page of another origin has had its name resolved to this address. */
  readonly checkHost: RequestCheck
  /** A request that changes something does not come from a page of another origin. */
  readonly checkOrigin: RequestCheck
  readonly checkToken: RequestCheck
}

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The checks that stand before the admin side. */
export function createGuard({ token, hosts }: GuardOptions): Guard {
  const expected = digest(token)
  const allowed = new Set(hosts.map((host) => withoutBrackets(host.toLowerCase())))

  const isAllowedHost = (header: string) => {
    const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(header) ?? []
    if (host === undefined) return false
    const name = withoutBrackets(host)
    return isLoopback(name) || allowed.has(name) || allowed.has(header)
  }

  return {
    checkHost(request) {
      const [host, ...others] = request.headersDistinct.host ?? []
      if (host !== undefined && others.length === 0 && isAllowedHost(host.toLowerCase())) return null
      return new InboxError('forbidden', 'the Host header does not name this server; allow it by INBOX_ADMIN_HOSTS')
    },
    checkOrigin(request) {
      if (safeMethods.has(request.method)) return null
      const { origin, host } = request.headers
      const site = request.headers['sec-fetch-site']
      const isSameOrigin = origin === undefined || URL.parse(origin)?.host === host?.toLowerCase()
      if (isSameOrigin && (site === undefined || site === 'same-origin' || site === 'none')) return null
      return new InboxError('forbidden', 'the request comes from a page of another origin')
    },
    checkToken(request) {
      const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
      // Digests have one length, whatever came: timingSafeEqual insists on it, and neither content nor length shows.
      if (given !== undefined && timingSafeEqual(digest(given), expected)) return null
      return new InboxError('unauthorized', 'expected the header "Authorization: Bearer <token>" with the admin token')
    },
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
