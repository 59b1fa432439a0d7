import Sqlite, { type Database } from 'better-sqlite3'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, openSync, closeSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, systemClock } from '../../src/base/clock.ts'
import type { EventQuery, EventSummary } from '../../src/inbox/port.ts'
import { restoreDatabase, backupDatabase } from '../../src/inbox/sqlite/backup.ts'
import { openReaderConnection } from '../../src/inbox/sqlite/connection.ts'
import { createEventList } from '../../src/inbox/sqlite/event-list.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { openIndex } from '../../src/inbox/sqlite/index/file.ts'
import { openIndexHandle, type IndexHandle } from '../../src/inbox/sqlite/index/handle.ts'
import { createIndexer } from '../../src/inbox/sqlite/index/indexer.ts'
import { keepIndexing } from '../../src/inbox/sqlite/index/keep-indexing.ts'
import { createIndexReads } from '../../src/inbox/sqlite/index/reads.ts'
import { eventsPerShard } from '../../src/inbox/sqlite/index/schema.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { addressOf, fillStore } from '../bench/fill.ts'
import { aFullEvent } from '../conformance/index-views.ts'
import { ordered } from '../conformance/stage.ts'
import { readAll } from '../conformance/views.ts'
import { counts } from '../counts.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const { indexedEvents, indexKills: kills, eventsWhileKilled } = counts

const type = 'wallet.large_trade'

/** An inbox with its threads, and what it warned of. */
async function anInbox(file: string) {
  const warnings: string[] = []
  const inbox = await createSqliteInbox({ file, onWarning: (text) => void warnings.push(text) })
  const indexed = () =>
    until(
      async () => {
        const { state, behind } = await inbox.indexStatus()
        return state === 'current' && behind === 0
      },
      'the index is current',
      120_000,
    )
  const find = async (query: Partial<EventQuery>) => {
    const events = await readAll<EventSummary>((cursor) => inbox.events({ limit: 200, ...query, ...cursor }))
    return events.map(({ id }) => id)
  }
  return { ...inbox, warnings, indexed, find, [Symbol.asyncDispose]: () => inbox.close() }
}

async function withEvents(file: string, from: number, to: number): Promise<void> {
  const opened = await openFileStore(file, { clock: systemClock })
  const events = Array.from({ length: to - from }, (_, n) =>
    aFullEvent(`e${from + n}`, {}, { note: `needle${(from + n) % 10}` }),
  )
  opened.store.transact([], () => {
    opened.store.register([ordered])
    opened.store.accept(events)
  })
  opened.close()
}

/** Indexes all of a database in this thread. */
async function indexAll(file: string): Promise<void> {
  const db = openReaderConnection(file)
  const { index } = openIndex(`${file}-index`, db)
  const indexer = createIndexer(db, index)
  while (indexer.step() > 0);
  index.close()
  db.close()
}

function rowsOf(file: string, sql: string): unknown[] {
  const db = new Sqlite(file, { readonly: true })
  try {
    return db.prepare(sql).pluck().all()
  } finally {
    db.close()
  }
}

describe('the index in its thread', () => {
  test('has what came, also what came while nothing ran, and is a file of its own', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await withEvents(file, 0, 30)
    {
      await using inbox = await anInbox(file)
      await inbox.indexed()
      expect(await inbox.find({ q: 'needle3' })).toEqual(['e23', 'e13', 'e3'])
      await inbox.accept([aFullEvent('new', { receivedAt: Date.now() }, { note: 'needle3' })])
      expect(await inbox.find({ q: 'needle3' })).toEqual(['new', 'e23', 'e13', 'e3'])
      await inbox.indexed()
      expect(await inbox.find({ q: 'needle3', type })).toEqual(['new', 'e23', 'e13', 'e3'])
      expect(await inbox.indexStatus()).toMatchObject({ indexedSeq: 31, behind: 0, lagMs: 0, reason: null })
      await inbox.rebuildIndex('operator (token) ::1')
      await inbox.indexed()
      expect(await inbox.find({ q: 'needle3' })).toHaveLength(4)
      expect(inbox.warnings).toEqual([])
    }
    expect(rowsOf(file, `SELECT name FROM sqlite_schema WHERE sql LIKE '%fts5%'`)).toEqual([])
    expect(rowsOf(`${file}-index`, `SELECT value FROM meta WHERE name = 'seq'`)).toEqual([31])
    expect(rowsOf(`${file}-index`, 'SELECT sum(count) FROM tally')).toEqual([31])
  })

  const damages: readonly [string, (indexFile: string) => void][] = [
    ['damaged', (file) => damage(file)],
    ['no database at all', (file) => writeFileSync(file, 'x'.repeat(10_000))],
    ['of another version', (file) => change(file, `UPDATE meta SET value = 0 WHERE name = 'version'`)],
    ['of another database', (file) => change(file, `UPDATE meta SET value = 'other' WHERE name = 'first_id'`)],
    ['of a later state of it', (file) => change(file, `UPDATE meta SET value = 99 WHERE name = 'seq'`)],
  ]
  test.each(damages)('is made anew where the file is %s, with nothing but a warning', async (_, harm) => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await withEvents(file, 0, 600)
    await indexAll(file)
    harm(`${file}-index`)
    await using inbox = await anInbox(file)
    await inbox.indexed()
    expect(await inbox.find({ q: 'needle7' })).toHaveLength(60)
    expect(await inbox.cadences()).toMatchObject([{ count: 600 }])
    expect(inbox.warnings).toEqual([expect.stringMatching(/^the index is made anew: it is /)])
    expect(inbox.health().ok).toBe(true)
  })

  test('is made anew after an older state of the database was put in its place, and thrown away by a restore', async () => {
    await using dir = await createTempDir()
    const [file, backup] = [join(dir.path, 'inbox.db'), join(dir.path, 'backup')]
    await withEvents(file, 0, 50)
    await backupDatabase(file, backup)
    expect(existsSync(`${backup}-index`)).toBe(false)
    await withEvents(file, 50, 80)
    await indexAll(file)
    copyFileSync(backup, file)
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    await withEvents(file, 200, 210)
    {
      await using inbox = await anInbox(file)
      await inbox.indexed()
      expect(await inbox.find({ q: 'needle9' })).toEqual(['e209', 'e49', 'e39', 'e29', 'e19', 'e9'])
      expect(inbox.warnings.join()).toContain('of another database, or of a later state of this one')
    }
    expect(existsSync(`${file}-index`)).toBe(true)
    await restoreDatabase(backup, file, Date.now())
    expect(existsSync(`${file}-index`)).toBe(false)
  })

  test(`has everything once after kills while it is made (${kills} of them)`, async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await withEvents(file, 0, eventsWhileKilled)
    for (let round = 0; round < kills; round += 1) {
      const child = spawn(process.execPath, [join(import.meta.dirname, '../faults/index-process.ts'), file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exited = once(child, 'exit')
      const wanted = (eventsWhileKilled * (round + 1)) / (kills + 1)
      for await (const line of createInterface({ input: child.stdout })) {
        if (Number(line) >= wanted) child.kill('SIGKILL')
      }
      expect(await exited).toEqual([null, 'SIGKILL'])
    }
    const [before] = rowsOf(`${file}-index`, `SELECT value FROM meta WHERE name = 'seq'`) as number[]
    expect(before).toBeGreaterThan(0)
    await using inbox = await anInbox(file)
    await inbox.indexed()
    expect(inbox.warnings).toEqual([])
    expect(await inbox.cadences()).toMatchObject([{ count: eventsWhileKilled }])
    expect(await inbox.secretUses()).toMatchObject([{ count: eventsWhileKilled }])
    expect(rowsOf(`${file}-index`, 'SELECT count(*) FROM live')).toEqual([eventsWhileKilled])
    const seen = await inbox.find({ q: 'needle1' })
    const expected = Array.from({ length: eventsWhileKilled / 10 }, (_, n) => `e${n * 10 + 1}`)
    expect(seen).toEqual(expected.toReversed())
  }, 600_000)
})

/** Overwrites what is not the first page: its header is looked at by everybody. */
function damage(file: string): void {
  const fd = openSync(file, 'r+')
  for (let page = 1; page < Math.floor(statSync(file).size / 4_096); page += 1) {
    writeSync(fd, Buffer.alloc(2_000, 0xa7), 0, 2_000, page * 4_096)
  }
  closeSync(fd)
}

function change(file: string, sql: string): void {
  const db = new Sqlite(file)
  db.exec(sql)
  db.close()
}

describe('an index that cannot be written', () => {
  test('is off with the reason, warns once, and goes on as soon as it can be written', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await withEvents(file, 0, 20)
    const db = openReaderConnection(file)
    const clock = createTestClock()
    const warnings: string[] = []
    let isFull = true
    let index: Database | undefined
    const indexing = keepIndexing({
      clock,
      elapsed: () => clock.now(),
      open() {
        if (isFull) throw new Sqlite.SqliteError('database or disk is full', 'SQLITE_FULL')
        const opened = openIndex(`${file}-index`, db)
        index = opened.index
        return { db, ...opened }
      },
      throwAway: () => {},
      onWarning: (text) => void warnings.push(text),
    })
    await clock.advance(20_000)
    expect(indexing.status()).toMatchObject({
      state: 'off',
      reason: expect.stringContaining('disk is full'),
      sizeBytes: null,
    })
    expect(warnings).toEqual([expect.stringContaining('until it can be written again: database or disk is full')])
    isFull = false
    await clock.advance(6_000)
    expect(indexing.status()).toMatchObject({ state: 'current', reason: null, indexedSeq: 20 })
    index?.close()
    await clock.advance(20_000)
    expect(indexing.status()).toMatchObject({ state: 'current', indexedSeq: 20 })
    expect(warnings).toHaveLength(2)
    indexing.close()
    db.close()
  })

  test('that turns out to be damaged by a reader is told of, and events are found without it', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await withEvents(file, 0, 600)
    await indexAll(file)
    damage(`${file}-index`)
    const db = openReaderConnection(file)
    const told: string[] = []
    const handle = openIndexHandle(`${file}-index`, (reason) => void told.push(reason))
    expect(createEventList(db, handle, () => 0)({ limit: 100, q: 'needle4' }).data).toHaveLength(60)
    expect(told).toEqual([expect.stringMatching(/malformed|corrupt|not a database/)])
    handle.close()
    db.close()
  })
})

describe('the words of pruned events', () => {
  test('leave the index, those in the middle too, and what was counted stays', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await withEvents(file, 0, 700)
    await indexAll(file)
    const opened = await openFileStore(file, { clock: systemClock })
    const { index } = openIndex(`${file}-index`, opened.db)
    const indexer = createIndexer(opened.db, index)
    const found = (words: string) =>
      index.prepare<[string], number>('SELECT count(*) FROM word_0 WHERE word_0 MATCH ?').pluck().get(words)
    expect([found('needle3'), found('needle4')]).toEqual([70, 70])
    opened.db.exec('UPDATE event SET final_status = 4 WHERE seq <= 300 OR seq % 10 = 4')
    opened.db.exec('DELETE FROM body WHERE seq <= 300 OR seq % 10 = 4')
    for (let round = 0; round < 20; round += 1) indexer.prune(Date.now())
    expect([found('needle3'), found('needle4')]).toEqual([0, 40])
    expect(index.prepare('SELECT count(*) FROM live').pluck().get()).toBe(360)
    expect(index.prepare('SELECT sum(count) FROM tally').pluck().get()).toBe(700)
    index.close()
    const handle = openIndexHandle(`${file}-index`, () => {})
    expect(createEventList(opened.db, handle, () => 0)({ limit: 1_000, type }).data).toHaveLength(700)
    handle.close()
    opened.close()
  })
})

test('while counts per minute are thrown away that are no longer kept, all of their hour is still found', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  await withEvents(file, 0, 1)
  const opened = await openFileStore(file, { clock: systemClock })
  const { index } = openIndex(`${file}-index`, opened.db)
  const indexer = createIndexer(opened.db, index)
  const hour = 400_000
  index.prepare('INSERT INTO hour VALUES (?, 1, 60), (?, 61, 120)').run(hour, hour + 1)
  const put = index.prepare('INSERT INTO tally VALUES (?, 1, 1, ?, ?)')
  for (let minute = 0; minute < 120; minute++) put.run(hour * 60 + minute, minute + 1, minute + 1)
  const reads = createIndexReads(index)
  const minuteMs = 60_000
  const keptMs = 400 * 24 * 60 * minuteMs
  for (let minute = 0; minute < 180; minute++) {
    indexer.prune((hour * 60 + minute) * minuteMs + keptMs)
    for (const from of [0, 10, 59, 65, 119]) {
      expect(reads.lowestSince((hour * 60 + from) * minuteMs)).toBeLessThanOrEqual(from + 1)
      expect(reads.highestBefore((hour * 60 + from + 1) * minuteMs)).toBeGreaterThanOrEqual(from + 1)
    }
  }
  expect(index.prepare('SELECT count(*) FROM tally').pluck().get()).toBe(0)
  index.close()
  opened.close()
})

describe(`a list of ${indexedEvents} events`, () => {
  let dir: TempDir
  let db: Database
  let handle: IndexHandle

  beforeAll(async () => {
    dir = await createTempDir()
    const file = join(dir.path, 'inbox.db')
    await fillStore(file, indexedEvents, { runs: 'done', bodies: 'varied' })
    // Few as they are, they stand on both sides of where one part of the index ends and the next begins.
    change(file, `UPDATE run SET event_seq = event_seq + ${moved}`)
    for (const table of ['event', 'body']) {
      change(file, `UPDATE ${table} SET seq = -seq; UPDATE ${table} SET seq = ${moved} - seq`)
    }
    await indexAll(file)
    db = openReaderConnection(file)
    handle = openIndexHandle(`${file}-index`, () => {})
  }, 600_000)

  afterAll(async () => {
    handle.close()
    db.close()
    await dir[Symbol.asyncDispose]()
  })

  const moved = eventsPerShard - 1_000
  const now = Date.now()
  const queries: readonly Omit<EventQuery, 'limit'>[] = [
    { type },
    { network: 'base', type },
    { address: addressOf(5) },
    { q: 'whale' },
    { q: 'whale swap 0x', network: 'solana' },
    { from: now - 2_000_000, to: now - 1_000_000 },
    { from: now - 2_500_000, q: 'orac' },
    { status: 'done', q: 'bridge' },
  ]

  test.each(queries)('is the same with an index and without: %j', (query) => {
    const collect = (index: IndexHandle | null) => {
      const list = createEventList(db, index, () => 0)
      const all: number[] = []
      for (let cursor: string | null | undefined; cursor !== null && all.length < 3_000;) {
        const page = list({ ...query, limit: 500, ...(cursor !== undefined && { cursor }) })
        all.push(...page.data.map(({ seq }) => seq))
        cursor = page.nextCursor
      }
      return all
    }
    const startedAt = performance.now()
    const found = collect(handle)
    console.log(`${JSON.stringify(query)}: ${found.length} events in ${(performance.now() - startedAt).toFixed(1)} ms`)
    expect(found.length).toBeGreaterThan(0)
    expect(found).toEqual(collect(null))
  })

  test('comes back short, with a cursor that goes on, where it would take long', () => {
    const look = createEventList(db, handle, createSteps(60))
    const first = look({ limit: 10, status: 'unhandled' })
    expect(first).toMatchObject({ data: [], nextCursor: expect.any(String) })
    expect(first.searchedTo).toBeLessThan(now)
    const second = look({ limit: 10, status: 'unhandled', cursor: first.nextCursor ?? '' })
    expect(second.searchedTo).toBeLessThan(first.searchedTo ?? 0)
    const words = createEventList(db, handle, createSteps(60))({ limit: 10, q: 'nosuchword' })
    expect(words.data).toEqual([])
    expect(words.nextCursor).not.toBeNull()
  })
})

/** A clock that moves on by so much whenever it is looked at. */
function createSteps(ms: number): () => number {
  let at = 0
  return () => (at += ms)
}
