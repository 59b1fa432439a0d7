import Sqlite from 'better-sqlite3'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** Functions for database files in a folder. Call it once in a test file: the databases are removed after its tests. */
export function databaseFiles(folder = tmpdir()) {
  const root = mkdtempSync(join(folder, 'inbox-test-'))
  let count = 0
  afterAll(() => rmSync(root, { recursive: true }))

  /** The path of a database in a new folder. */
  function newDatabaseFile(): string {
    const own = join(root, String(++count))
    mkdirSync(own)
    return join(own, 'inbox.db')
  }

  /** Copies a database as it is on the disk, like after kill -9. Returns the path of the copy. */
  function copyDatabase(file: string, suffixes: readonly string[] = ['', '-wal', '.seq']): string {
    const copy = newDatabaseFile()
    for (const suffix of suffixes) if (existsSync(file + suffix)) copyFileSync(file + suffix, copy + suffix)
    return copy
  }

  return { newDatabaseFile, copyDatabase }
}

/** The rows that a query finds in a database. */
export function rowsOf<T>(file: string, query: string): T[] {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare<[], T>(query).all()
  } finally {
    db.close()
  }
}
