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
 * Numbered, forward-only. `oldest` is the number of the oldest program schema that may still run on the result. A migration makes tables
 * only: the functions are installed after all of them. Functions that an older program can't call come with a migration that shuts it out.
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

/** What to do about a database that an older version made: refuse to open it, or bring it up to date. */
export type MigrateSetting = 'refuse' | 'auto'

export interface SchemaChange {
  /** The newest migration that the database had; null: none. */
  readonly from: string | null
  readonly to: string
  /** False: nothing was to be done. With the same `from` and `to`, only the functions were replaced. */
  readonly isChanged: boolean
}

/** What a database has of a schema. */
interface Present {
  /** Names of migrations, in order. */
  readonly applied: readonly string[]
  /** Whether this program has to run migrations, or to install its functions. */
  readonly isOlder: boolean
}

/** Of PostgreSQL, as in `server_version_num`. */
const oldestServer = 14

/** For the schema lock: somebody else may be at work, on tables that are large. */
const lockMs = 120_000

/**
 * Makes sure that a database can be served: gives an empty one its schema, and brings an older one up to date if it is to. Safe for many
 * replicas that start at once. Throws `database_older` or `database_newer`; `config_invalid` for a database that no waiting will make
 * right (password, name, rights, version, encoding); `store_unavailable` if it cannot be reached.
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
        `${name} was made by an older version: it has the schema ${applied.at(-1)}, this program needs ${known.at(-1)?.name} and its functions. ` +
          'Run `onchain-inbox migrate`, once for all replicas; or set INBOX_MIGRATE=auto, so that the first one that starts does it.',
      )
    }
    await bringUp(db, name, known, onUpgrade)
  })
}

/** Gives a database the newest schema that is known. Fails as `openSchema` does. */
export async function migrateSchema(url: string, known = migrations, onUpgrade?: OnUpgrade): Promise<SchemaChange> {
  return withConnection(url, async (db, name) => {
    await lookAt(db, name, known)
    return bringUp(db, name, known, onUpgrade)
  })
}

/** What a database is, without a change to it. */
export interface SchemaLook {
  /** Of PostgreSQL, such as 16. */
  readonly server: number
  /** The name of its newest migration; null: it has none yet. */
  readonly schema: string | null
  /** Whether this program needs a newer one, or other functions. */
  readonly isOlder: boolean
}

/** Looks whether a database can be served. Fails as `openSchema` does, but for an older schema. */
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

/** One connection of its own, whose statements may take as long as they need. */
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

/** What a database has, once it is clear that it can be served. */
async function lookAt(db: Kysely<unknown>, name: string, known: readonly NumberedMigration[]): Promise<Present> {
  const { rows } = await sql<{ version: number; encoding: string; standby: boolean; made: boolean; isolation: string }>`
    SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
      current_setting('default_transaction_isolation') AS isolation, pg_is_in_recovery() AS standby, to_regclass('inbox.kysely_migration') IS NOT NULL AS made`.execute(
    db,
  )
  const [server] = rows
  if (server === undefined) throw new InboxError('store_unavailable', `${name} answers nothing`)
  const version = majorOf(server.version)
  if (version < oldestServer) {
    throw new InboxError('config_invalid', `${name} is PostgreSQL ${version}: expected ${oldestServer} or newer`)
  }
  if (server.encoding !== 'UTF8') {
    throw new InboxError(
      'config_invalid',
      `${name} has the encoding ${server.encoding}: expected UTF8; make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`,
    )
  }
  if (server.isolation !== 'read committed') {
    throw new InboxError(
      'config_invalid',
      `${name} has default_transaction_isolation = '${server.isolation}' for this user: expected 'read committed'; change it with ALTER ROLE … SET ` +
        'or ALTER DATABASE … SET',
    )
  }
  if (server.standby)
    throw new InboxError('store_unavailable', `${name} is a standby, which takes no writes: name the primary`)
  return server.made ? presentIn(db, name, known) : { applied: [], isOlder: true }
}

function majorOf(version: number): number {
  return Math.floor(version / 10_000)
}

/** Throws `database_newer` where a migration is not known and leaves this program no room. */
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
  // While replicas are replaced one by one, those of the version before serve a schema that its makers say they can.
  const oldest = marks.find((mark) => mark.name === 'oldest_program')?.value
  if (Number(oldest ?? Infinity) <= known.length) return { applied, isOlder: false }
  throw new InboxError(
    'database_newer',
    `${name} was changed by a newer version: it has the migration ${unknown.join(', ')}, this program knows up to ` +
      `${known.at(-1)?.name}. Run the newer version, or restore the backup that was made before it.`,
  )
}

/** In one transaction: it is all done, or nothing is. Whoever comes second finds it done. */
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
    // Somebody with more rights may have made it, for a user who may make none.
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
  const told = toStartError(error, name)
  if (told instanceof InboxError) return told
  return new InboxError('database_corrupt', `migrating ${name} failed: ${messageOf(error)}; it was left as it was`, {
    cause: error,
  })
}
