import { InboxError } from './errors.ts'

/** The URL of a PostgreSQL database, for people and logs: its host and name only. */
export function describeDatabase(url: string): string {
  const { host, pathname } = parseDatabaseUrl(url)
  return `postgres://${host}${pathname}`
}

/** Throws `config_invalid`, without a word of the URL: what Node says of a wrong one has all of it. */
export function parseDatabaseUrl(url: string): URL {
  const parsed = URL.parse(url)
  // What comes behind an unwritten # would be taken for no part of the password.
  if (parsed !== null && /^postgres(ql)?:$/.test(parsed.protocol) && parsed.hash === '') return parsed
  throw new InboxError('config_invalid', databaseUrlProblem)
}

const databaseUrlProblem =
  'that is no URL of a PostgreSQL database: expected postgres://user:password@host:5432/name, with characters such as @ : / # % ' +
  'in the password written as %40 %3A %2F %23 %25'
