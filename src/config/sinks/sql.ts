import { z } from 'zod'
import { wholeNumber } from '../values.ts'

/** Events go to tables of Postgres or SQLite, one table for each event type. */
export const sqlOptions = z.strictObject({
  url: z.string().refine((value) => (/^postgres(?:ql)?:\/\//.test(value) ? isPostgres(value) : isSqlite(value)), {
    error:
      'expected postgres://user:password@host:port/database, what is special in user and password percent-encoded, or sqlite:./path/to.db',
  }),
  /** What the names of all its tables begin with. */
  tablePrefix: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,29}$/, {
      error: 'expected 1 to 30 small letters, digits or underscores, no digit first',
    })
    .default('onchain_'),
  /** Longest time that one statement may take, in milliseconds. */
  statementTimeoutMs: wholeNumber(1, 600_000).default(10_000),
  /** How many connections to Postgres at most. */
  connections: wholeNumber(1, 100).default(2),
})

export type SqlOptions = z.output<typeof sqlOptions>

/** Of a password that is not percent-encoded a part would be taken for the host, and shown. */
function isPostgres(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && !`${url.pathname}${url.hash}`.includes('@')
}

function isSqlite(value: string): boolean {
  return /^sqlite:[^\0]*[^\0/]$/.test(value)
}
