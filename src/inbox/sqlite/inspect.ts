import Sqlite, { type Database } from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { OnUpgrade } from '../types.ts'
import { openReaderConnection, openWriterConnection } from './connection.ts'
import { toOpenError } from './failure.ts'
import { lockDatabase } from './lock.ts'
import { appliedMigrations } from './migrate.ts'
import { migrations } from './migrations.ts'

/** The name of the newest migration that this program knows. */
export const newestSchema: string = migrations.at(-1)?.name ?? ''

/** State of a database file. */
export interface DatabaseInspection {
  /** Name of its newest migration; null if it has no onchain-inbox tables. */
  readonly schema: string | null
  /** Problem that makes it unusable; null if none was found. */
  readonly damage: string | null
}

/**
 * Reads the schema of a database file without changing it, even while a process serves it. With `isChecked`, also checks its structure,
 * which takes about a second per gigabyte on a fast disk. Never throws.
 */
export function inspectDatabase(file: string, { isChecked }: { readonly isChecked: boolean }): DatabaseInspection {
  let db: Database | undefined
  try {
    db = openReaderConnection(file)
    const schema = appliedMigrations(db).at(-1) ?? null
    const result = isChecked ? String(db.pragma('quick_check(1)', { simple: true })) : 'ok'
    return { schema, damage: result === 'ok' ? null : result }
  } catch (error) {
    return { schema: null, damage: messageOf(error) }
  } finally {
    db?.close()
  }
}

/** True if a process serves the database file. Throws if its folder can't be written. */
export function isInUse(file: string): boolean {
  try {
    lockDatabase(file).release()
    return false
  } catch (error) {
    if (error instanceof InboxError && error.code === 'database_in_use') return true
    throw error
  }
}

export interface Upgrade {
  /** Newest migration before (null for an empty file) and after. */
  readonly from: string | null
  readonly to: string
  /** Path of the copy made before the upgrade; null if nothing was upgraded or the file was empty. */
  readonly backup: string | null
}

/**
 * Copies an existing database file, then upgrades it to the newest schema, as `serve` does at its start.
 *
 * @throws InboxError `database_in_use` if a process serves it, `database_newer`, `database_corrupt`, `store_full`
 */
export async function upgradeDatabase(path: string, onUpgrade?: OnUpgrade): Promise<Upgrade> {
  const lock = lockDatabase(path)
  const { file } = lock
  try {
    const { schema: from } = inspectDatabase(file, { isChecked: false })
    const db = await openWriterConnection(file, { onUpgrade })
    db.close()
    const isUpgraded = from !== null && from !== newestSchema
    return { from, to: newestSchema, backup: isUpgraded ? `${file}.before-${newestSchema.slice(0, 4)}` : null }
  } catch (error) {
    throw toOpenError(file, error)
  } finally {
    lock.release()
  }
}

/** Versions of SQLite and of its driver package. */
export function sqliteVersions(): { readonly sqlite: string; readonly driver: string } {
  const db = new Sqlite(':memory:')
  const sqlite = String(db.prepare('SELECT sqlite_version()').pluck().get())
  db.close()
  const manifest = createRequire(import.meta.url).resolve('better-sqlite3/package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { sqlite, driver: version }
}
