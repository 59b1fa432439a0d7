import Sqlite from 'better-sqlite3'
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/emulator/data/data-file.ts'
import { createTempDir } from '../support/temp-dir.ts'

const modeOf = async (file: string) => (await stat(file)).mode & 0o777

test('rejects a file of another program and leaves content and mode unchanged', async () => {
  await using dir = await createTempDir()
  const text = join(dir.path, 'notes.txt')
  await writeFile(text, 'short notes')
  const other = join(dir.path, 'other.db')
  const db = new Sqlite(other)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA user_version = 1; CREATE TABLE meta (name TEXT, value TEXT)')
  db.close()
  for (const file of [text, other]) {
    await chmod(file, 0o644)
    const before = await readFile(file)
    expect(() => openDatabase(file)).toThrow(/not a data file of the emulator|a database of another program/)
    expect([file, await modeOf(file)]).toEqual([file, 0o644])
    expect(await readFile(file)).toEqual(before)
  }
  expect(await readdir(dir.path)).toEqual(['notes.txt', 'other.db'])
  expect(() => openDatabase(dir.path)).toThrow(/is not a regular file/)
})

test('creates a missing folder, but not its parents', async () => {
  await using dir = await createTempDir()
  const folder = join(dir.path, 'state')
  openDatabase(join(folder, 'emulator.db')).close()
  expect(await readdir(folder)).toEqual(['emulator.db'])
  const missing = join(dir.path, 'staet')
  const file = join(missing, 'desk', 'emulator.db')
  expect(() => openDatabase(file)).toThrow(`cannot create ${file}: the folder ${missing} is missing; create it first`)
  expect(await readdir(dir.path)).toEqual(['state'])
})
