import { describeDatabase } from '../../base/database-url.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { MigrateSetting, OnUpgrade } from '../types.ts'
import { connectionConfig, createPool } from './connection.ts'
import type { Rows } from './database.ts'
import { toStartError } from './failure.ts'
import { migrationLock, laneFunction, nowFunction } from './locks.ts'
import { migrations, type Migration } from './migrations.ts'
import { toParameters } from './text.ts'
import { createHash } from 'node:crypto'
import { acceptFunctions } from './functions/accept.ts'
import { claimFunctions } from './functions/claim.ts'
import { settleFunctions } from './functions/settle.ts'

export interface SchemaChange {
  /** Newest migration before; null for an empty database. */
  readonly from: string | null
  readonly to: string
  /** False if nothing was changed. True with equal `from` and `to`: only the functions were replaced. */
  readonly isChanged: boolean
}

/** State of a database's schema. */
interface SchemaState {
  /** Major version of PostgreSQL, such as 16. */
  readonly server: number
  /** Names of migrations, in order. */
  readonly applied: readonly string[]
  /** True if this program has to run migrations or install its functions. */
  readonly isOlder: boolean
}

/** Minimum major version of PostgreSQL. */
const minServerVersion = 14

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
    const { applied, isOlder } = await inspect(db, name, known)
    if (!isOlder) return
    if (applied.length > 0 && setting === 'refuse') {
      throw new InboxError(
        'database_older',
        `${name} was created by an older version: it has the schema ${applied.at(-1)}, this version needs ${known.at(-1)?.name} and its functions. ` +
          'Run `onchain-inbox migrate` once for all replicas, or set INBOX_MIGRATE=auto to migrate at the start.',
      )
    }
    await upgradeLocked(db, name, known, onUpgrade)
  })
}

/** Upgrades a database to the newest known schema. Throws like `openSchema`. */
export async function migrateSchema(url: string, known = migrations, onUpgrade?: OnUpgrade): Promise<SchemaChange> {
  return withConnection(url, async (db, name) => {
    await inspect(db, name, known)
    return upgradeLocked(db, name, known, onUpgrade)
  })
}

/**
 * Checks whether a database can be served, without changing it. `schema`: its newest migration; null if it has none. `isOlder`: this
 * program needs a newer schema or other functions. Throws like `openSchema`, except for an older schema.
 */
export async function inspectSchema(
  url: string,
  known = migrations,
): Promise<{ readonly server: number; readonly schema: string | null; readonly isOlder: boolean }> {
  return withConnection(url, async (db, name) => {
    const { server, applied, isOlder } = await inspect(db, name, known)
    const schema = applied.at(-1) ?? null
    return { server, schema, isOlder: schema !== null && isOlder }
  })
}

/** Runs `work` on its own connection, without statement timeout. */
async function withConnection<T>(url: string, work: (db: Rows, name: string) => Promise<T>): Promise<T> {
  const name = describeDatabase(url)
  const pool = createPool({ ...connectionConfig({ url, applicationName: 'onchain-inbox schema' }), max: 1 })
  try {
    const client = await pool.connect()
    const query = async <R>(text: string, values: readonly unknown[] = []) =>
      (await client.query(text, toParameters(values))).rows as R[]
    return await work({ query }, name).finally(() => client.release(true))
  } catch (error) {
    throw toStartError(error, name)
  } finally {
    await pool.end()
  }
}

/** Reads the state of the schema. Throws if the database can't be served. */
async function inspect(db: Rows, name: string, known: readonly Migration[]): Promise<SchemaState> {
  // Reads the list of tables, because to_regclass may not see a table that was created while this session waited for a lock.
  const [state] = await db.query<{
    version: number
    encoding: string
    isStandby: boolean
    exists: boolean
    isolation: string
  }>(
    `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_encoding') AS encoding,
       current_setting('default_transaction_isolation') AS isolation, pg_is_in_recovery() AS "isStandby",
       EXISTS (SELECT FROM pg_tables WHERE schemaname = 'inbox' AND tablename = 'kysely_migration') AS "exists"`,
  )
  if (state === undefined) throw new InboxError('store_unavailable', `${name} does not respond`)
  const { encoding, isolation } = state
  const server = Math.floor(state.version / 10_000)
  const refuse = (rule: string) => new InboxError('config_invalid', `${name} must ${rule}`)
  if (server < minServerVersion) throw refuse(`be PostgreSQL ${minServerVersion} or newer (got ${server})`)
  if (encoding !== 'UTF8') {
    const fix = `create one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`
    throw refuse(`have the encoding UTF8 (got ${encoding}): ${fix}`)
  }
  if (isolation !== 'read committed') {
    const rule = `have default_transaction_isolation = 'read committed' for this user (got '${isolation}')`
    throw refuse(`${rule}: change it with ALTER ROLE … SET or ALTER DATABASE … SET`)
  }
  if (state.isStandby)
    throw new InboxError('store_unavailable', `${name} is a read-only standby: set INBOX_DATABASE_URL to the primary`)
  return { server, ...(state.exists ? await migrationsIn(db, name, known) : { applied: [], isOlder: true }) }
}

/** Throws `database_newer` for unknown migrations that exclude this program. */
async function migrationsIn(db: Rows, name: string, known: readonly Migration[]): Promise<Omit<SchemaState, 'server'>> {
  const rows = await db.query<{ name: string }>('SELECT name FROM inbox.kysely_migration ORDER BY name COLLATE "C"')
  const applied = rows.map((row) => row.name)
  const unknown = applied.filter((migration) => !known.some(({ name: known }) => known === migration))
  const marks = await db.query<{ name: string; value: number }>(
    `SELECT name, value FROM inbox.meta WHERE name IN ('oldest_program', $1)`,
    [functionsMark],
  )
  if (unknown.length === 0) {
    const isOlder = applied.length < known.length || !marks.some((mark) => mark.name === functionsMark)
    return { applied, isOlder }
  }
  // During a rolling upgrade, replicas of the previous version may serve a newer schema if its `oldest` allows it.
  const oldest = marks.find((mark) => mark.name === 'oldest_program')?.value ?? Infinity
  if (oldest <= known.length) return { applied, isOlder: false }
  throw new InboxError(
    'database_newer',
    `${name} was changed by a newer version: it has the migration ${unknown.join(', ')}, this version knows up to ` +
      `${known.at(-1)?.name}. Run the newer version, or restore a backup from before its upgrade.`,
  )
}

/** Upgrades in one transaction. A second process that waits for the lock finds it done. */
async function upgradeLocked(
  db: Rows,
  name: string,
  known: readonly Migration[],
  onUpgrade: OnUpgrade = () => {},
): Promise<SchemaChange> {
  try {
    await db.query(
      `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${lockMs}; SELECT ${migrationLock}`,
    )
    const { applied, isOlder } = await inspect(db, name, known)
    const from = applied.at(-1) ?? null
    if (isOlder) await upgrade(db, applied, known, from === null ? () => {} : onUpgrade)
    await db.query('COMMIT')
    return { from, to: (isOlder ? known.at(-1)?.name : from) ?? '', isChanged: isOlder }
  } catch (error) {
    await db.query('ROLLBACK').catch(() => {})
    const startError = toStartError(error, name)
    if (startError instanceof InboxError) throw startError
    throw new InboxError('database_corrupt', `migrating ${name} failed: ${messageOf(error)}; it is unchanged`, {
      cause: error,
    })
  }
}

/** Applies the missing migrations, then installs the functions. Earlier versions used Kysely's migrator, so its table lists the applied ones. */
async function upgrade(
  trx: Rows,
  applied: readonly string[],
  known: readonly Migration[],
  onUpgrade: OnUpgrade,
): Promise<void> {
  // An administrator may have created the schema for a user without the right to create one.
  const schemas = await trx.query(`SELECT FROM pg_namespace WHERE nspname = 'inbox'`)
  if (schemas.length === 0) await trx.query('CREATE SCHEMA inbox')
  await trx.query(
    `CREATE TABLE IF NOT EXISTS inbox.kysely_migration (name varchar(255) PRIMARY KEY, timestamp varchar(255) NOT NULL)`,
  )
  const missing = known.slice(applied.length)
  for (const [index, { name, up }] of missing.entries()) {
    onUpgrade(`migration ${name}`, index / missing.length)
    if (typeof up === 'function') await up(trx)
    else for (const statement of up) await trx.query(statement)
    await trx.query(`INSERT INTO inbox.kysely_migration VALUES ($1, $2)`, [name, new Date().toISOString()])
  }
  await installFunctions(trx)
  await trx.query(
    `INSERT INTO inbox.meta (name, value) VALUES ('oldest_program', $1)
     ON CONFLICT (name) DO UPDATE SET value = greatest(meta.value, excluded.value)`,
    [Math.max(...known.map(({ oldest }) => oldest))],
  )
}

const functions = [nowFunction, laneFunction, ...acceptFunctions, ...claimFunctions, ...settleFunctions]

/**
 * Name of the row in `inbox.meta` that marks this set of functions as installed. A set is installed only once: a set that replaced it is
 * newer.
 */
const functionsMark = `functions:${createHash('sha256').update(functions.join('\n')).digest('hex')}`

/**
 * Replaces all functions of the schema. Call after all migrations, in their transaction. Replicas of the previous version may still call
 * them during a rolling upgrade: so types of parameters and names of results stay, or a migration excludes these replicas.
 */
async function installFunctions(trx: Rows): Promise<void> {
  const installed = await trx.query<{ name: string }>(
    `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = 'inbox'::regnamespace`,
  )
  for (const { name } of installed) await trx.query(`DROP FUNCTION ${name}`)
  for (const statement of functions) await trx.query(statement)
  await trx.query(
    `INSERT INTO inbox.meta (name, value) VALUES ($1, extract(epoch FROM clock_timestamp()) * 1000) ON CONFLICT (name) DO NOTHING`,
    [functionsMark],
  )
}
