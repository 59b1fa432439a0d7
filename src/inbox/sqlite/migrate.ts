import type { Database } from 'better-sqlite3'
import { renameSync, rmSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { InboxError, messageOf } from '../../base/errors.ts'
import { fsyncPath } from '../../base/files.ts'
import type { OnUpgrade } from '../types.ts'
import { classifyFailure } from './failure.ts'
import type { Migration } from './migrations.ts'

/**
 * Upgrades a database to the newest known schema in one transaction, after copying it to `<file>.before-<version>`. Call `refuseNewer`
 * before.
 */
export async function migrate(
  db: Database,
  file: string,
  known: readonly Migration[],
  onUpgrade: OnUpgrade = () => {},
): Promise<void> {
  const applied = appliedMigrations(db)
  const pending = known.slice(applied.length)
  if (pending.length === 0) return
  const isUpgrade = applied.length > 0 && file !== ':memory:'
  if (isUpgrade) await copyBeforeUpgrade(db, file, known.length, onUpgrade)

  const oldest = Math.max(...known.map((m) => m.oldest))
  // Overwrites deleted data, which otherwise stays readable in free pages.
  db.pragma('secure_delete = ON')
  db.exec('BEGIN IMMEDIATE')
  try {
    // Earlier versions used Kysely's migrator, so its table lists the applied ones.
    db.exec(
      `CREATE TABLE IF NOT EXISTS kysely_migration (name varchar(255) NOT NULL PRIMARY KEY, timestamp varchar(255) NOT NULL)`,
    )
    for (const [index, { name, up }] of pending.entries()) {
      if (isUpgrade) onUpgrade(`migration ${name}`, 0.5 + (0.5 * index) / pending.length)
      if (typeof up === 'function') up(db)
      else for (const statement of up) db.exec(statement)
      db.prepare(`INSERT INTO kysely_migration VALUES (?, ?)`).run(name, new Date().toISOString())
    }
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
export function refuseNewer(db: Database, file: string, known: readonly Migration[]): void {
  const unknown = appliedMigrations(db).filter((name) => !known.some((m) => m.name === name))
  if (unknown.length === 0) return
  throw new InboxError(
    'database_newer',
    `${file} was written by a newer version: it has the migration ${unknown.join(', ')}, this version knows up to ` +
      `${known.at(-1)?.name}. Run the newer version, or restore the copy that its upgrade made next to the file.`,
  )
}
