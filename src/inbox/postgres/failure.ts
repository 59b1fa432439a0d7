import { InboxError, messageOf } from '../../base/errors.ts'

/**
 * What a failed statement means.
 *   again  it certainly did nothing, and may well succeed when it is tried again: serialization, deadlock, a lock that was not had in time
 *   full   no space on the disk
 *   gone   the connection, or the server: it may have done everything or nothing
 *   bug    anything else
 */
export type Failure = 'again' | 'full' | 'gone' | 'bug'

const again = new Set(['40001', '40P01', '55P03'])
const full = '53100'
/** Of the socket, and of the pool. */
const network = /^E(CONN|PIPE|HOST|NET|TIMEDOUT|AI_AGAIN|NOTFOUND)|^ENOENT$/
const ofConnection = /connection|Client was closed|timeout|terminat/i

export function classifyFailure(thrown: unknown): Failure {
  const code = codeOf(thrown)
  if (again.has(code) || isFirstTwice(thrown)) return 'again'
  if (code === full) return 'full'
  // 08: connection; 53: memory, connections or another limit; 58: its disk; 57P: the server shuts down or starts; 57014: the statement took too long; 25006: it is a standby now; 25P03: idle too long.
  // 28, 3D000: what could be opened at the start cannot be now: passwords and names change.
  if (
    /^(08|28|57P|58|53)/.test(code) ||
    code === '3D000' ||
    code === '57014' ||
    code === '25006' ||
    code === '25P03' ||
    network.test(code)
  )
    return 'gone'
  return code === '' && ofConnection.test(messageOf(thrown)) ? 'gone' : 'bug'
}

/** An accept, and a settle that leaves an item for a sink, each found a key without an open run. The one that is tried again finds one. */
function isFirstTwice(thrown: unknown): boolean {
  return (
    codeOf(thrown) === '23505' && thrown instanceof Error && 'constraint' in thrown && thrown.constraint === 'run_one'
  )
}

/** The SQLSTATE, or the code of the socket's error; empty where there is none. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
}

/** The error that callers see for a statement that failed. */
export function toStoreError(thrown: unknown): Error {
  if (thrown instanceof InboxError) return thrown
  switch (classifyFailure(thrown)) {
    case 'full':
      return new InboxError(
        'store_full',
        `PostgreSQL has no space left (${messageOf(thrown)}); it recovers by itself once there is some`,
        { cause: thrown },
      )
    case 'again':
    case 'gone':
      return new InboxError(
        'store_unavailable',
        `PostgreSQL cannot be reached, or does not answer: ${messageOf(thrown)}`,
        {
          cause: thrown,
        },
      )
    case 'bug':
      return thrown instanceof Error ? thrown : new Error(messageOf(thrown))
  }
}

/** What a start makes of it: what no waiting mends is for a person to put right. `name` is the database, without its password. */
export function toStartError(thrown: unknown, name: string): Error {
  if (thrown instanceof InboxError) return thrown
  const code = codeOf(thrown)
  const hint = startHints.find(([pattern]) => pattern.test(code))?.[1]
  if (hint === undefined && classifyFailure(thrown) === 'gone') {
    const message = `${name} cannot be reached, or does not answer: ${messageOf(thrown)}`
    return new InboxError('store_unavailable', message, { cause: thrown })
  }
  if (hint === undefined) return toStoreError(thrown)
  return new InboxError('config_invalid', `${name}: ${messageOf(thrown)}; ${hint}`, { cause: thrown })
}

const startHints: readonly (readonly [RegExp, string])[] = [
  [/^28/, 'put the user and the password of INBOX_DATABASE_URL right, or let the user in by pg_hba.conf'],
  [
    /^3D000$/,
    "make it with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, or put the name in INBOX_DATABASE_URL right",
  ],
  [/^42501$/, 'the user needs the right to make a schema there (GRANT CREATE ON DATABASE), or to use the schema inbox'],
]
