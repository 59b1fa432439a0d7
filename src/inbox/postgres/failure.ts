import { codeOf, InboxError, messageOf } from '../../base/errors.ts'

/**
 * Consequence of a failed statement.
 *   again  it had no effect and a retry may succeed: serialization failure, deadlock, lock timeout
 *   full   no disk space
 *   gone   the connection or the server failed: the statement may or may not have been executed
 *   bug    any other error
 */
export type Failure = 'again' | 'full' | 'gone' | 'bug'

const again = new Set(['40001', '40P01', '55P03'])
const full = '53100'
/** Error codes of a certificate whose authority is unknown, and of other faults of a certificate. */
const untrusted = /SELF_SIGNED|ISSUER_CERT|CERT_UNTRUSTED|VERIFY_LEAF_SIGNATURE/
const badCertificate = /CERT|VERIFY_LEAF_SIGNATURE/
/** Error codes of the socket, and messages of the pool. */
const network = /^E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND|PROTO|MFILE|NFILE)|^ERR_SSL_|^ENOENT$/
const ofConnection = /connection|Client was closed|timeout|terminat/i

export function classifyFailure(thrown: unknown): Failure {
  const code = codeOf(thrown)
  if (again.has(code) || isFirstRunConflict(thrown)) return 'again'
  if (code === full) return 'full'
  // 08: connection; 53: memory, connections or another limit; 58: its disk or operating system; 57P: the server shuts down or starts; 57014: the
  // statement took too long; 25006: it is a standby now; 25P03: idle too long.
  // 28, 3D000: the password or the database name changed since the start.
  if (
    /^(08|28|57P|58|53)/.test(code) ||
    code === '3D000' ||
    code === '57014' ||
    code === '25006' ||
    code === '25P03' ||
    badCertificate.test(code) ||
    network.test(code)
  )
    return 'gone'
  return code === '' && ofConnection.test(messageOf(thrown)) ? 'gone' : 'bug'
}

/** Accept and a settle with an item both created the first open run of a key. The retry finds the other's run. */
function isFirstRunConflict(thrown: unknown): boolean {
  return (
    codeOf(thrown) === '23505' && thrown instanceof Error && 'constraint' in thrown && thrown.constraint === 'run_one'
  )
}

/** The error that callers get for a failed statement. */
export function toStoreError(thrown: unknown): Error {
  if (thrown instanceof InboxError) return thrown
  switch (classifyFailure(thrown)) {
    case 'full':
      return new InboxError(
        'store_full',
        `PostgreSQL has no disk space left (${messageOf(thrown)}); deliveries resume once space is freed`,
        { cause: thrown },
      )
    case 'again':
    case 'gone':
      return new InboxError(
        'store_unavailable',
        `PostgreSQL cannot be reached, or does not respond: ${messageOf(thrown)}`,
        {
          cause: thrown,
        },
      )
    case 'bug':
      return thrown instanceof Error ? thrown : new Error(messageOf(thrown))
  }
}

/** The error for a failed start. `config_invalid` means that waiting doesn't help. `name`: the database, without its password. */
export function toStartError(thrown: unknown, name: string): Error {
  if (thrown instanceof InboxError) return thrown
  const code = codeOf(thrown)
  const hint = startHints.find(([pattern]) => pattern.test(code))?.[1]
  if (hint === undefined && classifyFailure(thrown) === 'gone') {
    const message = `${name} cannot be reached, or does not respond: ${messageOf(thrown)}`
    return new InboxError('store_unavailable', message, { cause: thrown })
  }
  if (hint === undefined) return toStoreError(thrown)
  return new InboxError('config_invalid', `${name}: ${messageOf(thrown)}; ${hint}`, { cause: thrown })
}

const startHints: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'correct the user and password in INBOX_DATABASE_URL, or allow the user in pg_hba.conf'],
  [
    /^3D000$/,
    "create it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, or correct the name in INBOX_DATABASE_URL",
  ],
  [untrusted, 'to trust its certificate, set NODE_EXTRA_CA_CERTS, or sslrootcert in INBOX_DATABASE_URL'],
  [badCertificate, 'renew its certificate, or connect to a host name that the certificate contains'],
  [/^42501$/, 'grant the user the right to create a schema (GRANT CREATE ON DATABASE), or to use the schema inbox'],
]
