import { resolve } from 'node:path'
import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { createConnection } from './common/connection.ts'
import { longRetry, shownOption, type SinkKind, type SinkSetup, type SinkTools } from './common/kind.ts'
import { checkWritable } from './common/append-lines.ts'
import { openPostgresStore } from './common/sql-postgres.ts'
import { openSqliteStore } from './common/sql-sqlite.ts'
import type { SqlStore } from './common/sql-table.ts'

const options = z.strictObject({
  url: z.string().refine((value) => (/^postgres(?:ql)?:\/\//.test(value) ? isPostgres(value) : isSqlite(value)), {
    error:
      'expected postgres://host:port/database, with percent-encoded user and password if needed, or sqlite:./path/to.db',
  }),
  /** Prefix of all table names. */
  tablePrefix: z
    .string()
    .regex(/^[a-z_][a-z0-9_]{0,29}$/, {
      error: 'expected 1 to 30 lower-case letters, digits or underscores, starting with a letter or underscore',
    })
    .default('onchain_'),
  /** Timeout of a statement, in milliseconds. */
  statementTimeoutMs: z.int().min(1).max(600_000).default(10_000),
  /** Maximum number of PostgreSQL connections. */
  connections: z.int().min(1).max(100).default(2),
})

type Options = z.output<typeof options>

/**
 * Writes events to PostgreSQL or SQLite: one table per event type, with a column per field and the raw bytes.
 * Numbers are exact. A repeated event updates its row. A batch is one transaction.
 */
export default {
  options,
  target: ({ url }) => shownOption(url),
  example: "{ kind: 'sql', url: 'sqlite:./events.db' }",
  file: ({ url }) => sqliteFileOf(url),
  create,
  async check({ name, options: { url } }, { baseDir }) {
    const file = sqliteFileOf(url)
    if (file !== undefined) await checkWritable(resolve(baseDir, file), `sinks.${name}.url`)
  },
} satisfies SinkKind<typeof options>

function create(
  { options }: SinkSetup<Options>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const file = sqliteFileOf(options.url)
  const store = createConnection<SqlStore>({
    open: () =>
      file === undefined ? openPostgresStore(options) : openSqliteStore({ ...options, url: resolve(baseDir, file) }),
    close: (opened) => opened.close(),
  })
  return {
    batch: 100,
    concurrency: options.connections,
    ...longRetry,
    send: (items, { signal }) => store.use(signal, (opened) => opened.put(items, signal)),
    close: () => store.forget(),
  }
}

/** Path of the SQLite file; undefined for PostgreSQL. */
function sqliteFileOf(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.*)$/s.exec(url)?.[1]
}

/** Rejects URLs whose password isn't percent-encoded: a part of it would be parsed as the host, which is shown. */
function isPostgres(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && !`${url.pathname}${url.hash}`.includes('@')
}

function isSqlite(value: string): boolean {
  return /^sqlite:[^\0]*[^\0/]$/.test(value)
}
