import Sqlite from 'better-sqlite3'
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openWriterConnection, readSynchronous } from '../../src/inbox/sqlite/connection.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent } from '../conformance/stage.ts'

let root: string
let count = 0
const newFile = () => join(root, String(++count), 'inbox.db')

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'inbox-open-'))
})
afterAll(() => rmSync(root, { recursive: true }))

async function open(file: string) {
  const opened = await openFileStore(file, { clock: systemClock })
  return { ...opened, [Symbol.dispose]: () => opened.close() }
}

/** A database with some events, closed in good order. */
async function aFile(events = 50): Promise<string> {
  const file = newFile()
  using opened = await open(file)
  const batch = Array.from({ length: events }, (_, n) => anEvent(`e${n}`, { raw: Buffer.alloc(500, n) }))
  opened.store.transact([], () => opened.store.accept(batch))
  return file
}

describe('the durability of a connection', () => {
  test('is FULL, read back from a file with tables', async () => {
    using opened = await open(newFile())
    expect(opened.integrity.synchronous).toBe(2)
    expect(readSynchronous(opened.db)).toBe(2)
    expect(opened.db.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(opened.db.pragma('busy_timeout', { simple: true })).toBe(0)
    expect(opened.db.pragma('trusted_schema', { simple: true })).toBe(0)
    expect(opened.db.pragma('cell_size_check', { simple: true })).toBe(1)
    expect(opened.db.pragma('journal_size_limit', { simple: true })).toBe(64 * 1024 * 1024)
  })

  test('is NORMAL only if that is asked for by name', async () => {
    const db = await openWriterConnection(newFileIn(newFile()), { synchronous: 'normal' })
    try {
      expect(readSynchronous(db)).toBe(1)
    } finally {
      db.close()
    }
  })

  test('is refused where the file system has no WAL', async () => {
    await expect(openWriterConnection('')).rejects.toMatchObject({
      code: 'not_durable',
      message: expect.stringMatching(/journal_mode=wal and synchronous=2 \(got delete and 2\).*local disk/),
    })
  })

  test('leaves nothing in the log of an earlier process that is not in the file', async () => {
    const file = await aFile()
    const copy = newFileIn(newFile())
    using opened = await open(file)
    opened.store.transact([], () => opened.store.accept([anEvent('late')]))
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, copy + suffix)
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
  test('is refused, with the process that has it, until the first is closed', async () => {
    const file = newFile()
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

  test('is refused also if the file that names the process is unreadable', async () => {
    const file = newFile()
    using _first = await open(file)
    rmSync(`${file}.pid`)
    await expect(open(file)).rejects.toMatchObject({ message: expect.stringContaining('in use by another process') })
  })

  test('is refused also by another name of it: a link to it, or to its folder', async () => {
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

  test('is refused under the name of a hard link, whichever name was opened first, and whenever it was made', async () => {
    const file = await aFile()
    const link = newFileIn(newFile())
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
  test('because it is something else is named, with what to do, and left as it was', async () => {
    const file = newFileIn(newFile())
    writeFileSync(file, 'this is a letter, not a database\n'.repeat(200))
    const before = readFileSync(file)
    await expect(open(file)).rejects.toMatchObject({
      code: 'database_corrupt',
      message: expect.stringMatching(/inbox\.db is damaged, or not an SQLite database: .*NOTADB.* Restore a backup\./),
    })
    expect(readFileSync(file)).toEqual(before)
  })

  test('because its schema is broken is named', async () => {
    const file = await aFile()
    damage(file, 0, 40, 4_000)
    await expect(open(file)).rejects.toMatchObject({ code: 'database_corrupt' })
  })

  test('is unlocked again: once it is mended it opens', async () => {
    const file = await aFile()
    copyFileSync(file, `${file}.good`)
    damage(file, 0, 40, 4_000)
    await expect(open(file)).rejects.toMatchObject({ code: 'database_corrupt' })
    copyFileSync(`${file}.good`, file)
    using opened = await open(file)
    expect(opened.integrity.lastSeq).toBe(50)
  })

  test('because a folder is in its place is named', async () => {
    const file = newFile()
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
    ['holds noise', (lock: string) => writeFileSync(lock, 'noise'.repeat(1_000))],
    ['is a folder', (lock: string) => mkdirSync(lock)],
  ])('because its lock file %s is named, with what to do', async (_what, spoil) => {
    const file = await aFile()
    rmSync(`${file}.lock`)
    spoil(`${file}.lock`)
    await expect(open(file)).rejects.toMatchObject({
      code: 'config_invalid',
      exitCode: 1,
      message: expect.stringMatching(
        /^.*inbox\.db\.lock is not a lock file of onchain-inbox: .* Stop every process that uses .*inbox\.db, then delete the lock file/,
      ),
    })
  })

  test('because its folder cannot be made is named', async () => {
    const blocking = newFileIn(newFile())
    writeFileSync(blocking, '')
    await expect(open(join(blocking, 'deeper', 'inbox.db'))).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/cannot be used: ENOTDIR.*make it writable by this user, or choose another path$/),
    })
  })

  test('because another program holds it is named, and can be tried again', async () => {
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

test('a kill before a file was in WAL mode leaves a journal, which the next start rolls back', async () => {
  const [file, image] = [await aFile(), newFileIn(newFile())]
  const db = new Sqlite(file)
  db.pragma('journal_mode = DELETE')
  db.pragma('cache_size = 1')
  db.exec('BEGIN; DELETE FROM event')
  for (const suffix of ['', '-journal']) copyFileSync(file + suffix, image + suffix)
  db.close()
  using opened = await open(image)
  expect(opened.integrity).toMatchObject({ lastSeq: 50, missingSeqs: 0, synchronous: 2 })
  expect(existsSync(`${image}-journal`)).toBe(false)
})

test('a store that is closed leaves one file for the database and takes nothing else with it', async () => {
  const file = await aFile()
  expect([existsSync(`${file}-wal`), existsSync(`${file}-shm`), existsSync(`${file}.seq`)]).toEqual([
    false,
    false,
    true,
  ])
})

function newFileIn(file: string): string {
  mkdirSync(join(file, '..'), { recursive: true })
  return file
}

function damage(file: string, page: number, from: number, length: number): void {
  const bytes = readFileSync(file)
  bytes.fill(0xa5, page * 4096 + from, page * 4096 + from + length)
  writeFileSync(file, bytes)
}
