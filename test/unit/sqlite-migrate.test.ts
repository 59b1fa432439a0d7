import Sqlite from 'better-sqlite3'
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTestClock, systemClock } from '../../src/base/clock.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { createUpgradeLog } from '../../src/inbox/open.ts'
import { migrate } from '../../src/inbox/sqlite/migrate.ts'
import { migrations, type Migration } from '../../src/inbox/sqlite/migrations.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { createViews } from '../../src/inbox/sqlite/views.ts'
import { anEvent } from '../conformance/stage.ts'
import { databaseFiles } from '../support/sqlite-files.ts'

const { copyDatabase, newDatabaseFile } = databaseFiles()

/** The number of the next migration. */
const nextNumber = String(migrations.length + 1).padStart(4, '0')

const later: Migration = {
  name: `${nextNumber}-note`,
  oldest: 2,
  up: ['ALTER TABLE event ADD COLUMN note TEXT', 'CREATE INDEX event_note ON event (note)'],
}

const failing: Migration = {
  name: `${nextNumber}-failing`,
  oldest: 2,
  up: ['ALTER TABLE event ADD COLUMN note TEXT', 'DELETE FROM event', 'CREATE INDEX event_note ON nowhere (note)'],
}

async function open(file: string, known: readonly Migration[] = migrations) {
  const opened = await openFileStore(file, { clock: systemClock, known })
  return { ...opened, [Symbol.dispose]: () => opened.close() }
}

async function aFile(known: readonly Migration[] = migrations): Promise<string> {
  const file = newDatabaseFile()
  using opened = await open(file, known)
  opened.store.transact([], () => opened.store.accept([anEvent('a'), anEvent('b')]))
  return file
}

/** A file with the schema of the first `known` migrations, two events and an audit record. */
async function aFileOf(known: number): Promise<string> {
  const file = newDatabaseFile()
  const db = new Sqlite(file)
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  await migrate(db, file, migrations.slice(0, known))
  for (const [index, id] of ['a', 'b'].entries()) {
    const { type, createdAt, receivedAt, secretLabel, raw } = anEvent(id)
    db.prepare(
      'INSERT INTO event (seq, id, type, created_at, received_at, secret_label) VALUES (?, ?, ?, ?, ?, ?)',
    ).run(index + 1, id, type, createdAt, receivedAt, secretLabel)
    db.prepare('INSERT INTO body (seq, total, raw) VALUES (?, ?, ?)').run(index + 1, raw.length * (index + 1), raw)
  }
  db.prepare('INSERT INTO audit (at, action, detail) VALUES (?, ?, ?)').run(1, 'handler.pause', '{}')
  db.close()
  return file
}

/** A file after a kill, with the last commit in the -wal. */
async function aKilledFile(known: readonly Migration[]): Promise<string> {
  const file = await aFile(known)
  using opened = await open(file, known)
  opened.store.transact([], () => opened.store.accept([anEvent('c')]))
  return copyDatabase(file)
}

/** All schemas and rows of a database, read from a copy. */
function contentOf(file: string): unknown {
  const db = new Sqlite(copyDatabase(file, ['', '-wal']))
  try {
    const schema = db.prepare<[], { name: string; type: string; sql: string }>('SELECT * FROM sqlite_schema').all()
    const tables = schema.filter((entry) => entry.type === 'table').map(({ name }) => name)
    return [schema.map((entry) => entry.sql), ...tables.map((name) => db.prepare(`SELECT * FROM ${name}`).all())]
  } finally {
    db.close()
  }
}

/** The bytes of the database and its -wal; a missing -wal equals an empty one. */
const bytesOf = (file: string) =>
  ['', '-wal'].map((suffix) => (existsSync(file + suffix) ? readFileSync(file + suffix).toString('base64') : ''))

describe('the schema of a file', () => {
  test('is upgraded once, with a copy of the whole file before', async () => {
    const file = await aKilledFile(migrations)
    using opened = await open(file, [...migrations, later])
    expect(opened.db.prepare('SELECT id, note FROM event').all()).toEqual(
      ['a', 'b', 'c'].map((id) => ({ id, note: null })),
    )
    expect(opened.integrity).toMatchObject({ lastSeq: 3, missingSeqs: 0, synchronous: 2 })
    expect(opened.db.prepare(`SELECT value FROM meta WHERE name = 'oldest_program'`).get()).toEqual({ value: 7 })

    using backup = await open(`${file}.before-${nextNumber}`)
    expect(backup.db.prepare('SELECT id FROM event').all()).toEqual(['a', 'b', 'c'].map((id) => ({ id })))
    opened.close()
    backup.close()
    rmSync(`${file}.before-${nextNumber}`)
    using again = await open(file, [...migrations, later])
    expect(again.integrity.lastSeq).toBe(3)
    expect(existsSync(`${file}.before-${nextNumber}`)).toBe(false)
  })

  test('is upgraded with progress, and replaces the partial copy of a killed upgrade', async () => {
    const file = await aFileOf(migrations.length - 1)
    const copy = `${file}.before-${nextNumber}`
    writeFileSync(`${copy}.partial`, 'half a copy')
    const steps: string[] = []
    const onUpgrade = (step: string, done: number) => void steps.push(`${Math.floor(done * 100)} ${step}`)
    const opened = await openFileStore(file, { clock: systemClock, known: [...migrations, later], onUpgrade })
    opened.close()
    expect(steps).toEqual([
      `0 copying to ${copy}`,
      `50 migration ${migrations.at(-1)?.name}`,
      `75 migration ${later.name}`,
    ])
    expect(readdirSync(dirname(file)).filter((name) => name.includes('before'))).toEqual([basename(copy)])
  })

  test('is upgraded with a log line per step and every 5 s', async () => {
    const clock = createTestClock()
    const lines: object[] = []
    const log = Object.assign(Object.create(silentLogger) as Logger, {
      info: (fields: object) => void lines.push(fields),
    })
    const { onUpgrade, end } = createUpgradeLog(clock, log)
    onUpgrade('copying', 0)
    onUpgrade('copying', 0.1)
    await clock.advance(5_000)
    onUpgrade('migration', 0.5)
    await clock.advance(9_000)
    end()
    await clock.advance(60_000)
    expect(lines).toEqual([
      { step: 'copying', percent: 0, seconds: 0 },
      { step: 'copying', percent: 10, seconds: 5 },
      { step: 'migration', percent: 50, seconds: 5 },
      { step: 'migration', percent: 50, seconds: 10 },
    ])
  })

  test('is unchanged after a failed upgrade', async () => {
    const file = await aFile()
    const before = contentOf(file)
    await expect(open(file, [...migrations, failing])).rejects.toMatchObject({
      code: 'database_corrupt',
      message: expect.stringMatching(
        /migrating .*inbox\.db failed: no such table: main\.nowhere; the file is unchanged/,
      ),
    })
    expect(contentOf(file)).toEqual(before)
    using opened = await open(file)
    expect(opened.integrity).toMatchObject({ lastSeq: 2, missingSeqs: 0 })
  })
})

test('upgrades the first schema: events stay', async () => {
  const file = await aFileOf(1)
  using opened = await open(file)
  expect(opened.integrity).toMatchObject({ lastSeq: 2, missingSeqs: 0 })
  expect(existsSync(`${file}.before-${String(migrations.length).padStart(4, '0')}`)).toBe(true)
})

test('upgrades the earlier index of keys: events are found by address', async () => {
  const file = await aFileOf(5)
  const db = new Sqlite(file)
  db.exec(`CREATE INDEX event_key ON event (key) WHERE key IS NOT NULL; UPDATE event SET key = 'base:0x' || id`)
  db.close()
  using opened = await open(file)
  const { data } = await createViews(opened.db, systemClock).events({ network: 'base', address: '0xa', limit: 9 })
  expect(data.map(({ id }) => id)).toEqual(['a'])
})

test('upgrades a schema without receipts: only new events and audit records have them', async () => {
  const file = await aFileOf(2)
  using opened = await open(file)
  const { store } = opened
  const headers = '{"user-agent":"sender/1"}'
  store.transact([], () => store.accept([anEvent('c', { headers, receivedAt: systemClock.now() })]))
  store.transact([], () => store.note('reconcile.start', {}, 'operator (token) ::1'))
  const views = createViews(opened.db, systemClock)
  expect(await views.event('a')).toMatchObject({
    headers: null,
    storedAt: null,
    trace: null,
    raw: Buffer.from(anEvent('a').raw),
  })
  expect(await views.event('c')).toMatchObject({ headers, storedAt: expect.any(Number) })
  expect((await views.audit({ limit: 9 })).data.map(({ by }) => by)).toEqual(['operator (token) ::1', null])
})

test('upgrades stored headers: unlisted ones are removed, also from the bytes of the file', async () => {
  const file = await aFileOf(3)
  const sets = [
    '{"host":"a.example","x-proof":"hunter2"}',
    '{"host":"a.example","cookie":"hunter2"}',
    '{"x-proof":"hunter2"}',
    `{"user-agent":"sender/1","x-long":"${'hunter2'.repeat(200)}"}`,
  ]
  const db = new Sqlite(file)
  for (const headers of sets) db.prepare('INSERT INTO header_set (headers) VALUES (?)').run(headers)
  db.exec('UPDATE event SET header_set = seq')
  db.close()
  using opened = await open(file)
  const event = anEvent('c', { headers: '{"host":"a.example"}', receivedAt: systemClock.now() })
  opened.store.transact([], () => opened.store.accept([event, anEvent('d', { headers: '{"via":"b"}' })]))
  const views = createViews(opened.db, systemClock)
  const details = await Promise.all(['a', 'b', 'c', 'd'].map((id) => views.event(id)))
  expect(details.map((detail) => detail?.headers)).toEqual([
    '{"host":"a.example"}',
    '{"host":"a.example"}',
    '{"host":"a.example"}',
    '{"via":"b"}',
  ])
  expect(opened.db.prepare('SELECT headers FROM header_set WHERE id > 2 ORDER BY id').pluck().all()).toEqual([
    '{}',
    '{"user-agent":"sender/1"}',
    '{"via":"b"}',
  ])
  opened.close()
  expect(readFileSync(file, 'latin1')).not.toContain('hunter2')
})

test.each([
  ['closed', aFile],
  ['killed', aKilledFile],
])('a %s file of a newer version is refused and stays unchanged byte for byte', async (_, make) => {
  const file = await make([...migrations, later])
  const before = bytesOf(file)
  await expect(open(file)).rejects.toMatchObject({
    code: 'database_newer',
    exitCode: 1,
    message: expect.stringContaining(
      `has the migration ${later.name}, this version knows up to ${migrations.at(-1)?.name}. Run the newer`,
    ),
  })
  expect(bytesOf(file)).toEqual(before)
  using opened = await open(file, [...migrations, later])
  expect(opened.integrity.missingSeqs).toBe(0)
})
