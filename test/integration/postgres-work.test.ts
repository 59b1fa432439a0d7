import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import { maxCrashes } from '../../src/inbox/port.ts'
import type { Database } from '../../src/inbox/postgres/database.ts'
import { anEvent, boom, idsOf, ordered } from '../conformance/stage.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { done, openTimedStage, type WorkStage } from './postgres-work-stage.ts'

let server: PostgresInboxes

beforeAll(async () => {
  server = await startPostgresInboxes()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const gone = () => new InboxError('store_unavailable', 'the connection broke')

/** Answers of statements that this matches do not come; `late` holds the statement itself back until it is let go. */
function losing(pattern: RegExp) {
  const isLost = { once: false, late: undefined as Promise<void> | undefined }
  const finished: Promise<unknown>[] = []
  const between = (db: Database): Database => ({
    ...db,
    async query<R>(text: string, values?: readonly unknown[]): Promise<R[]> {
      if (!isLost.once || !pattern.test(text)) return db.query<R>(text, values)
      isLost.once = false
      const under = (isLost.late ?? Promise.resolve()).then(() => db.query<R>(text, values))
      finished.push(under)
      if (isLost.late === undefined) await under
      throw gone()
    },
  })
  return { between, isLost, finished: () => Promise.all(finished) }
}

/** All that is stored of runs that are being worked on. */
function running({ db }: WorkStage): Promise<{ owner: string }[]> {
  return db.query(`SELECT owner FROM inbox.run WHERE state = 3`)
}

describe('a claim whose answer is lost', () => {
  test.each([
    ['the claim itself', /inbox\.claim\(/],
    ['what the leases carry', /inbox\.read_leases\(/],
  ])('on the way of %s leaves its runs to the next claim, uncharged', async (_, pattern) => {
    const { between, isLost } = losing(pattern)
    await using stage = await openTimedStage(await server.createDatabase(), [ordered], between)
    await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
    isLost.once = true
    const claim = stage.claim()
    await until(stage, () => stage.warnings.length === 1)
    expect(stage.warnings[0]).toContain('the connection broke')
    await stage.clock.advance(500)
    expect(await claim).toMatchObject([{ event: { id: 'a' }, attempt: 1, crashed: 0, token: 2 }])
    expect(await running(stage)).toEqual([{ owner: 'replica worker' }])
  })

  test('that completes late also releases its runs, even without further claims', async () => {
    const { between, isLost, finished } = losing(/inbox\.claim\(/)
    await using stage = await openTimedStage(await server.createDatabase(), [ordered], between)
    const { promise, resolve } = Promise.withResolvers<void>()
    Object.assign(isLost, { once: true, late: promise })
    const claim = stage.claim({ owner: 'x' })
    await until(stage, () => stage.warnings.length === 1)
    await stage.work.retire('x')
    expect(await claim).toEqual([])
    await stage.accept(anEvent('a'))
    resolve()
    await finished()
    expect(await stage.run('a')).toMatchObject({ state: 3, owner: 'replica x' })
    await stage.clock.advance(1_000)
    await until(stage, async () => (await stage.run('a')).state === 1)
    expect(await stage.run('a')).toMatchObject({ attempt: 0, owner: null })
  })

  test('gives its runs back before its owner is reaped: what nobody had did not crash', async () => {
    const { between, isLost } = losing(/inbox\.claim\(/)
    await using stage = await openTimedStage(await server.createDatabase(), [ordered], between)
    await stage.accept(anEvent('a'))
    isLost.once = true
    const claim = stage.claim({ owner: 'x' })
    await until(stage, () => stage.warnings.length === 1)
    expect(await stage.work.reap('x')).toEqual({ runs: 0, dead: [] })
    expect(await claim).toEqual([])
    expect(await stage.run('a')).toMatchObject({ state: 1, attempt: 0, crashed: 0 })
  })
})

describe('an owner that ends while a claim of it is served', () => {
  /** A claim that has its runs, but not its answer, until `letGo`. */
  async function served() {
    const { promise, resolve } = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const between = (db: Database): Database => ({
      ...db,
      async query<R>(text: string, values?: readonly unknown[]): Promise<R[]> {
        if (!text.includes('inbox.read_leases(')) return db.query<R>(text, values)
        reached.resolve()
        await promise
        return db.query<R>(text, values)
      },
    })
    const stage = await openTimedStage(await server.createDatabase(), [ordered], between)
    await stage.accept(anEvent('a'))
    const claim = stage.claim({ owner: 'x' })
    await reached.promise
    return { stage, claim, letGo: resolve }
  }

  test('gets what it gets before it is retired', async () => {
    const { stage, claim, letGo } = await served()
    await using _ = stage
    let isRetired = false
    const retired = stage.work.retire('x').then(() => (isRetired = true))
    expect(isRetired).toBe(false)
    letGo()
    expect(idsOf(await claim)).toEqual(['a'])
    await retired
  })

  test('gets nothing if it is reaped, and its run is not charged', async () => {
    const { stage, claim, letGo } = await served()
    await using _ = stage
    const reaped = stage.work.reap('x')
    letGo()
    expect(await claim).toEqual([])
    expect(await reaped).toEqual({ runs: 0, dead: [] })
    expect(await stage.run('a')).toMatchObject({ state: 1, attempt: 0, crashed: 0 })
  })

  test('gets nothing if the inbox is closed, and its run is given back', async () => {
    const { stage, claim, letGo } = await served()
    await using _ = stage
    const closed = stage.work.close()
    letGo()
    expect(await claim).toEqual([])
    await closed
    expect(await stage.run('a')).toMatchObject({ state: 1, attempt: 0 })
  })
})

describe('a claim', () => {
  test('buries a run whose body is gone, and goes on behind it', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }), anEvent('c', { key: 'k' }))
    await stage.db.query(`DELETE FROM inbox.body WHERE seq = 1`)
    await stage.db.query(`DELETE FROM inbox.event WHERE seq = 2`)
    expect(idsOf(await stage.claim())).toEqual(['c'])
    const died = await stage.db
      .query(`SELECT r.event_seq AS seq, r.error_group AS "group", a.error_name AS name FROM inbox.run r
      JOIN inbox.attempt a ON a.run_id = r.id WHERE r.state = 5 ORDER BY r.id`)
    const group = expect.stringMatching(/^body_missing: the event/)
    expect(died).toEqual([1, 2].map((seq) => ({ seq, group, name: 'body_missing' })))
  })

  test('gets up to 4 MiB of bodies plus the one that exceeds it; the rest is not charged', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    const raw = new Uint8Array(1_500_000)
    await stage.accept(...['a', 'b', 'c', 'd', 'e'].map((id) => anEvent(id, { raw })))
    expect(idsOf(await stage.claim())).toEqual(['a', 'b', 'c'])
    expect(await stage.run('d')).toMatchObject({ state: 1, attempt: 0 })
    expect(await stage.claim()).toMatchObject([{ attempt: 1, token: 2 }, { attempt: 1 }])
  })

  test('waits for the next run that is due beside one that somebody else is just taking', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    await stage.accept(anEvent('a'))
    await using other = await openOther(stage)
    // As another claim would.
    await other.query('SELECT 1 FROM inbox.run FOR UPDATE')
    const claim = stage.claim()
    await until(stage, () => stage.clock.nextTimerAt() === stage.clock.now() + 20)
    await other.query('ROLLBACK')
    await stage.clock.advance(20)
    expect(idsOf(await claim)).toEqual(['a'])
  })
})

describe('reports', () => {
  test('of a cancelled replay are not retried, except outbox items', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    const ids = ['retried', 'snoozed', 'released', 'conflicting', 'crashed', 'item']
    await stage.accept(...ids.map((id) => anEvent(id)))
    await stage.db
      .query(`INSERT INTO inbox.replay (filter, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
      VALUES ('{}', true, 0, 0, 1, 6, 6, 6, 0)`)
    await stage.db.query(`UPDATE inbox.run SET replay_id = 1`)
    await stage.db.query(`INSERT INTO inbox.item SELECT id, 'null', 'i' FROM inbox.run WHERE event_seq = 6`)
    const leases = await stage.claim({ max: 4 })
    const crashed = await stage.claim({ max: 1, owner: 'x' })
    const [item] = await stage.claim({ max: 1 })
    expect(crashed).toMatchObject([{ replay: { id: 1, newKeys: true }, item: null }])
    expect(item?.item).toEqual({ payload: 'null', idempotencyKey: 'i' })
    await stage.db.query(`UPDATE inbox.replay SET state = 2`)
    const [retried, snoozed, released, conflicting] = leases
    const times = { startedAt: 1, endedAt: 2 }
    const reads = [{ query: { key: 'n' }, found: [{ key: 'n', version: 1 }] }]
    const results = await stage.work.settle([
      { ...retried!, ...times, kind: 'retry', at: 3, error: boom },
      { ...snoozed!, ...times, kind: 'snooze', at: 3 },
      done(conflicting!, { reads }),
      { ...item!, ...times, kind: 'retry', at: 3, error: boom },
    ])
    expect(results).toEqual(['applied', 'applied', 'conflict', 'applied'])
    await stage.work.release([released!])
    expect(await stage.work.reap('x')).toEqual({ runs: 1, dead: [] })
    const rows = await Promise.all(ids.map((id) => stage.run(id)))
    expect(rows.map(({ state, attempt, crashed: crashes }) => [state, attempt, crashes])).toEqual([
      [10, 1, 0],
      [10, 0, 0],
      [10, 0, 0],
      [10, 0, 0],
      [10, 1, 0],
      [1, 1, 0],
    ])
  })

  test('of which two are on one lease: the first one counts, also if it is in conflict', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    await stage.accept(anEvent('a'), anEvent('b'))
    const [a, b] = await stage.claim()
    const reads = [{ query: { key: 'n' }, found: [{ key: 'n', version: 1 }] }]
    const write = { writes: [{ key: 'n', value: '1', expiresAt: null }] }
    expect(await stage.work.settle([done(b!), done(a!, { reads }), done(a!), done(b!, write)])).toEqual([
      'applied',
      'conflict',
      'stale',
      'stale',
    ])
    expect(await stage.work.readState('ordered', { key: 'n' })).toEqual([])
  })

  test('keep text that PostgreSQL has no place for: U+0000, and halves of characters', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    await stage.accept(anEvent('a'), anEvent('b'))
    const [a, b] = await stage.claim()
    const odd = '\0 \u0001 \ud800 \u{1f600}'
    const long = `${'x'.repeat(1_999)}\u{1f600}`
    const [reads, key] = [[{ query: { prefix: '\u0001', after: null, limit: 9 }, found: [] }], '\u0001\u0001']
    const items = [{ sink: 'mail', key: odd, payload: JSON.stringify(odd), idempotencyKey: odd }]
    const results = await stage.work.settle([
      { ...a!, startedAt: 1, endedAt: 2, kind: 'dead', error: { name: odd, message: long, stack: odd } },
      done(b!, { reads, writes: [{ key, value: JSON.stringify(odd), expiresAt: null }], items }),
    ])
    expect(results).toEqual(['applied', 'applied'])
    expect(await stage.work.readState('ordered', { prefix: '\u0001', after: '\u0001', limit: 1 })).toMatchObject([
      { key, value: JSON.stringify(odd) },
    ])
    const [mail] = await stage.claim({ handlers: ['mail'] })
    expect(mail?.item).toEqual({ payload: JSON.stringify(odd), idempotencyKey: odd.toWellFormed() })
  })
})

describe('whoever ends the first run of a key waits for one that is just getting in line behind it', () => {
  const lane = (handler: string) =>
    `SELECT 1 FROM inbox.lane WHERE id = inbox.lane_of((SELECT id FROM inbox.handler WHERE name = '${handler}'), 0, 'k') FOR NO KEY UPDATE`

  /** Another one has seen that the first run is open, and goes on only once `work` waits for it, or has not waited. */
  async function overtake(stage: WorkStage, work: () => Promise<unknown>): Promise<void> {
    await using other = await openOther(stage)
    await other.query(lane('ordered'))
    let isOver = false
    const working = work().then(() => (isOver = true))
    await until(stage, async () => isOver || (await isAnybodyWaiting(stage)))
    await other.query(
      `INSERT INTO inbox.event (seq, id, type, created_at, received_at, secret_label) VALUES (9, 'next', 't', '', 0, '')`,
    )
    await other.query(`INSERT INTO inbox.body VALUES (9, 0, '')`)
    await other.query(`INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
      SELECT 99, 9, r.handler_id, 0, 'k', 0, 0 FROM inbox.run r`)
    await other.query('COMMIT')
    await working
    expect(idsOf(await stage.claim())).toEqual(['next'])
  }

  test('with a report', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    await stage.accept(anEvent('a', { key: 'k' }))
    const [a] = await stage.claim()
    await overtake(stage, () => stage.work.settle([done(a!)]))
  })

  test('when its owner is reaped', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered])
    await stage.accept(anEvent('a', { key: 'k' }))
    await stage.db.query(`UPDATE inbox.run SET crashed = ${maxCrashes - 1}`)
    await stage.claim({ owner: 'x' })
    await overtake(stage, () => stage.work.reap('x'))
  })

  test('and whoever leaves something in the outbox waits for one that is just ending the run before it', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [
      ordered,
      { ...ordered, name: 'sink', types: [] },
    ])
    await stage.accept(anEvent('a'), anEvent('b'))
    const [a, b] = await stage.claim()
    const item = (idempotencyKey: string) => ({ items: [{ sink: 'sink', key: 'k', payload: '1', idempotencyKey }] })
    await stage.work.settle([done(a!, item('first'))])
    await using other = await openOther(stage)
    await other.query(lane('sink'))
    let isOver = false
    const settling = stage.work.settle([done(b!, item('second'))]).then(() => (isOver = true))
    await until(stage, async () => isOver || (await isAnybodyWaiting(stage)))
    await other.query(
      `UPDATE inbox.run SET state = 6 WHERE handler_id = (SELECT id FROM inbox.handler WHERE name = 'sink')`,
    )
    await other.query('COMMIT')
    await settling
    expect(await stage.claim({ handlers: ['sink'] })).toMatchObject([{ item: { idempotencyKey: 'second' } }])
  })
})

/** Whether anybody waits for a lock in the database. */
async function isAnybodyWaiting({ db }: WorkStage): Promise<boolean> {
  const [row] = await db.query<{ count: number }>(`SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`)
  return (row?.count ?? 0) > 0
}

describe('what has expired', () => {
  test('is purged a few at a time, of all handlers, when something is written that will expire', async () => {
    await using stage = await openTimedStage(await server.createDatabase(), [ordered, { ...ordered, name: 'second' }])
    await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
    const [a, b, c] = await stage.claim()
    const [second] = await stage.claim({ handlers: ['second'] })
    const expiring = (key: string) => ({ key, value: '1', expiresAt: stage.clock.now() + 1_000 })
    await stage.work.settle([done(second!, { writes: [expiring('s')] })])
    await stage.work.settle([done(a!, { writes: ['k1', 'k2', 'k3', 'k4', 'k5'].map(expiring) })])
    await stage.clock.advance(1_000)
    const keys = async () =>
      (await stage.db.query<{ key: string }>(`SELECT key FROM inbox.state ORDER BY key`)).map(({ key }) => key)
    expect(await stage.work.settle([done(b!, { writes: [{ ...expiring('k1'), expiresAt: null }] })])).toEqual([
      'applied',
    ])
    expect(await keys()).toHaveLength(6)
    await stage.work.settle([done(c!, { writes: [expiring('l')] })])
    const left = await keys()
    expect(left).toHaveLength(3)
    expect(left).toEqual(expect.arrayContaining(['k1', 'l']))
  })
})

interface Other extends AsyncDisposable {
  query(text: string, values?: unknown[]): Promise<unknown>
}

/** Somebody else in the middle of a transaction. */
async function openOther({ url }: WorkStage): Promise<Other> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN')
  return { query: (text, values) => client.query(text, values), [Symbol.asyncDispose]: () => client.end() }
}

/** Until something that others do is so; each time around the database is asked once, so that they go on. */
async function until({ db }: WorkStage, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let n = 0; n < 2_000; n += 1) {
    if (await isSo()) return
    await db.query('SELECT 1')
  }
  throw new Error(`it did not become so: ${String(isSo)}`)
}
