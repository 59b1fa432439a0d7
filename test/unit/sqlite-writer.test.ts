import Sqlite from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { InboxError } from '../../src/base/errors.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { classifyFailure, type Failure } from '../../src/inbox/sqlite/failure.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore, openMemoryStore } from '../../src/inbox/sqlite/open.ts'
import type { SqliteStore } from '../../src/inbox/sqlite/store.ts'
import { Writer, type WriterHealth } from '../../src/inbox/sqlite/writer.ts'
import { anEvent, ordered } from '../conformance/stage.ts'

const sqliteError = (code: string) => new Sqlite.SqliteError(`injected ${code}`, code)

/** A writer over a store in memory, whose transactions can be made to fail. */
async function aWriter() {
  const clock = createTestClock()
  const open = await openMemoryStore({ clock })
  const seen = { transactions: 0, commits: 0, health: [] as WriterHealth[], failures: [] as InboxError[] }
  let failWith: (() => unknown) | undefined
  let failClaimsWith: (() => unknown) | undefined
  let failDueWith: (() => unknown) | undefined
  const store: SqliteStore = {
    ...open.store,
    nextDueAt(claim) {
      const error = failDueWith?.()
      if (error !== undefined) throw error
      return open.store.nextDueAt(claim)
    },
    transact(claims, work) {
      seen.transactions += 1
      return open.store.transact(claims, () => {
        const result = work()
        const error = failWith?.() ?? (claims.length > 0 ? failClaimsWith?.() : undefined)
        if (error !== undefined) throw error
        return result
      })
    },
  }
  const writer = new Writer({
    store,
    clock,
    onHealth: (health) => seen.health.push(health),
    onFailure: (error) => seen.failures.push(error),
    onCommit() {
      seen.commits += 1
      return null
    },
  })
  const selectIds = open.db.prepare<[], { id: string }>('SELECT id FROM event ORDER BY seq')
  const ids = () => selectIds.all().map(({ id }) => id)
  return {
    writer,
    store: open.store,
    clock,
    seen,
    count: () => ids().length,
    ids,
    /** Lets transactions fail at their end, by what this gives, until it is called without. */
    fail: (by?: () => unknown) => (failWith = by),
    /** The same, for transactions that could hand out runs. */
    failClaims: (by: () => unknown) => (failClaimsWith = by),
    /** Lets the look for the next run that falls due fail, by what this gives, until it is called without. */
    failDue: (by?: () => unknown) => (failDueWith = by),
    db: open.db,
    accept: (...ids: string[]) => writer.run((s) => s.accept(ids.map((id) => anEvent(id)))),
    async [Symbol.asyncDispose]() {
      failWith = undefined
      await writer.close()
      open.close()
    },
  }
}

describe('group commit', () => {
  test('puts everything that came in one turn into one transaction', async () => {
    await using stage = await aWriter()
    const calls = Array.from({ length: 200 }, (_, n) => stage.accept(`e${n}`))
    const results = await Promise.all(calls)
    expect(results).toEqual(calls.map(() => ['accepted']))
    expect(stage.seen).toMatchObject({ transactions: 1, commits: 1 })
    expect(stage.count()).toBe(200)
  })

  test('answers nobody before the commit', async () => {
    await using stage = await aWriter()
    const answered: string[] = []
    const call = stage.accept('a').then(() => answered.push(`answer after ${stage.seen.commits}`))
    stage.fail(() => {
      answered.push('end of the transaction')
      return undefined
    })
    await call
    expect(answered).toEqual(['end of the transaction', 'answer after 1'])
  })

  test('takes what comes while it commits into the next transaction', async () => {
    await using stage = await aWriter()
    const first = stage.accept('a')
    const second = first.then(() => Promise.all([stage.accept('b'), stage.accept('c')]))
    await second
    expect(stage.seen.transactions).toBe(2)
  })
})

describe('a piece of work that throws', () => {
  test('hurts only itself', async () => {
    await using stage = await aWriter()
    const bad = stage.writer.run((store) => {
      store.accept([anEvent('half')])
      throw new TypeError('a bug')
    })
    const results = await Promise.allSettled([stage.accept('a'), bad, stage.accept('b')])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await expect(bad).rejects.toThrow('a bug')
    expect(stage.count()).toBe(2)
    expect(stage.writer.health.ok).toBe(true)
    expect(stage.seen.commits).toBe(2)
  })

  test('takes no number of the accept sequence', async () => {
    await using stage = await aWriter()
    const bad = stage.writer.run((store) => {
      store.accept([anEvent('half')])
      throw new TypeError('a bug')
    })
    await Promise.allSettled([bad, stage.accept('a', 'b')])
    expect(stage.store.lastSeq()).toBe(2)
  })

  test('keeps no claim waiting: what its neighbours made is given', async () => {
    await using stage = await aWriter()
    await stage.writer.run((store) => store.register([ordered]))
    const claim = stage.writer.claim({ handlers: ['ordered'], max: 10, owner: 'me', suspects: false })
    const bad = stage.writer.run(() => {
      throw new TypeError('a bug')
    })
    await Promise.allSettled([bad, stage.accept('a')])
    expect(await claim).toMatchObject([{ event: { id: 'a' }, attempt: 1 }])
  })
})

describe('a failed transaction', () => {
  test('turns no order around when the lock is lost while work is tried piece by piece', async () => {
    await using stage = await aWriter()
    const failures = [new TypeError('a bug'), undefined, sqliteError('SQLITE_BUSY'), undefined]
    stage.fail(() => failures.shift())
    const calls = Promise.all(['a', 'b', 'c', 'd'].map((id) => stage.accept(id)))
    await stage.clock.advance(100)
    expect(await calls).toEqual([['accepted'], ['accepted'], ['accepted'], ['accepted']])
    expect(stage.ids()).toEqual(['a', 'b', 'c', 'd'])
    expect(stage.seen.commits).toBe(2)
  })

  test.each<[string, Failure]>([
    ['SQLITE_FULL', 'full'],
    ['SQLITE_BUSY', 'busy'],
    ['SQLITE_BUSY_SNAPSHOT', 'busy'],
    ['SQLITE_IOERR_WRITE', 'failed'],
    ['SQLITE_IOERR_SHMSIZE', 'failed'],
    ['SQLITE_CANTOPEN', 'failed'],
    ['SQLITE_READONLY', 'failed'],
    ['SQLITE_NOMEM', 'failed'],
    ['SQLITE_IOERR_FSYNC', 'fatal'],
    ['SQLITE_IOERR_DIR_FSYNC', 'fatal'],
    ['SQLITE_CORRUPT', 'fatal'],
    ['SQLITE_CORRUPT_INDEX', 'fatal'],
    ['SQLITE_NOTADB', 'fatal'],
    ['SQLITE_CONSTRAINT_UNIQUE', 'bug'],
    ['SQLITE_TOOBIG', 'bug'],
  ])('of the code %s is %s', (code, failure) => {
    expect(classifyFailure(sqliteError(code))).toBe(failure)
  })

  test.each([
    ['SQLITE_FULL', 'store_full'],
    ['SQLITE_IOERR_WRITE', 'store_unavailable'],
  ])('of the code %s refuses all of its work with %s, and recovers by itself', async (code, expected) => {
    await using stage = await aWriter()
    stage.fail(() => sqliteError(code))
    const refused = [stage.accept('a'), stage.accept('b')]
    for (const call of refused) await expect(call).rejects.toMatchObject({ code: expected, exitCode: 75 })
    expect(stage.writer.health).toMatchObject({ ok: false, reason: expect.stringContaining('database') })
    expect(stage.count()).toBe(0)

    await stage.clock.advance(3_000)
    expect(stage.writer.health.ok).toBe(false)
    stage.fail()
    await stage.clock.advance(1_000)
    expect(stage.writer.health.ok).toBe(true)
    expect(stage.seen.health.map(({ ok }) => ok)).toEqual([false, true])
    expect(await stage.accept('a', 'b')).toEqual(['accepted', 'accepted'])
    expect(stage.store.lastSeq()).toBe(2)
    expect(stage.seen.failures).toEqual([])
  })

  test('after the clock was set back leaves it to the next one to heed that, and to note it', async () => {
    await using stage = await aWriter()
    await stage.writer.run((store) => store.register([ordered]))
    await stage.accept('a')
    await stage.clock.advance(-3_600_000)
    stage.fail(() => sqliteError('SQLITE_FULL'))
    await expect(stage.accept('b')).rejects.toMatchObject({ code: 'store_full' })
    stage.fail()
    const claim = stage.writer.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
    expect(await claim).toMatchObject([{ event: { id: 'a' } }])
    const seenAt = stage.db.prepare(`SELECT value FROM meta WHERE name = 'seen_at'`).get()
    expect(seenAt).toEqual({ value: stage.clock.now() })
  })

  test.each(['SQLITE_IOERR_FSYNC', 'SQLITE_CORRUPT'])(
    'of the code %s is the end: told once, everything rejects, claims come back empty',
    async (code) => {
      await using stage = await aWriter()
      await stage.writer.run((store) => store.register([ordered]))
      const claim = stage.writer.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
      stage.fail(() => sqliteError(code))
      const affected = stage.accept('a')
      await expect(affected).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(new RegExp(`last commit in doubt \\(${code}\\); restart the process`)),
      })
      expect(await claim).toEqual([])
      stage.fail()
      await expect(stage.accept('a')).rejects.toMatchObject({ code: 'store_unavailable' })
      await stage.clock.advance(10_000)
      expect(stage.writer.health.ok).toBe(false)
      expect(stage.seen.failures).toHaveLength(1)
      expect(stage.count()).toBe(0)
    },
  )
})

describe('while another connection holds the write lock', () => {
  let root: string
  let count = 0
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'inbox-writer-'))
  })
  afterAll(() => rmSync(root, { recursive: true }))

  async function anInbox() {
    const clock = createTestClock()
    const file = join(root, String(++count), 'inbox.db')
    const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
    const other = new Sqlite(file, { timeout: 0 })
    const closing = async () => {
      other.close()
      await inbox.close()
    }
    return { clock, inbox, other, [Symbol.asyncDispose]: closing }
  }

  /** Accepts an event of its own; `state` says how that was answered so far. */
  function accepting(inbox: Inbox, id: string): { readonly state: string } {
    const call = { state: 'waits' }
    inbox.accept([anEvent(id)]).then(
      ([result]) => (call.state = String(result)),
      (error: InboxError) => (call.state = error.code),
    )
    return call
  }

  test('work waits, and is done in order when the lock is given back', async () => {
    await using stage = await anInbox()
    stage.other.exec('BEGIN IMMEDIATE')
    const calls = ['a', 'b', 'c'].map((id) => accepting(stage.inbox, id))
    await stage.clock.advance(500)
    calls.push(accepting(stage.inbox, 'd'))
    await stage.clock.advance(100)
    expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'waits'))
    expect(stage.inbox.health().ok).toBe(true)
    stage.other.exec('COMMIT')
    await stage.clock.advance(20)
    expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'accepted'))
    const { data } = await stage.inbox.events({ limit: 10 })
    expect(data.map(({ id, seq }) => `${seq}${id}`)).toEqual(['4d', '3c', '2b', '1a'])
  })

  test('health goes after a second, and comes back with the lock', async () => {
    await using stage = await anInbox()
    stage.other.exec('BEGIN IMMEDIATE')
    const call = accepting(stage.inbox, 'a')
    await stage.clock.advance(1_500)
    expect(stage.inbox.health()).toMatchObject({ ok: false, reason: expect.stringContaining('SQLITE_BUSY') })
    stage.other.exec('ROLLBACK')
    await stage.clock.advance(20)
    expect(call.state).toBe('accepted')
    expect(stage.inbox.health().ok).toBe(true)
  })

  test('rejects work after some seconds without the lock, and accepts it again afterwards', async () => {
    await using stage = await anInbox()
    stage.other.exec('BEGIN IMMEDIATE')
    const early = accepting(stage.inbox, 'a')
    await stage.clock.advance(6_000)
    expect(early.state).toBe('store_unavailable')
    const later = accepting(stage.inbox, 'b')
    await stage.clock.advance(100)
    expect(later.state).toBe('store_unavailable')
    stage.other.exec('ROLLBACK')
    await stage.clock.advance(20)
    expect(stage.inbox.health().ok).toBe(true)
    expect(await stage.inbox.accept([anEvent('a'), anEvent('b')])).toEqual(['accepted', 'accepted'])
  })
})

describe('a claim that waits for a retry', () => {
  const boom = { name: 'Error', message: 'boom' }

  /** A run that is due for its retry, and a claim that waits for it, on a disk that refuses. */
  async function refused(stage: Awaited<ReturnType<typeof aWriter>>) {
    await stage.writer.run((store) => store.register([ordered]))
    await stage.accept('a')
    const request = { handlers: ['ordered'], max: 1, owner: 'me', suspects: false }
    const [lease] = await stage.writer.claim(request)
    const at = stage.clock.now() + 1_000
    const verdict = { kind: 'retry' as const, runId: lease!.runId, token: lease!.token, startedAt: 0, endedAt: 0, at }
    await stage.writer.run((store) => store.settle([{ ...verdict, error: boom }]))
    const claim = stage.writer.claim(request)
    await stage.clock.advance(0)
    stage.fail(() => sqliteError('SQLITE_FULL'))
    return { claim, at }
  }

  test('is tried again once a second, and no more often, while nothing can be written', async () => {
    await using stage = await aWriter()
    const { claim } = await refused(stage)
    await stage.clock.advance(1_000)
    const before = stage.seen.transactions
    await stage.clock.advance(10_000)
    expect(stage.seen.transactions - before).toBeLessThanOrEqual(11)
    stage.fail()
    await stage.clock.advance(1_000)
    expect(await claim).toMatchObject([{ attempt: 2 }])
  })

  test('outlives a disk that could not be read when it was to be looked after', async () => {
    await using stage = await aWriter()
    const { claim } = await refused(stage)
    stage.fail()
    stage.failDue(() => sqliteError('SQLITE_IOERR_READ'))
    expect(await stage.accept('b', 'c')).toEqual(['accepted', 'accepted'])
    expect(await claim).toMatchObject([{ event: { id: 'b' } }])
    const request = { handlers: ['ordered'], max: 2, owner: 'me', suspects: false }
    expect(await stage.writer.claim(request)).toMatchObject([{ event: { id: 'c' } }])
    const next = stage.writer.claim(request)
    await stage.clock.advance(0)
    expect(stage.writer.health.ok).toBe(false)
    stage.failDue()
    await stage.clock.advance(2_000)
    expect(stage.writer.health.ok).toBe(true)
    expect(await next).toMatchObject([{ event: { id: 'a' }, attempt: 2 }])
    expect(stage.seen.failures).toEqual([])
  })

  test('is looked after every 5 s, because the clock can be set', async () => {
    await using stage = await aWriter()
    const { claim } = await refused(stage)
    stage.fail()
    await stage.clock.advance(-3_600_000)
    const looked = stage.clock.nextTimerAt()
    expect(looked).not.toBeNull()
    await stage.clock.advance(looked! - stage.clock.now())
    expect(await claim).toMatchObject([{ attempt: 2 }])
  })
})

describe('the handing out of runs', () => {
  test('fails the writer with the reason if leasing runs throws', async () => {
    await using stage = await aWriter()
    await stage.writer.run((store) => store.register([ordered]))
    const waiting = stage.writer.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
    stage.failClaims(() => new TypeError('a bug'))
    expect(await stage.accept('a')).toEqual(['accepted'])
    expect(await waiting).toEqual([])
    expect(stage.seen.failures).toMatchObject([{ code: 'store_unavailable', message: 'leasing runs failed: a bug' }])
  })

  test('buries very many of them without an end to the writer', async () => {
    await using stage = await aWriter()
    await stage.writer.run((store) => store.register([ordered]))
    await stage.accept(...Array.from({ length: 15_000 }, (_, n) => `e${n}`))
    stage.db.exec('DELETE FROM body')
    const claim = stage.writer.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
    const dead = stage.db.prepare<[], { count: number }>('SELECT count(*) AS count FROM run WHERE state = 5')
    while ((dead.get()?.count ?? 0) < 15_000) await stage.clock.advance(1)
    await stage.accept('whole')
    expect(await claim).toMatchObject([{ event: { id: 'whole' } }])
    expect(stage.seen.failures).toEqual([])
  })
})
