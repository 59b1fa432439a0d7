import { InboxError } from './errors.ts'

/** A PostgreSQL URL for people and logs: host and database name only. */
export function describeDatabase(url: string): string {
  const { host, pathname } = parseDatabaseUrl(url)
  return `postgres://${host}${pathname}`
}

/** Throws `config_invalid` without any part of the URL. Node's own error would quote all of it. */
export function parseDatabaseUrl(url: string): URL {
  const parsed = URL.parse(url)
  // An unescaped # in a password would cut off the rest as a fragment.
  if (parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol) && parsed.hash === '') return parsed
  throw new InboxError('config_invalid', databaseUrlProblem)
}

const databaseUrlProblem =
  'not a PostgreSQL URL: expected postgres://user:password@host:5432/name, with characters such as @ : / # % ' +
  'in the password written as %40 %3A %2F %23 %25'
