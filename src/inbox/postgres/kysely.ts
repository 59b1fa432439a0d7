import { Kysely, PostgresDialect, type PostgresPool } from 'kysely'
import type { Rows } from './database.ts'
import { fromStored, toStored } from './text.ts'

/** Kysely over the tables of the inbox. Texts go in and come out as they are, not as PostgreSQL stores them. */
export function kyselyOf<T>(db: Rows): Kysely<T> {
  const client = {
    async query(text: string, values: readonly unknown[]) {
      const rows = await db.query(
        text,
        values.map((value) => (typeof value === 'string' ? toStored(value) : value)),
      )
      return { command: 'SELECT', rowCount: rows.length, rows: rows.map(unescaped) }
    },
    release: () => {},
  }
  const pool = { connect: async () => client, end: async () => {} }
  return new Kysely<T>({ dialect: new PostgresDialect({ pool: pool as unknown as PostgresPool }) }).withSchema('inbox')
}

/** A value with all texts in it as they were before they were stored. */
function unescaped(value: unknown): unknown {
  if (typeof value === 'string') return fromStored(value)
  if (Array.isArray(value)) return value.map(unescaped)
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, unescaped(inner)]))
}
