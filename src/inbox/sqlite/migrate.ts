import type { Migration } from 'kysely/migration'
import type { Database } from 'better-sqlite3'
import { renameSync, rmSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { fsyncPath } from '../../base/files.ts'
import type { OnUpgrade } from '../types.ts'
import { classifyFailure } from './failure.ts'

/**
 * Migrations are numbered and forward-only. `oldest`: number of the oldest schema whose program may still run on the result. `load` is
 * called only when a file is created or upgraded, because loading Kysely delays every thread that opens a file.
 */
export interface NumberedMigration {
  readonly name: string
  readonly oldest: number
  readonly load: () => Promise<Migration>
}

const numbered = (name: string, oldest: number): NumberedMigration => ({
  name,
  oldest,
  load: async () => (await import('./migrations.ts')).migrationsByName[name] as Migration,
})

export const migrations: readonly NumberedMigration[] = [
  numbered('0001-initial', 1),
  numbered('0002-subscription', 1),
  numbered('0003-receipt', 1),
  numbered('0004-stored-headers', 1),
  // An older program would not count its events, so searches by time would miss them.
  numbered('0005-tallies', 5),
  // An older program would use a dropped index.
  numbered('0006-key-blocks', 6),
  // An older program would give events of other sources to handlers of the default source.
  numbered('0007-sources', 7),
]

/**
 * Upgrades a database to the newest known schema in one transaction, after copying it to `<file>.before-<version>`. Call `refuseNewer`
 * before.
 */
export async function migrate(
  db: Database,
  file: string,
  known: readonly NumberedMigration[],
  onUpgrade: OnUpgrade = () => {},
): Promise<void> {
  const applied = appliedMigrations(db)
  const pending = known.slice(applied.length)
  if (pending.length === 0) return
  const isUpgrade = applied.length > 0 && file !== ':memory:'
  const [{ kyselyOf }, { Migrator }] = await Promise.all([import('./views.ts'), import('kysely/migration')])
  const loaded = await Promise.all(
    known.map(async ({ name, load }) => {
      const loadedMigration = await load()
      const migration: Migration = {
        up(schema) {
          const index = pending.findIndex((later) => later.name === name)
          if (isUpgrade) onUpgrade(`migration ${name}`, 0.5 + (0.5 * index) / pending.length)
          return loadedMigration.up(schema)
        },
      }
      return [name, migration] as const
    }),
  )
  if (isUpgrade) await copyBeforeUpgrade(db, file, known.length, onUpgrade)

  const migrator = new Migrator({
    db: kyselyOf<unknown>(db),
    provider: { getMigrations: async () => Object.fromEntries(loaded) },
    allowUnorderedMigrations: false,
  })
  const oldest = Math.max(...known.map((m) => m.oldest))
  // Overwrites deleted data, which otherwise stays readable in free pages.
  db.pragma('secure_delete = ON')
  // Kysely starts no transaction on SQLite. Without one, a kill in between would leave a file that can't be opened.
  db.exec('BEGIN IMMEDIATE')
  try {
    const { error } = await migrator.migrateToLatest()
    if (error !== undefined) throw error
    db.prepare<[number]>(
      `INSERT INTO meta (name, value) VALUES ('oldest_program', ?)
       ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
    ).run(oldest)
    db.exec('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    if (classifyFailure(error) !== 'bug') throw error
    throw new InboxError('database_corrupt', `migrating ${file} failed: ${messageOf(error)}; the file is unchanged`, {
      cause: error,
    })
  } finally {
    db.pragma('secure_delete = OFF')
  }
}

/** About 8 MiB, so that progress is reported every tenth of a second. */
const pagesPerStep = 2_000
/** Size of the migrations' writes, -wal included, as a share of the file. Measured: 0.15 with 10 million events. */
const writtenShare = 0.25

/**
 * Copies a database to `<file>.before-<version>`. The file gets this name only when it is complete. Throws `store_full` if the disk lacks
 * space for the copy and the migrations.
 */
async function copyBeforeUpgrade(db: Database, file: string, version: number, onUpgrade: OnUpgrade): Promise<void> {
  const copy = `${file}.before-${String(version).padStart(4, '0')}`
  const partial = `${copy}.partial`
  for (const suffix of ['', '-journal']) rmSync(partial + suffix, { force: true })
  const size = Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }))
  const needed = Math.ceil(size * (1 + writtenShare))
  const { bavail, bsize } = statfsSync(dirname(file))
  const free = bavail * bsize
  if (free < needed) {
    throw new InboxError(
      'store_full',
      `upgrading ${file} needs ${needed} bytes of free space in its folder, for a copy of ${size} bytes and its changes; ${free} are ` +
        'free: free some space, or move the database with its -wal and .seq to a larger disk',
    )
  }
  await db.backup(partial, {
    progress({ totalPages, remainingPages }) {
      onUpgrade(`copying to ${copy}`, (0.5 * (totalPages - remainingPages)) / totalPages)
      return pagesPerStep
    },
  })
  fsyncPath(partial)
  renameSync(partial, copy)
  fsyncPath(dirname(copy))
}

/** Names of the migrations that a database has, in order. */
export function appliedMigrations(db: Database): string[] {
  const table = db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'`).get()
  if (table === undefined) return []
  return db
    .prepare<[], { name: string }>(`SELECT name FROM kysely_migration ORDER BY name`)
    .all()
    .map((row) => row.name)
}

/** Throws `database_newer` for a database with unknown migrations. */
export function refuseNewer(db: Database, file: string, known: readonly NumberedMigration[]): void {
  const unknown = appliedMigrations(db).filter((name) => !known.some((m) => m.name === name))
  if (unknown.length === 0) return
  throw new InboxError(
    'database_newer',
    `${file} was written by a newer version: it has the migration ${unknown.join(', ')}, this version knows up to ` +
      `${known.at(-1)?.name}. Run the newer version, or restore the copy that its upgrade made next to the file.`,
  )
}
