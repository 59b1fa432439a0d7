import Sqlite from 'better-sqlite3'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock, systemClock } from '../../src/base/clock.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { openWriterConnection } from '../../src/inbox/sqlite/connection.ts'
import { lockDatabase } from '../../src/inbox/sqlite/lock.ts'
import { migrations } from '../../src/inbox/sqlite/migrations.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { moveInbox } from '../../src/inbox/move/move.ts'
import { runCli, startCli } from '../support/cli.ts'
import { anEvent } from '../conformance/stage.ts'
import { makeFullStore } from '../support/full-store.ts'
import { startPostgresInboxes, type PostgresInboxes } from '../support/postgres-inboxes.ts'
import { ask } from '../support/postgres.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const bulk = 1_500
/** Time-out for tests that start several processes. */
const processesMs = 120_000

let postgres: PostgresInboxes
let made: TempDir
let full: string

beforeAll(async () => {
  ;[postgres, made] = [await startPostgresInboxes(), await createTempDir()]
  full = join(made.path, 'full.db')
  await makeFullStore(full, bulk)
}, processesMs)
afterAll(async () => {
  await postgres[Symbol.asyncDispose]()
  await made[Symbol.asyncDispose]()
}, processesMs)

/** A copy of the full store in a new folder. */
async function aStore() {
  const dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  copyFileSync(full, file)
  return { file, cwd: dir.path, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() }
}

const command = 'move --from sqlite:./inbox.db --to env:TO'.split(' ')
const move = (from: string, to: string) => moveInbox({ from, to, clock: systemClock, onProgress() {} })

function fileValue<T>(file: string, sql: string): T {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare<[], T>(sql).pluck().get() as T
  } finally {
    db.close()
  }
}

/** All moved tables, and the columns that PostgreSQL numbers. */
const movedTables =
  'attempt audit body conflict event gap handler header_set item quarantine redelivery replay run state'.split(' ')
const numbered = 'attempt.seq audit.id gap.id handler.id header_set.id quarantine.seq replay.id'.split(' ')

const number = async (url: string, sql: string) => Number((await ask<{ n: string }>(url, `SELECT (${sql}) AS n`))[0]?.n)

describe('a move', { timeout: processesMs }, () => {
  test('copies all rows and counters, and leaves a file that cannot be served', async () => {
    await using store = await aStore()
    const { file, cwd } = store
    for (const name of movedTables) {
      expect(fileValue(file, `SELECT count(*) FROM "${name}"`), `rows of ${name} to be moved`).toBeGreaterThan(0)
    }
    const url = await postgres.createBare()
    const running = fileValue<number>(file, 'SELECT count(*) FROM run WHERE state = 3')
    expect(running).toBeGreaterThan(1)
    const crashedBefore = fileValue<number>(file, `SELECT count(*) FROM attempt WHERE outcome = 'crashed'`)

    const expectNumber = async (sql: string, value: number) => expect(await number(url, sql), sql).toBe(value)
    const moved = await runCli([...command, '--json'], { cwd, env: { TO: url } })
    expect(moved).toMatchObject({ code: 0, errors: '' })
    expect(moved.out).not.toContain(new URL(url).password)
    const report = JSON.parse(moved.out) as { tables: { table: string; rows: number }[] }
    expect(report).toMatchObject({ result: 'moved', from: file })
    for (const name of movedTables) {
      const rows = fileValue<number>(file, `SELECT count(*) FROM "${name}"`)
      expect(report.tables.find(({ table }) => table === name)?.rows, name).toBe(rows)
      await expectNumber(`SELECT count(*) FROM inbox."${name}"`, rows)
    }
    // Runs in flight count as crashed, as at any start.
    await expectNumber(`SELECT count(*) FROM inbox.attempt WHERE outcome = 'crashed'`, crashedBefore + running)
    await expectNumber('SELECT count(*) FROM inbox.run WHERE state = 3', 0)

    await expectNumber('SELECT last_seq FROM inbox.counter', fileValue(file, 'SELECT max(seq) FROM event'))
    await expectNumber('SELECT body_bytes FROM inbox.counter', fileValue(file, 'SELECT max(total) FROM body'))
    await expectNumber(`SELECT nextval('inbox.run_id')`, fileValue<number>(file, 'SELECT max(id) FROM run') + 1)
    for (const [name, identity] of numbered.map((column) => column.split('.'))) {
      const highest = await number(url, `SELECT max("${identity}") FROM inbox."${name}"`)
      await expectNumber(`SELECT nextval(pg_get_serial_sequence('inbox.${name}', '${identity}'))`, highest + 1)
    }

    await expect(openFileStore(file, { clock: createTestClock() })).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/was moved to PostgreSQL at 20.*move --undo/s),
    })

    // A repeated move marks the file at most, even while replicas run. A move to another database is refused.
    await ask(url, `INSERT INTO inbox.replica VALUES ('r', '1', now(), now(), '{}')`)
    const db = await openWriterConnection(file)
    db.exec(`DELETE FROM meta WHERE name = 'moved_at'`)
    db.close()
    expect(await move(file, url)).toMatchObject({ result: 'finished' })
    await expect(move(file, await postgres.createDatabase())).rejects.toMatchObject({ code: 'usage' })
  })

  test('starts again after a kill at any row', async () => {
    await using store = await aStore()
    const { file, cwd } = store
    const url = await postgres.createDatabase()
    await using stops = await createStops(url)
    const middle = (table: string) => fileValue<number>(file, `SELECT max(rowid) / 2 FROM "${table}"`)
    const points: readonly [string, string][] = [
      ['event', 'NEW.seq = 1300'],
      ['run', `NEW.id = ${middle('run')}`],
      ['meta', `NEW.name = 'moved_at'`],
    ]
    for (const [table, when] of points) {
      await stops.at(table, when)
      using child = startCli(command, { cwd, env: { TO: url } })
      await Promise.race([
        stops.reached(),
        child.ended.then(({ errors }) => Promise.reject(new Error(`ended before ${table} ${when}: ${errors}`))),
      ])
      child.child.kill('SIGKILL')
      await child.ended
      // The file can't be served in this state.
      await expect(openFileStore(file, { clock: createTestClock() })).rejects.toThrow('is being moved to PostgreSQL')
      await stops.release()
      expect(await number(url, 'SELECT count(*) FROM inbox.event')).toBe(0)
    }
    expect(await move(file, url)).toMatchObject({ result: 'moved' })
  })
})

test('a move finds changed, missing and added rows, stores nothing, and can be repeated', async () => {
  await using store = await aStore()
  const url = await postgres.createDatabase()
  const lastRun = fileValue<number>(store.file, 'SELECT max(id) FROM run')
  const lastEvent = fileValue<number>(store.file, 'SELECT max(seq) FROM event')
  const damages: readonly [table: string, when: string, damage: string, difference: string][] = [
    ['body', 'NEW.seq = 5', 'NEW.raw := set_byte(NEW.raw, 0, 7)', 'the row with seq 5'],
    ['run', `NEW.id = ${lastRun}`, 'RETURN NULL', `the row with id ${lastRun}`],
    ['event', `NEW.seq = ${lastEvent}`, 'NEW.seq := NEW.seq + 1', `the row with seq ${lastEvent}`],
    [
      'redelivery',
      'NEW.event_seq <> 1000000',
      'INSERT INTO inbox.redelivery VALUES (1000000, 1, 1) ON CONFLICT DO NOTHING',
      '',
    ],
    ['state', `NEW.value = '1'`, `NEW.value := '1 '`, 'the row with handler_id 1, key "\\u0000"'],
    ['attempt', 'NEW.seq = 1', 'NEW.run_id := NEW.run_id + 1', 'the row with seq 1'],
    ['item', 'true', 'NEW.payload := chr(1) || chr(2) || NEW.payload', 'the row with'],
    ['handler', 'NEW.id = 2', 'NEW.paused := NOT NEW.paused', 'the row with id 2'],
    ['replay', 'true', 'NEW.per_second := NEW.per_second + 1e-12', 'the row with id 1'],
  ]
  for (const [table, when, damage, difference] of damages) {
    await ask(
      url,
      `CREATE FUNCTION public.damage() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${damage}; RETURN NEW; END $$;
       CREATE TRIGGER damage BEFORE INSERT ON inbox.${table} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION public.damage()`,
    )
    await expect(move(store.file, url)).rejects.toMatchObject({
      code: 'database_corrupt',
      message: expect.stringContaining(`rolled back: ${table}: ${difference}`) as string,
    })
    await ask(url, 'DROP FUNCTION public.damage CASCADE')
  }
  expect(await number(url, 'SELECT count(*) FROM inbox.event')).toBe(0)
  expect(await move(store.file, url)).toMatchObject({ result: 'moved' })
})

test('a replica that joins during a move waits, then serves the moved events', { timeout: processesMs }, async () => {
  await using store = await aStore()
  const url = await postgres.createDatabase()
  await using stops = await createStops(url)
  await stops.at('event', 'NEW.seq = 1300')
  const moving = move(store.file, url)
  await stops.reached()
  const open = () => createPostgresInbox({ url, clock: systemClock })
  // Its first heartbeat may time out on a slow machine.
  const joining = open().catch(open)
  const waits = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'relation'`
  await until(async () => (await number(url, waits)) > 0, 'the replica waits')
  await stops.release()
  expect(await moving).toMatchObject({ result: 'moved' })
  const inbox = await joining
  onTestFinished(() => inbox.close())
  const lastSeq = fileValue<number>(store.file, 'SELECT max(seq) FROM event')
  expect(await inbox.accept([anEvent('new')])).toEqual(['accepted'])
  expect(await number(url, `SELECT seq FROM inbox.event WHERE id = 'new'`)).toBe(lastSeq + 1)
})

describe('a move is refused without changes', () => {
  const isMarked = (file: string) => fileValue<number>(file, `SELECT count(*) FROM meta WHERE name LIKE 'mov%'`) > 0

  test('while the file or the database is served', async () => {
    await using store = await aStore()
    const url = await postgres.createDatabase()
    const lock = lockDatabase(store.file)
    const inUse = await runCli([...command, '--json'], { cwd: store.cwd, env: { TO: url } })
    lock.release()
    expect(inUse.code).toBe(75)
    expect(JSON.parse(inUse.errors)).toMatchObject({ error: { code: 'database_in_use' } })

    await ask(url, `INSERT INTO inbox.replica VALUES ('r', '1', now(), now(), '{}')`)
    await expect(move(store.file, url)).rejects.toMatchObject({ code: 'database_in_use' })
    await ask(url, `UPDATE inbox.replica SET beat_at = now() - interval '1 hour'`)
    // From before the database's clock was set back.
    await ask(url, `INSERT INTO inbox.replica VALUES ('s', '1', now(), now() + interval '1 hour', '{}')`)
    expect(isMarked(store.file)).toBe(false)
    expect(await move(store.file, url)).toMatchObject({ result: 'moved' })
  })

  test('for a file of an older version, or another file', async () => {
    await using dir = await createTempDir()
    const url = await postgres.createDatabase()
    const old = join(dir.path, 'old.db')
    const db = await openWriterConnection(old, { known: migrations.slice(0, 1) })
    db.close()
    await expect(move(old, url)).rejects.toThrow('run `onchain-inbox migrate`')
    await expect(move(old, url)).rejects.toMatchObject({ code: 'database_older' })
    const none = join(dir.path, 'none.db')
    await expect(move(none, url)).rejects.toMatchObject({ code: 'not_found' })
    writeFileSync(none, 'text, not a database')
    await expect(move(none, url)).rejects.toMatchObject({ code: 'database_corrupt' })
  })

  test('to a database with other rows or another file', async () => {
    await using store = await aStore()
    await using other = await aStore()
    const url = await postgres.createDatabase()
    await ask(url, `INSERT INTO inbox.handler (name) VALUES ('other')`)
    await expect(move(store.file, url)).rejects.toThrow('it contains other rows (handler)')
    await ask(url, 'DELETE FROM inbox.handler')
    await move(other.file, url)
    await expect(move(store.file, url)).rejects.toThrow('another file was moved there')
    expect(isMarked(store.file)).toBe(false)
  })
})

test('undo lets the file be served again; the database refuses another move', async () => {
  await using store = await aStore()
  const url = await postgres.createDatabase()
  const undo = () => runCli(['move', '--from', 'sqlite:./inbox.db', '--undo'], { cwd: store.cwd })
  expect(await undo()).toMatchObject({ code: 1, errors: expect.stringContaining('was not moved') as string })
  await move(store.file, url)
  const out = expect.stringContaining('can be served again') as string
  expect(await undo()).toMatchObject({ code: 0, errors: '', out })
  const opened = await openFileStore(store.file, { clock: createTestClock() })
  opened.close()
  await expect(move(store.file, url)).rejects.toThrow('before its move was undone')
})

/** Stops a move before it stores a certain row. */
async function createStops(url: string) {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(
    `CREATE FUNCTION public.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(77, 1); RETURN NEW; END $$`,
  )
  const stopped = `SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'onchain-inbox move' AND wait_event = 'advisory'`
  return {
    async at(table: string, when: string) {
      await client.query('SELECT pg_advisory_lock(77, 1)')
      await client.query(
        `CREATE TRIGGER stop BEFORE INSERT ON inbox."${table}" FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION public.stop()`,
      )
    },
    reached: () => until(async () => (await client.query(stopped)).rows.length > 0, 'a stopped move', 60_000),
    /** Waits until the transaction of the stopped move has ended. */
    async release() {
      await client.query('SELECT pg_advisory_unlock(77, 1)')
      await client.query(
        `DO $$ DECLARE t regclass; BEGIN
           FOR t IN SELECT tgrelid FROM pg_trigger WHERE tgname = 'stop' LOOP EXECUTE format('DROP TRIGGER stop ON %s', t); END LOOP;
         END $$`,
      )
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}
