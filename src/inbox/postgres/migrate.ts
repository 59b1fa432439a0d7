import { Kysely, PostgresDialect, sql } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { InboxError, messageOf } from '../../base/errors.ts'
import { connectionConfig, createPool } from './connection.ts'
import { toStartError } from './failure.ts'
import { functionsMark, installFunctions } from './functions/index.ts'
import { migrationLock } from './locks.ts'
import { initial } from './migrations/0001-initial.ts'
import { tallies } from './migrations/0003-tallies.ts'
import { storedHeaders } from './migrations/0002-stored-headers.ts'
import { databaseClock } from './migrations/0004-database-clock.ts'
import { definitions } from './migrations/0005-definitions.ts'
import { describeDatabase } from '../../base/database-url.ts'
import type { OnUpgrade } from '../types.ts'

/**
 * Migrations are numbered and forward-only. `oldest`: number of the oldest schema whose program may still run on the result. Migrations
 * change tables only; the functions are installed after all of them. If older programs can't call the new functions, add a migration that
 * excludes them.
 */
export interface NumberedMigration {
  readonly name: string
  readonly oldest: number
  readonly migration: Migration
}

export const migrations: readonly NumberedMigration[] = [
  { name: '0001-initial', oldest: 1, migration: initial },
  { name: '0002-stored-headers', oldest: 1, migration: storedHeaders },
  { name: '0003-tallies', oldest: 1, migration: tallies },
  { name: '0004-database-clock', oldest: 4, migration: databaseClock },
  { name: '0005-definitions', oldest: 5, migration: definitions },
]

/** Handling of a database with an older schema: `refuse` to open it, or upgrade it (`auto`). */
export type MigrateSetting = 'refuse' | 'auto'

export interface SchemaChange {
  /** Newest migration before; null for an empty database. */
  readonly from: string | null
  readonly to: string
  /** False if nothing was changed. True with equal `from` and `to`: only the functions were replaced. */
  readonly isChanged: boolean
}

/** State of a database's schema. */
interface Present {
  /** Names of migrations, in order. */
  readonly applied: readonly string[]
  /** True if this program has to run migrations or install its functions. */
  readonly isOlder: boolean
}

/** Minimum major version of PostgreSQL. */
const oldestServer = 14

/** Timeout of the schema lock: another process may be migrating large tables. */
const lockMs = 120_000

/**
 * Checks that a database can be served. Creates the schema of an empty one, and upgrades an older one if `setting` allows it. Safe for
 * replicas that start at the same time. Throws `database_older`, `database_newer`, `config_invalid` for errors that waiting doesn't fix
 * (password, name, rights, version, encoding), or `store_unavailable`.
 */
export async function openSchema(
  url: string,
  setting: MigrateSetting,
  known = migrations,
  onUpgrade?: OnUpgrade,
): Promise<void> {
  await withConnection(url, async (db, name) => {
    const { applied, isOlder } = await lookAt(db, name, known)
    if (!isOlder) return
    if (applied.length > 0 && setting === 'refuse') {
      throw new InboxError(
        'database_older',
        `${name} was created by an older version: it has the schema ${applied.at(-1)}, this version needs ${known.at(-1)?.name} and its functions. ` +
          'Run `onchain-inbox migrate` once for all replicas, or set INBOX_MIGRATE=auto to migrate at the start.',
      )
    }
    await bringUp(db, name, known, onUpgrade)
  })
}

/** Upgrades a database to the newest known schema. Throws like `openSchema`. */
export async function migrateSchema(url: string, known = migrations, onUpgrade?: OnUpgrade): Promise<SchemaChange> {
  return withConnection(url, async (db, name) => {
    await lookAt(db, name, known)
    return bringUp(db, name, known, onUpgrade)
  })
}

export interface SchemaLook {
  /** Major version of PostgreSQL, such as 16. */
  readonly server: number
  /** Name of its newest migration; null if it has none. */
  readonly schema: string | null
  /** True if this program needs a newer schema or other functions. */
  readonly isOlder: boolean
}

/** Checks whether a database can be served, without changing it. Throws like `openSchema`, except for an older schema. */
export async function lookAtSchema(url: string, known = migrations): Promise<SchemaLook> {
  return withConnection(url, async (db, name) => {
    const { applied, isOlder } = await lookAt(db, name, known)
    const { rows } = await sql<{
      version: number
    }>`SELECT current_setting('server_version_num')::integer AS version`.execute(db)
    const schema = applied.at(-1) ?? null
    return { server: majorOf(rows[0]?.version ?? 0), schema, isOlder: schema !== null && isOlder }
  })
}

/** Runs `work` on its own connection, without statement timeout. */
async function withConnection<T>(url: string, work: (db: Kysely<unknown>, name: string) => Promise<T>): Promise<T> {
  const name = describeDatabase(url)
  const pool = createPool({ ...connectionConfig({ url, applicationName: 'onchain-inbox schema' }), max: 1 })
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  try {
    return await work(db, name)
  } catch (error) {
    throw toStartError(error, name)
  } finally {
    await db.destroy()
  }
}

/** Reads the state of the schema. Throws if the database can't be served. */
async function lookAt(db: Kysely<unknown>, name: string, known: readonly NumberedMigration[]): Promise<Present> {
  const { rows } = await sql<{ version: number; encoding: string; standby: boolean; made: boolean; isolation: string }>`
    SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
      current_setting('default_transaction_isolation') AS isolation, pg_is_in_recovery() AS standby, to_regclass('inbox.kysely_migration') IS NOT NULL AS made`.execute(
    db,
  )
  const [server] = rows
  if (server === undefined) throw new InboxError('store_unavailable', `${name} does not respond`)
  const version = majorOf(server.version)
  if (version < oldestServer) {
    throw new InboxError('config_invalid', `${name} must be PostgreSQL ${oldestServer} or newer (got ${version})`)
  }
  if (server.encoding !== 'UTF8') {
    throw new InboxError(
      'config_invalid',
      `${name} must have the encoding UTF8 (got ${server.encoding}): create one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    )
  }
  if (server.isolation !== 'read committed') {
    throw new InboxError(
      'config_invalid',
      `${name} must have default_transaction_isolation = 'read committed' for this user (got '${server.isolation}'): change it with ` +
        'ALTER ROLE … SET or ALTER DATABASE … SET',
    )
  }
  if (server.standby)
    throw new InboxError('store_unavailable', `${name} is a read-only standby: set INBOX_DATABASE_URL to the primary`)
  return server.made ? presentIn(db, name, known) : { applied: [], isOlder: true }
}

function majorOf(version: number): number {
  return Math.floor(version / 10_000)
}

/** Throws `database_newer` for unknown migrations that exclude this program. */
async function presentIn(db: Kysely<unknown>, name: string, known: readonly NumberedMigration[]): Promise<Present> {
  const { rows } = await sql<{
    name: string
  }>`SELECT name FROM inbox.kysely_migration ORDER BY name COLLATE "C"`.execute(db)
  const applied = rows.map((row) => row.name)
  const unknown = applied.filter((one) => !known.some((migration) => migration.name === one))
  const { rows: marks } = await sql<{
    name: string
    value: string
  }>`SELECT name, value FROM inbox.meta WHERE name IN ('oldest_program', ${functionsMark})`.execute(db)
  if (unknown.length === 0) {
    const isOlder = applied.length < known.length || !marks.some((mark) => mark.name === functionsMark)
    return { applied, isOlder }
  }
  // During a rolling upgrade, replicas of the previous version may serve a newer schema if its `oldest` allows it.
  const oldest = marks.find((mark) => mark.name === 'oldest_program')?.value
  if (Number(oldest ?? Infinity) <= known.length) return { applied, isOlder: false }
  throw new InboxError(
    'database_newer',
    `${name} was changed by a newer version: it has the migration ${unknown.join(', ')}, this version knows up to ` +
      `${known.at(-1)?.name}. Run the newer version, or restore a backup from before its upgrade.`,
  )
}

/** Upgrades in one transaction. A second process that waits for the lock finds it done. */
async function bringUp(
  db: Kysely<unknown>,
  name: string,
  known: readonly NumberedMigration[],
  onUpgrade: OnUpgrade = () => {},
): Promise<SchemaChange> {
  return db.transaction().execute(async (trx) => {
    await sql.raw(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${lockMs}`).execute(trx)
    await sql.raw(`SELECT ${migrationLock}`).execute(trx)
    const { applied, isOlder } = await lookAt(trx, name, known)
    const from = applied.at(-1) ?? null
    const newest = known.at(-1)?.name ?? ''
    if (!isOlder) return { from, to: from ?? newest, isChanged: false }
    // An administrator may have created the schema for a user without the right to create one.
    const { rows } = await sql<{ made: boolean }>`SELECT to_regnamespace('inbox') IS NOT NULL AS made`.execute(trx)
    if (rows[0]?.made !== true) await sql`CREATE SCHEMA inbox`.execute(trx)
    const reported = known.map(({ name: migrationName, migration }, index): [string, Migration] => {
      const up: Migration['up'] = (schema) => {
        if (from !== null)
          onUpgrade(`migration ${migrationName}`, (index - applied.length) / (known.length - applied.length))
        return migration.up(schema)
      }
      return [migrationName, { up }]
    })
    const migrator = new Migrator({
      db: trx,
      provider: { getMigrations: async () => Object.fromEntries(reported) },
      migrationTableSchema: 'inbox',
      allowUnorderedMigrations: false,
    })
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) throw failed(error, name)
    await installFunctions(trx)
    await sql`INSERT INTO inbox.meta (name, value) VALUES ('oldest_program', ${Math.max(...known.map((m) => m.oldest))})
      ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value, excluded.value)`.execute(trx)
    return { from, to: newest, isChanged: true }
  })
}

function failed(error: unknown, name: string): Error {
  const startError = toStartError(error, name)
  if (startError instanceof InboxError) return startError
  return new InboxError('database_corrupt', `migrating ${name} failed: ${messageOf(error)}; it is unchanged`, {
    cause: error,
  })
}
