import Sqlite from 'better-sqlite3'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openWriterConnection, readSynchronous } from '../../src/inbox/sqlite/connection.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent } from '../conformance/stage.ts'
import { databaseFiles } from '../support/sqlite-files.ts'

const { copyDatabase, newDatabaseFile } = databaseFiles()

async function open(file: string) {
  const opened = await openFileStore(file, { clock: systemClock })
  return { ...opened, [Symbol.dispose]: () => opened.close() }
}

/** A cleanly closed database with some events. */
async function aFile(events = 50): Promise<string> {
  const file = newDatabaseFile()
  using opened = await open(file)
  const batch = Array.from({ length: events }, (_, n) => anEvent(`e${n}`, { raw: Buffer.alloc(500, n) }))
  opened.store.transact([], () => opened.store.accept(batch))
  return file
}

describe('the durability of a connection', () => {
  test('is FULL, read back from a file with tables', async () => {
    using opened = await open(newDatabaseFile())
    expect(opened.integrity.synchronous).toBe(2)
    expect(readSynchronous(opened.db)).toBe(2)
    expect(opened.db.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(opened.db.pragma('busy_timeout', { simple: true })).toBe(0)
    expect(opened.db.pragma('trusted_schema', { simple: true })).toBe(0)
    expect(opened.db.pragma('cell_size_check', { simple: true })).toBe(1)
    expect(opened.db.pragma('journal_size_limit', { simple: true })).toBe(64 * 1024 * 1024)
  })

  test('is refused on a file system without WAL', async () => {
    await expect(openWriterConnection('')).rejects.toMatchObject({
      code: 'not_durable',
      message: expect.stringMatching(/journal_mode=wal and synchronous=2 \(got delete and 2\).*local disk/),
    })
  })

  test('checkpoints the -wal of an earlier process', async () => {
    const file = await aFile()
    using opened = await open(file)
    opened.store.transact([], () => opened.store.accept([anEvent('late')]))
    const copy = copyDatabase(file, ['', '-wal'])
    const db = await openWriterConnection(copy)
    try {
      expect(readFileSync(`${copy}-wal`)).toHaveLength(0)
      expect(db.prepare(`SELECT 1 FROM event WHERE id = 'late'`).get()).toBeDefined()
    } finally {
      db.close()
    }
  })
})

describe('a second opening of the same file', () => {
  test('is refused with the id of the process until that closes the file', async () => {
    const file = newDatabaseFile()
    const first = await open(file)
    await expect(open(file)).rejects.toMatchObject({
      code: 'database_in_use',
      message: expect.stringMatching(
        new RegExp(`inbox\\.db is in use by process ${process.pid}\\..*INBOX_DATABASE_URL`),
      ),
    })
    first.close()
    const second = await open(file)
    second.close()
  })

  test('is refused without the .pid file', async () => {
    const file = newDatabaseFile()
    using _first = await open(file)
    rmSync(`${file}.pid`)
    await expect(open(file)).rejects.toMatchObject({ message: expect.stringContaining('in use by another process') })
  })

  test('is refused through a symbolic link to the file or its folder', async () => {
    const file = await aFile()
    const folder = join(file, '..')
    symlinkSync(file, `${file}.link`)
    symlinkSync(folder, `${folder}-link`)
    const names = [file, `${file}.link`, join(`${folder}-link`, 'inbox.db')]
    for (const name of names) {
      using _first = await open(name)
      for (const other of names) await expect(open(other)).rejects.toMatchObject({ code: 'database_in_use' })
    }
    expect(existsSync(`${file}.link.seq`)).toBe(false)
  })

  test('is refused through a hard link, in either order', async () => {
    const file = await aFile()
    const link = newDatabaseFile()
    const refused = {
      code: 'database_in_use',
      message: expect.stringMatching(/2 names \(hard links\).*another process/),
    }
    {
      using _first = await open(file)
      linkSync(file, link)
      await expect(open(link)).rejects.toMatchObject(refused)
    }
    using _first = await open(link)
    await expect(open(file)).rejects.toMatchObject(refused)
  })
})

describe('a file that cannot be opened', () => {
  test('is reported with advice and left unchanged if it is not a database', async () => {
    const file = newDatabaseFile()
    writeFileSync(file, 'this is a text, not a database\n'.repeat(200))
    const before = readFileSync(file)
    await expect(open(file)).rejects.toMatchObject({
      code: 'database_corrupt',
      message: expect.stringMatching(/inbox\.db is damaged, or not an SQLite database: .*NOTADB.* Restore a backup\./),
    })
    expect(readFileSync(file)).toEqual(before)
  })

  test('is reported if it is a folder', async () => {
    const file = newDatabaseFile()
    mkdirSync(file, { recursive: true })
    await expect(open(file)).rejects.toMatchObject({
      code: 'config_invalid',
      exitCode: 1,
      message: expect.stringMatching(
        /^the database .*inbox\.db cannot be used: it is a folder; give the path of a file in it$/,
      ),
    })
  })

  test.each([
    ['contains noise', (lock: string) => writeFileSync(lock, 'noise'.repeat(1_000))],
    ['is a folder', (lock: string) => mkdirSync(lock)],
  ])('is reported with advice if its lock file %s', async (_what, replaceLock) => {
    const file = await aFile()
    rmSync(`${file}.lock`)
    replaceLock(`${file}.lock`)
    await expect(open(file)).rejects.toMatchObject({
      code: 'config_invalid',
      exitCode: 1,
      message: expect.stringMatching(
        /^.*inbox\.db\.lock is not a lock file of onchain-inbox: .* Stop every process that uses .*inbox\.db, then delete the lock file/,
      ),
    })
  })

  test('is reported if its folder cannot be created', async () => {
    const blocking = newDatabaseFile()
    writeFileSync(blocking, '')
    await expect(open(join(blocking, 'deeper', 'inbox.db'))).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/cannot be used: ENOTDIR.*make it writable by this user, or choose another path$/),
    })
  })

  test('is reported while another program locks it, and opens afterwards', async () => {
    const file = await aFile()
    const other = new Sqlite(file)
    try {
      other.exec('BEGIN EXCLUSIVE')
      await expect(open(file)).rejects.toMatchObject({
        code: 'store_unavailable',
        exitCode: 75,
        message: expect.stringContaining('another program has locked it'),
      })
    } finally {
      other.close()
    }
    using opened = await open(file)
    expect(opened.integrity.lastSeq).toBe(50)
  })
})
