import Sqlite, { type Database } from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { OnUpgrade } from '../types.ts'
import { openReaderConnection, openWriterConnection } from './connection.ts'
import { classifyFailure, toOpenError } from './failure.ts'
import { lockDatabase } from './lock.ts'
import { migrations } from './migrate.ts'

/** The name of the newest migration that this program knows. */
export const newestSchema: string = migrations.at(-1)?.name ?? ''

/** What a look at a database file found, without a change to it. */
export interface DatabaseLook {
  /** The name of its newest migration; null: it has none of this program's tables. */
  readonly schema: string | null
  /** What keeps it from being used, or null. */
  readonly damage: string | null
}

/**
 * Reads the schema of a database file, also of one that a process works on, and, with `isChecked`, all of its structure, which takes
 * about a second per gigabyte on a quick disk. Throws nothing.
 */
export function lookAtDatabase(file: string, { isChecked }: { readonly isChecked: boolean }): DatabaseLook {
  let db: Database | undefined
  try {
    db = openReaderConnection(file)
    const schema = schemaOf(db)
    const result = isChecked ? String(db.pragma('quick_check(1)', { simple: true })) : 'ok'
    return { schema, damage: result === 'ok' ? null : result }
  } catch (error) {
    return { schema: null, damage: messageOf(error) }
  } finally {
    db?.close()
  }
}

/** Whether a process works on a database file. Throws what keeps its folder from being written. */
export function isInUse(file: string): boolean {
  try {
    lockDatabase(file).release()
    return false
  } catch (error) {
    if (error instanceof InboxError && error.code === 'database_in_use') return true
    throw error
  }
}

/** What became of a database that was brought to the newest schema. */
export interface Upgrade {
  /** Names of migrations: its newest one before, null for an empty file, and after. */
  readonly from: string | null
  readonly to: string
  /** The copy of what it was before; null if there was nothing to do, or nothing in it. */
  readonly backup: string | null
}

/**
 * Brings a database file that is there to the newest schema, after a copy beside it, as `serve` does at its start.
 *
 * @throws InboxError `database_in_use` if a process works on it, `database_newer`, `database_corrupt`, `store_full`
 */
export async function upgradeDatabase(given: string, onUpgrade?: OnUpgrade): Promise<Upgrade> {
  const lock = lockDatabase(given)
  const { file } = lock
  try {
    const { schema: from } = lookAtDatabase(file, { isChecked: false })
    const db = await openWriterConnection(file, { onUpgrade })
    db.close()
    const hadSome = from !== null && from !== newestSchema
    return { from, to: newestSchema, backup: hadSome ? `${file}.before-${newestSchema.slice(0, 4)}` : null }
  } catch (error) {
    throw toOpenError(file, error)
  } finally {
    lock.release()
  }
}

/** The versions of SQLite, and of the package that brings it. */
export function sqliteVersions(): { readonly sqlite: string; readonly driver: string } {
  const db = new Sqlite(':memory:')
  const sqlite = String(db.prepare('SELECT sqlite_version()').pluck().get())
  db.close()
  const manifest = createRequire(import.meta.url).resolve('better-sqlite3/package.json')
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
  return { sqlite, driver: version }
}

function schemaOf(db: Database): string | null {
  try {
    return db.prepare<[], string | null>('SELECT max(name) FROM kysely_migration').pluck().get() ?? null
  } catch (error) {
    if (classifyFailure(error) !== 'bug' || !messageOf(error).startsWith('no such table')) throw error
    return null
  }
}
