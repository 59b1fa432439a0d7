import { defineSink, type SinkDefinition } from 'onchain-inbox'
import { resolve } from 'node:path'
import type { SqlOptions } from '../../src/config/sinks/sql.ts'
import type { SinkSetup, SinkTools } from '../../src/dispatch/bundled-sinks.ts'
import { createConnection } from './common/connection.ts'
import { checkPlace } from './common/place.ts'
import { openPostgresStore } from './common/sql-postgres.ts'
import { toRow } from './common/sql-row.ts'
import { openSqliteStore } from './common/sql-sqlite.ts'
import type { SqlStore } from './common/sql-store.ts'
import { createTables } from './common/sql-table.ts'

/**
 * Writes events to tables of Postgres or SQLite: one for each event type (R93–R102) with a column for each field, numbers exact; other
 * types to `<prefix>other`; what handlers enqueue to `<prefix>items`. Each row has the exact bytes too. An event has one row, however
 * often it comes. A batch is one transaction.
 */
export default function createSql(
  { name, options }: SinkSetup<SqlOptions>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Readonly<SinkDefinition<'*'>> {
  const { tablePrefix, statementTimeoutMs, connections } = options
  const tables = createTables(tablePrefix)
  const store = createConnection<SqlStore>({
    open() {
      const common = { tables: tables.all, statementTimeoutMs, connections }
      const file = sqliteFileOf(options.url)
      if (file === undefined) return openPostgresStore({ ...common, url: options.url })
      return openSqliteStore({ ...common, url: resolve(baseDir, file) })
    },
    close: (opened) => opened.close(),
  })

  return defineSink({
    name,
    batch: 100,
    concurrency: connections,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    async send(items, { signal }) {
      const rows = items.map((item) => toRow(item, tables))
      await store.use(signal, (opened) => opened.put(rows, signal))
    },
    close: () => store.forget(),
  })
}

/** Whether the file of SQLite can be made. */
export async function check(
  { name, options }: SinkSetup<SqlOptions>,
  { baseDir }: Pick<SinkTools, 'baseDir'>,
): Promise<void> {
  const file = sqliteFileOf(options.url)
  if (file !== undefined) await checkPlace(resolve(baseDir, file), `sinks.${name}.url`)
}

function sqliteFileOf(url: string): string | undefined {
  return /^sqlite:(?:\/\/(?=\/))?(.*)$/s.exec(url)?.[1]
}
