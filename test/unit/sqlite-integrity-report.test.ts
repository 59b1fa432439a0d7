import Sqlite from 'better-sqlite3'
import {
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent } from '../conformance/stage.ts'
import { databaseFiles } from '../support/sqlite-files.ts'

const { copyDatabase, newDatabaseFile } = databaseFiles()

const events = 40

async function open(file: string) {
  const opened = await openFileStore(file, { clock: systemClock })
  const inbox = createLocalSqliteInbox(opened, { clock: systemClock })
  const seqOf = async (id: string) => (await inbox.event(id))?.seq
  return { ...opened, inbox, seqOf, [Symbol.asyncDispose]: () => inbox.close() }
}

/** Accepts each event in its own transaction. */
async function acceptAll(inbox: Awaited<ReturnType<typeof open>>['inbox'], from = 1, to = events): Promise<void> {
  for (let n = from; n <= to; n += 1) await inbox.accept([anEvent(`e${n}`)])
}

/** A database after `kill -9`: all events are in the -wal, none in the file itself. */
async function aKilledFile(): Promise<string> {
  const file = newDatabaseFile()
  await using opened = await open(file)
  await acceptAll(opened.inbox)
  return copyDatabase(file)
}

async function aClosedFile(): Promise<string> {
  const file = newDatabaseFile()
  await using opened = await open(file)
  await acceptAll(opened.inbox)
  return file
}

function cutWal(file: string): void {
  truncateSync(`${file}-wal`, Math.floor(statSync(`${file}-wal`).size / 2))
}

function flipWalByte(file: string): void {
  const bytes = readFileSync(`${file}-wal`)
  const middle = Math.floor(bytes.length / 2)
  bytes[middle] = (bytes[middle] ?? 0) ^ 1
  writeFileSync(`${file}-wal`, bytes)
}

test('the next start reports nothing missing after a clean stop or a kill', async () => {
  await using closed = await open(await aClosedFile())
  expect(closed.integrity).toMatchObject({ missingSeqs: 0, lastSeq: events, cleanStop: true })
  await using killed = await open(await aKilledFile())
  expect(killed.integrity).toMatchObject({ missingSeqs: 0, lastSeq: events, cleanStop: false })
})

test.each([
  ['is cut to half', cutWal],
  ['has a flipped bit', flipWalByte],
  ['is missing', (file: string) => rmSync(`${file}-wal`)],
])('the next start reports every lost event if the -wal %s', async (what, damage) => {
  const file = await aKilledFile()
  damage(file)
  await using opened = await open(file)
  const { lastSeq, missingSeqs } = opened.integrity
  if (what !== 'is missing') expect(lastSeq).toBeGreaterThan(0)
  expect(lastSeq).toBeLessThan(events)
  expect(missingSeqs).toBe(events - lastSeq)
  expect(String(opened.db.pragma('integrity_check', { simple: true }))).toBe('ok')
})

test('the next start reports rows deleted in the middle and at the end', async () => {
  const file = await aClosedFile()
  const db = new Sqlite(file)
  db.exec('DELETE FROM event WHERE seq IN (7, 8, 20, 39, 40)')
  db.close()
  await using opened = await open(file)
  expect(opened.integrity).toMatchObject({ missingSeqs: 5, lastSeq: 38 })
  expect(await opened.inbox.stats()).toMatchObject({ missingSeqs: 5 })
})

test('a lost accept-sequence number is reported at each start and not reused, even if the mark is deleted later', async () => {
  const file = await aKilledFile()
  cutWal(file)
  const first = await open(file)
  const { missingSeqs, lastSeq } = first.integrity
  expect(missingSeqs).toBe(events - lastSeq)
  await first.inbox.close()
  rmSync(`${file}.seq`)
  const second = await open(file)
  await second.inbox.accept([anEvent('later')])
  expect(await second.seqOf('later')).toBe(events + 1)
  await second.inbox.close()
  await using third = await open(file)
  expect(third.integrity).toMatchObject({ missingSeqs, lastSeq: events + 1 })
})

test.each(['', 'garbage', `${'9'.repeat(25)}\n`])(
  'a lost accept-sequence number is not assumed for the unreadable mark %j',
  async (text) => {
    const file = await aKilledFile()
    writeFileSync(`${file}.seq`, text)
    await using opened = await open(file)
    expect(opened.integrity).toMatchObject({ missingSeqs: 0, lastSeq: events })
  },
)

test('the .seq file contains the highest committed number', async () => {
  const file = newDatabaseFile()
  await using opened = await open(file)
  await acceptAll(opened.inbox, 1, 3)
  expect(readFileSync(`${file}.seq`, 'utf8').trim()).toBe('3')
  expect(() =>
    opened.store.transact([], () => {
      opened.store.accept([anEvent('lost')])
      throw new Error('rolled back')
    }),
  ).toThrow('rolled back')
  await opened.inbox.accept([anEvent('e3')])
  expect(readFileSync(`${file}.seq`, 'utf8').trim()).toBe('3')
  await opened.inbox.accept([anEvent('e4')])
  expect(await opened.seqOf('e4')).toBe(4)
})

describe('a file that changes while it is served', () => {
  const refused = (what: string) => ({ code: 'store_unavailable', message: expect.stringContaining(what) })

  async function aServedFile() {
    const file = newDatabaseFile()
    const opened = await open(file)
    await acceptAll(opened.inbox)
    const failed = new Promise<Error>((resolve) => opened.inbox.onFailure(resolve))
    return { ...opened, file, failed }
  }

  test.each([
    ['deleted', 'inbox.db was deleted or moved', (file: string) => rmSync(file)],
    ['moved', 'inbox.db was deleted or moved', (file: string) => renameSync(file, `${file}.old`)],
    ['replaced', 'inbox.db was replaced by another file', replace],
    ['deleted with its folder', 'inbox.db was deleted or moved', (file: string) => removeAll(dirname(file))],
    ['deleted with all files next to it', 'inbox.db was deleted or moved', removeBeside],
  ])('%s: later events are rejected, and the next start reports the missing ones', async (_, what, take) => {
    const served = await aServedFile()
    take(served.file)
    await expect(served.inbox.accept([anEvent('late')])).rejects.toMatchObject(refused(what))
    await expect(served.inbox.accept([anEvent('later')])).rejects.toMatchObject(refused(what))
    expect(await served.failed).toMatchObject(refused(what))
    expect(await new Promise((resolve) => served.inbox.onFailure(resolve))).toBe(await served.failed)
    expect(served.inbox.health()).toMatchObject({ ok: false, reason: expect.stringContaining(what) })
    await served.inbox.close()
    await using next = await open(served.file)
    expect(next.integrity).toMatchObject({ lastSeq: 0, missingSeqs: events })
  })

  test.each([
    ['deleted', (wal: string) => rmSync(wal)],
    ['replaced', replace],
  ])('its -wal is %s: later events are rejected, and no accepted one is missing', async (what, take) => {
    const served = await aServedFile()
    take(`${served.file}-wal`)
    await expect(served.inbox.accept([anEvent('late')])).rejects.toMatchObject(refused(`inbox.db-wal was ${what}`))
    await using next = await open(copyDatabase(served.file, ['', '.seq']))
    expect(next.integrity).toMatchObject({ lastSeq: events + 1, missingSeqs: 0 })
    await served.inbox.close()
  })

  test('a changed symbolic link counts as a replaced file', async () => {
    const [file, other] = [await aClosedFile(), await aClosedFile()]
    symlinkSync(file, `${file}.link`)
    await using served = await open(`${file}.link`)
    rmSync(`${file}.link`)
    symlinkSync(other, `${file}.link`)
    const what = 'inbox.db.link was replaced by another file'
    await expect(served.inbox.accept([anEvent('late')])).rejects.toMatchObject(refused(what))
  })

  test('a moved file is not written to any more', async () => {
    const served = await aServedFile()
    const moved = `${dirname(served.file)}-moved`
    renameSync(dirname(served.file), moved)
    await expect(served.inbox.accept([anEvent('late')])).rejects.toMatchObject(refused('was deleted or moved'))
    const log = readFileSync(join(moved, 'inbox.db-wal'))
    await served.inbox.close()
    expect(readFileSync(join(moved, 'inbox.db-wal'))).toEqual(log)
    await using next = await open(join(moved, 'inbox.db'))
    expect(next.integrity).toMatchObject({ lastSeq: events + 1, missingSeqs: 0 })
  })
})

function removeAll(folder: string): void {
  rmSync(folder, { recursive: true })
}

function removeBeside(file: string): void {
  for (const name of readdirSync(dirname(file))) rmSync(join(dirname(file), name))
}

function replace(file: string): void {
  writeFileSync(`${file}.new`, '')
  renameSync(`${file}.new`, file)
}
