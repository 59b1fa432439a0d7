import Sqlite from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { InboxError } from '../../src/base/errors.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { classifyFailure, type Failure } from '../../src/inbox/sqlite/failure.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore, openMemoryStore } from '../../src/inbox/sqlite/open.ts'
import type { SqliteStore } from '../../src/inbox/sqlite/store.ts'
import { Writer, type WriterHealth } from '../../src/inbox/sqlite/writer.ts'
import { anEvent, ordered } from '../conformance/stage.ts'
import { databaseFiles } from '../support/sqlite-files.ts'

const { newDatabaseFile } = databaseFiles()

const sqliteError = (code: string) => new Sqlite.SqliteError(`injected ${code}`, code)

/** A writer over a store in memory, whose transactions can fail. */
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
    /** Transactions throw the returned error at their end. Without an argument, they succeed again. */
    fail: (by?: () => unknown) => (failWith = by),
    /** The same for transactions with waiting claims. */
    failClaims: (by: () => unknown) => (failClaimsWith = by),
    /** The same for the query of the next due run. */
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

test('commits all calls of one turn in one transaction', async () => {
  await using stage = await aWriter()
  const calls = Array.from({ length: 200 }, (_, n) => stage.accept(`e${n}`))
  const results = await Promise.all(calls)
  expect(results).toEqual(calls.map(() => ['accepted']))
  expect(stage.seen).toMatchObject({ transactions: 1, commits: 1 })
  expect(stage.count()).toBe(200)
})

test('work that throws fails alone and uses no accept-sequence number', async () => {
  await using stage = await aWriter()
  const bad = stage.writer.run((store) => {
    store.accept([anEvent('half')])
    throw new TypeError('a bug')
  })
  const results = await Promise.allSettled([stage.accept('a'), bad, stage.accept('b')])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await expect(bad).rejects.toThrow('a bug')
  expect(stage.count()).toBe(2)
  expect(stage.store.lastSeq()).toBe(2)
  expect(stage.writer.health.ok).toBe(true)
  expect(stage.seen.commits).toBe(2)
})

test('work that throws does not keep claims from the runs of other work', async () => {
  await using stage = await aWriter()
  await stage.writer.run((store) => store.register([ordered]))
  const claim = stage.writer.claim({ handlers: ['ordered'], max: 10, owner: 'me', suspects: false })
  const bad = stage.writer.run(() => {
    throw new TypeError('a bug')
  })
  await Promise.allSettled([bad, stage.accept('a')])
  expect(await claim).toMatchObject([{ event: { id: 'a' }, attempt: 1 }])
})

describe('a failed transaction', () => {
  test('keeps the order when the lock is lost during single retries', async () => {
    await using stage = await aWriter()
    const failures = [new TypeError('a bug'), undefined, sqliteError('SQLITE_BUSY'), undefined]
    stage.fail(() => failures.shift())
    const calls = Promise.all(['a', 'b', 'c', 'd'].map((id) => stage.accept(id)))
    await stage.clock.advance(100)
    expect(await calls).toEqual([['accepted'], ['accepted'], ['accepted'], ['accepted']])
    expect(stage.ids()).toEqual(['a', 'b', 'c', 'd'])
    expect(stage.seen.commits).toBe(2)
  })

  test('is classified by its code', () => {
    const codes: Readonly<Record<Failure, readonly string[]>> = {
      full: ['FULL'],
      busy: ['BUSY', 'BUSY_SNAPSHOT'],
      failed: ['IOERR_WRITE', 'IOERR_SHMSIZE', 'CANTOPEN', 'READONLY', 'NOMEM'],
      fatal: ['IOERR_FSYNC', 'IOERR_DIR_FSYNC', 'CORRUPT', 'CORRUPT_INDEX', 'NOTADB'],
      bug: ['CONSTRAINT_UNIQUE', 'TOOBIG'],
    }
    for (const [failure, names] of Object.entries(codes)) {
      for (const name of names) expect(classifyFailure(sqliteError(`SQLITE_${name}`)), name).toBe(failure)
    }
  })

  test.each([
    ['SQLITE_FULL', 'store_full'],
    ['SQLITE_IOERR_WRITE', 'store_unavailable'],
  ])('with %s rejects its work with %s, and recovers by itself', async (code, expected) => {
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

  test('leaves the handling of a clock set back to the next one', async () => {
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
    'with %s fails the writer once: calls reject, claims resolve empty',
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

async function anInbox() {
  const clock = createTestClock()
  const file = newDatabaseFile()
  const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  const other = new Sqlite(file, { timeout: 0 })
  const closing = async () => {
    other.close()
    await inbox.close()
  }
  return { clock, inbox, other, [Symbol.asyncDispose]: closing }
}

/** Accepts an event. `state`: its result so far. */
function accepting(inbox: Inbox, id: string): { readonly state: string } {
  const call = { state: 'pending' }
  inbox.accept([anEvent(id)]).then(
    ([result]) => (call.state = String(result)),
    (error: InboxError) => (call.state = error.code),
  )
  return call
}

test('while another connection writes, work waits, and runs in order once the lock is released', async () => {
  await using stage = await anInbox()
  stage.other.exec('BEGIN IMMEDIATE')
  const calls = ['a', 'b', 'c'].map((id) => accepting(stage.inbox, id))
  await stage.clock.advance(500)
  calls.push(accepting(stage.inbox, 'd'))
  await stage.clock.advance(100)
  expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'pending'))
  expect(stage.inbox.health().ok).toBe(true)
  stage.other.exec('COMMIT')
  await stage.clock.advance(20)
  expect(calls.map(({ state }) => state)).toEqual(calls.map(() => 'accepted'))
  const { data } = await stage.inbox.events({ limit: 10 })
  expect(data.map(({ id, seq }) => `${seq}${id}`)).toEqual(['4d', '3c', '2b', '1a'])
})

test('while another connection writes, health fails after a second, work is rejected after 5 s, and both recover', async () => {
  await using stage = await anInbox()
  stage.other.exec('BEGIN IMMEDIATE')
  const early = accepting(stage.inbox, 'a')
  await stage.clock.advance(1_500)
  expect(early.state).toBe('pending')
  expect(stage.inbox.health()).toMatchObject({ ok: false, reason: expect.stringContaining('SQLITE_BUSY') })
  await stage.clock.advance(4_500)
  expect(early.state).toBe('store_unavailable')
  const later = accepting(stage.inbox, 'b')
  await stage.clock.advance(100)
  expect(later.state).toBe('store_unavailable')
  stage.other.exec('ROLLBACK')
  await stage.clock.advance(20)
  expect(stage.inbox.health().ok).toBe(true)
  expect(await stage.inbox.accept([anEvent('a'), anEvent('b')])).toEqual(['accepted', 'accepted'])
})

const boom = { name: 'Error', message: 'boom' }

/** A claim that waits for a retry, while commits fail. */
async function waitingClaim(stage: Awaited<ReturnType<typeof aWriter>>) {
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

test('a claim that waits for a retry is retried once a second while commits fail', async () => {
  await using stage = await aWriter()
  const { claim } = await waitingClaim(stage)
  await stage.clock.advance(1_000)
  const before = stage.seen.transactions
  await stage.clock.advance(10_000)
  expect(stage.seen.transactions - before).toBeLessThanOrEqual(11)
  stage.fail()
  await stage.clock.advance(1_000)
  expect(await claim).toMatchObject([{ attempt: 2 }])
})

test('a claim that waits for a retry checks the clock every 5 s', async () => {
  await using stage = await aWriter()
  const { claim } = await waitingClaim(stage)
  stage.fail()
  await stage.clock.advance(-3_600_000)
  const checkAt = stage.clock.nextTimerAt()
  expect(checkAt).not.toBeNull()
  await stage.clock.advance(checkAt! - stage.clock.now())
  expect(await claim).toMatchObject([{ attempt: 2 }])
})

test('a lease that throws fails the writer with the reason', async () => {
  await using stage = await aWriter()
  await stage.writer.run((store) => store.register([ordered]))
  const waiting = stage.writer.claim({ handlers: ['ordered'], max: 1, owner: 'me', suspects: false })
  stage.failClaims(() => new TypeError('a bug'))
  expect(await stage.accept('a')).toEqual(['accepted'])
  expect(await waiting).toEqual([])
  expect(stage.seen.failures).toMatchObject([{ code: 'store_unavailable', message: 'leasing runs failed: a bug' }])
})

test('a claim makes dead letters of many runs without a body in several transactions', async () => {
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

test('the revision changes with what queries return, and not with upkeep', async () => {
  const clock = createTestClock()
  const inbox = createLocalSqliteInbox(await openMemoryStore({ clock }), { clock })
  await inbox.startServing()
  const lastRevision = { value: await inbox.revision() }
  const hasChanged = async (work: () => Promise<unknown>) => {
    await work()
    const before = lastRevision.value
    lastRevision.value = await inbox.revision()
    return lastRevision.value !== before
  }
  const day = 24 * 3_600_000
  const prune = () => inbox.prune({ receivedBefore: clock.now() - day, maxBytes: 1 })
  expect(await hasChanged(prune)).toBe(false)
  expect(await hasChanged(() => inbox.register([ordered]))).toBe(true)
  expect(await hasChanged(() => inbox.accept([anEvent('a')]))).toBe(true)
  const claim = { handlers: [ordered.name], max: 1, owner: 'me', suspects: false }
  let leases: Awaited<ReturnType<typeof inbox.claim>> = []
  expect(await hasChanged(async () => (leases = await inbox.claim(claim)))).toBe(true)
  const [{ runId, token } = { runId: 0, token: 0 }] = leases
  const done = { kind: 'done', runId, token, startedAt: 0, endedAt: 0 } as const
  expect(await hasChanged(() => inbox.settle([done]))).toBe(true)
  expect(await hasChanged(() => inbox.stats())).toBe(false)
  expect(await hasChanged(() => inbox.setPaused(null, true))).toBe(true)
  await clock.advance(2 * day)
  expect(await hasChanged(prune)).toBe(true)
  await inbox.close()
})
