import Sqlite from 'better-sqlite3'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { backupDatabase, restoreDatabase, verifyBackup } from '../../src/inbox/sqlite/backup.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { anEvent, ordered } from '../conformance/stage.ts'
import { databaseFiles, rowsOf } from '../support/sqlite-files.ts'

const { newDatabaseFile, copyDatabase } = databaseFiles()

async function stage() {
  const file = newDatabaseFile()
  const at = (name: string) => join(dirname(file), name)
  const inbox = await createSqliteInbox({ file })
  await inbox.register([ordered])
  let sent = 0
  return {
    at,
    inbox,
    names: () => readdirSync(dirname(file)),
    accept: (count: number) => inbox.accept(Array.from({ length: count }, () => anEvent(`e${(sent += 1)}`))),
    [Symbol.asyncDispose]: () => inbox.close(),
  }
}

test('a backup does not restart or change when another process writes', async () => {
  await using it = await stage()
  const raw = new Uint8Array(1_000_000).fill(120)
  await it.inbox.accept(Array.from({ length: 20 }, (_, n) => anEvent(`large${n}`, { raw })))
  const other = new Sqlite(it.at('inbox.db'))
  const write = other.prepare(
    `INSERT INTO quarantine (id, reason, received_at, secret_label, count, total, raw) VALUES (?, '', 0, '', 1, 0, x'')`,
  )
  const shown: number[] = []
  await backupDatabase(it.at('inbox.db'), it.at('copy.db'), (done) => {
    shown.push(done)
    if (shown.length < 100) write.run(`id ${shown.length}`)
  })
  other.close()
  expect(shown.length).toBeGreaterThan(2)
  expect(shown).toEqual(shown.toSorted((a, b) => a - b))
  expect(rowsOf(it.at('copy.db'), 'SELECT id FROM quarantine')).toEqual([])
})

test('a backup overwrites nothing, and leaves no files after a failure', async () => {
  await using it = await stage()
  await writeFile(it.at('copy.db'), 'mine')
  const backup = (to: string) => backupDatabase(it.at('inbox.db'), it.at(to))
  await expect(backup('copy.db')).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(/already/) })
  expect(await readFile(it.at('copy.db'), 'utf8')).toBe('mine')
  await expect(backup('nowhere/copy.db')).rejects.toMatchObject({ code: 'store_unavailable' })
  await expect(backupDatabase(it.at('none.db'), it.at('b.db'))).rejects.toMatchObject({ code: 'not_found' })
  expect(it.names().filter((name) => /partial|^b\.db/.test(name))).toEqual([])
})

test.each([
  ['garbage', () => Buffer.from('no database at all, but longer than its header would be')],
  ['an empty file', () => Buffer.alloc(0)],
  ['a damaged page', (copy: Buffer) => copy.fill(0xa5, 3 * 4096, 3 * 4096 + 200)],
  ['a truncated copy', (copy: Buffer) => copy.subarray(0, 5 * 4096)],
])('a backup that is %s is rejected', async (_, damage) => {
  await using it = await stage()
  await it.accept(500)
  await backupDatabase(it.at('inbox.db'), it.at('copy.db'))
  await writeFile(it.at('copy.db'), damage(await readFile(it.at('copy.db'))))
  await it.inbox.close()
  const damaged = expect.objectContaining({ code: 'database_corrupt' })
  expect(() => verifyBackup(it.at('copy.db'))).toThrow(damaged)
  await expect(restoreDatabase(it.at('copy.db'), it.at('inbox.db'), 0)).rejects.toEqual(damaged)
  const again = await createSqliteInbox({ file: it.at('inbox.db') })
  expect((await again.stats()).lastSeq).toBe(500)
  await again.close()
})

async function crashed(it: Awaited<ReturnType<typeof stage>>): Promise<string> {
  await it.accept(100)
  const file = copyDatabase(it.at('inbox.db'), ['', '-wal'])
  expect((await stat(`${file}-wal`)).size).toBeGreaterThan(0)
  return file
}

test('a database with commits in its -wal is verified without a change, even while it is in use', async () => {
  await using it = await stage()
  const file = await crashed(it)
  for (let n = 0; n < 2; n += 1) expect(verifyBackup(file)).toMatchObject({ events: 100 })
  expect(existsSync(`${file}-wal`)).toBe(true)
  expect(verifyBackup(it.at('inbox.db'))).toMatchObject({ events: 100 })
  await it.accept(50)
  expect(verifyBackup(it.at('inbox.db'))).toMatchObject({ events: 150 })
})

test('a database with commits in its -wal is restored with them, readable by its owner only', async () => {
  await using it = await stage()
  const file = await crashed(it)
  expect(await restoreDatabase(file, it.at('new.db'), 0)).toMatchObject({ kept: null, report: { events: 100 } })
  expect(verifyBackup(it.at('new.db'))).toMatchObject({ events: 100 })
  expect((await stat(it.at('new.db'))).mode & 0o777).toBe(0o600)
})

test('a database with commits in its -wal is kept with them when a backup replaces it', async () => {
  await using it = await stage()
  await backupDatabase(it.at('inbox.db'), it.at('empty.db'))
  const file = await crashed(it)
  const { kept } = await restoreDatabase(it.at('empty.db'), file, 0)
  expect(verifyBackup(file)).toMatchObject({ events: 0 })
  expect(verifyBackup(kept!)).toMatchObject({ events: 100 })
  await restoreDatabase(kept!, file, 1)
  expect(verifyBackup(file)).toMatchObject({ events: 100 })
})

test('a restore replaces the database by a backup, keeps the old file, and the next start reports missing events', async () => {
  await using it = await stage()
  await it.accept(100)
  await backupDatabase(it.at('inbox.db'), it.at('copy.db'))
  await it.accept(50)
  await expect(restoreDatabase(it.at('copy.db'), it.at('inbox.db'), 0)).rejects.toMatchObject({
    code: 'database_in_use',
  })
  await it.inbox.close()
  const { report, kept } = await restoreDatabase(it.at('copy.db'), it.at('inbox.db'), Date.UTC(2026, 0, 1))
  expect(report).toMatchObject({ events: 100, file: it.at('inbox.db') })
  expect(kept).toBe(it.at('inbox.db.replaced-2026-01-01T00-00-00-000Z'))
  expect(verifyBackup(kept!)).toMatchObject({ events: 150 })
  const inbox = await createSqliteInbox({ file: it.at('inbox.db') })
  expect(inbox.integrity).toMatchObject({ missingSeqs: 50, lastSeq: 100 })
  // Missing events are accepted again with new numbers.
  expect(await inbox.accept([anEvent('e1'), anEvent('e101')])).toEqual(['duplicate', 'accepted'])
  expect((await inbox.event('e101'))?.seq).toBe(151)
  await inbox.close()
})
