import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { InboxError } from '../../src/base/errors.ts'
import { type Lease, maxCrashes } from '../../src/inbox/port.ts'
import type { Database } from '../../src/inbox/postgres/database.ts'
import { anEvent, idsOf, ordered } from '../conformance/stage.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { done, openStage, openTimedStage, runState, type Stage } from './postgres-stage.ts'

const server = usePostgres()
const sink = { ...ordered, name: 'sink', types: [] }
const open = async (between?: (db: Database) => Database) =>
  openTimedStage(await server.createDatabase(), [ordered, sink], between)

/** Loses the response of the next statement that matches, once `next` is set. `hold`: delays the statement itself. */
function losing(pattern: RegExp) {
  const loss = { next: false, hold: undefined as Promise<void> | undefined }
  const finished: Promise<unknown>[] = []
  const statements: string[] = []
  const between = (db: Database): Database => ({
    ...db,
    async query<R>(text: string, values?: readonly unknown[]): Promise<R[]> {
      statements.push(text)
      if (!loss.next || !pattern.test(text)) return db.query<R>(text, values)
      loss.next = false
      const running = (loss.hold ?? Promise.resolve()).then(() => db.query<R>(text, values))
      finished.push(running)
      if (loss.hold === undefined) await running
      throw new InboxError('store_unavailable', 'the connection broke')
    },
  })
  return { between, loss, statements, finished: () => Promise.all(finished) }
}

const warned = (stage: Stage) => until(() => stage.warnings.length === 1, 'it warns')

describe('a claim whose response is lost', () => {
  test.each([/inbox\.claim\(/, /inbox\.read_leases\(/])(
    'leaves its runs to the next claim, without charging an attempt: %s',
    async (pattern) => {
      const { between, loss } = losing(pattern)
      await using stage = await open(between)
      await stage.acceptNew(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
      loss.next = true
      const claim = stage.claim()
      await warned(stage)
      expect(stage.warnings[0]).toContain('the connection broke')
      await stage.clock.advance(500)
      expect(await claim).toMatchObject([{ event: { id: 'a' }, attempt: 1, crashed: 0, token: 2 }])
      expect(await stage.runs('r.state = 3')).toMatchObject([{ owner: 'replica worker' }])
    },
  )

  test('releases its runs also if it completes late and no claim follows', async () => {
    const { between, loss, statements, finished } = losing(/inbox\.claim\(/)
    await using stage = await open(between)
    const { promise, resolve } = Promise.withResolvers<void>()
    Object.assign(loss, { next: true, hold: promise })
    const claim = stage.claim({ owner: 'x' })
    await warned(stage)
    await stage.work.retire('x')
    expect(await claim).toEqual([])
    await stage.acceptNew(anEvent('a'))
    await stage.clock.advance(1_000)
    await until(() => statements.some((text) => text.includes('release_claims')), 'it looks in vain')
    resolve()
    await finished()
    expect(await stage.run('a')).toMatchObject({ state: runState.running, owner: 'replica x' })
    await until(async () => {
      await stage.clock.advance(1_000)
      return (await stage.run('a')).state === runState.ready
    }, 'it is released')
    expect(await stage.run('a')).toMatchObject({ attempt: 0, owner: null })
  })

  test('releases its runs before its owner is reaped, so they count as no crash', async () => {
    const { between, loss } = losing(/inbox\.claim\(/)
    await using stage = await open(between)
    await stage.acceptNew(anEvent('a'))
    loss.next = true
    const claim = stage.claim({ owner: 'x' })
    await warned(stage)
    expect(await stage.work.reap('x')).toEqual({ runs: 0, dead: [] })
    expect(await claim).toEqual([])
    expect(await stage.run('a')).toMatchObject({ state: runState.ready, attempt: 0, crashed: 0 })
  })
})

describe('a claim in progress', () => {
  /** Ends its owner while the claim has its runs, but not its leases. Returns the leases and the run afterwards. */
  async function endDuring(end: (stage: Stage) => Promise<unknown>) {
    const held = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    await using stage = await open((db) => ({
      ...db,
      async query(text, values) {
        if (text.includes('inbox.read_leases(')) {
          reached.resolve()
          await held.promise
        }
        return db.query(text, values)
      },
    }))
    await stage.acceptNew(anEvent('a'))
    const claim = stage.claim({ owner: 'x' })
    await reached.promise
    let hasEnded = false
    const ending = end(stage).then(() => (hasEnded = true))
    expect(hasEnded).toBe(false)
    held.resolve()
    const ids = idsOf(await claim)
    await ending
    return { ids, run: await stage.run('a') }
  }

  test('gets its leases before its owner is retired', async () => {
    const { ids } = await endDuring((stage) => stage.work.retire('x'))
    expect(ids).toEqual(['a'])
  })

  test.each([
    ['its owner is reaped', (stage: Stage) => stage.work.reap('x')],
    ['the inbox closes', (stage: Stage) => stage.work.close()],
  ])('gets nothing if %s, and its run is not charged', async (_, end) => {
    const { ids, run } = await endDuring(end)
    expect(ids).toEqual([])
    expect(run).toMatchObject({ state: runState.ready, attempt: 0, crashed: 0 })
  })
})

describe('a claim', () => {
  test('makes a run without body or event a dead letter, and gets the next one', async () => {
    await using stage = await open()
    await stage.acceptNew(...['a', 'b', 'c'].map((id) => anEvent(id, { key: 'k' })))
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
    await using stage = await open()
    const raw = new Uint8Array(1_500_000)
    await stage.acceptNew(...['a', 'b', 'c', 'd', 'e'].map((id) => anEvent(id, { raw })))
    expect(idsOf(await stage.claim())).toEqual(['a', 'b', 'c'])
    expect(await stage.run('d')).toMatchObject({ state: runState.ready, attempt: 0 })
    expect(await stage.claim()).toMatchObject([{ attempt: 1, token: 2 }, { attempt: 1 }])
  })

  test('waits 20 ms for a due run that another transaction has locked', async () => {
    await using stage = await open()
    await stage.acceptNew(anEvent('a'))
    await using other = await begin(stage)
    await other.query('SELECT 1 FROM inbox.run FOR UPDATE')
    const claim = stage.claim()
    await until(() => stage.clock.nextTimerAt() === stage.clock.now() + 20, 'it waits')
    await other.query('ROLLBACK')
    await stage.clock.advance(20)
    expect(idsOf(await claim)).toEqual(['a'])
  })
})

describe('settle', () => {
  test('collects concurrent calls into few statements', async () => {
    const { between, statements } = losing(/never/)
    await using stage = await open(between)
    await stage.acceptNew(...Array.from({ length: 50 }, (_, n) => anEvent(`e${n}`)))
    const leases = await stage.claim({ max: 50 })
    const results = await Promise.all(leases.map((lease) => stage.work.settle([done(lease)])))
    expect(results).toEqual(leases.map(() => ['applied']))
    expect(statements.filter((text) => text.includes('inbox.settle('))).toHaveLength(2)
  })

  test.each(['reap', 'close'] as const)('counts before %s, also if it waits behind another one', async (end) => {
    const gate = Promise.withResolvers<void>()
    let isOver = false
    await using stage = await open((db) => ({
      ...db,
      async query(text, values) {
        isOver ||= text.includes('inbox.reap(')
        if (text.includes('inbox.settle(')) await gate.promise
        return db.query(text, values)
      },
    }))
    await stage.acceptNew(anEvent('a'), anEvent('b'))
    const [a, b] = (await stage.claim()) as [Lease, Lease]
    const settling = [a, b].map((lease) => stage.work.settle([done(lease)]))
    const ending = end === 'reap' ? stage.work.reap('worker') : stage.work.close()
    void ending.then(() => (isOver = true))
    await stage.runs()
    expect(isOver).toBe(false)
    gate.resolve()
    await ending
    expect((await stage.runs()).map(({ state }) => state)).toEqual([runState.done, runState.done])
    expect(await Promise.all(settling)).toEqual([['applied'], ['applied']])
  })

  test('applies the first of two outcomes for a lease, also if it is in conflict', async () => {
    await using stage = await open()
    await stage.acceptNew(anEvent('a'), anEvent('b'))
    const [a, b] = (await stage.claim()) as [Lease, Lease]
    const reads = [{ query: { key: 'n' }, found: [{ key: 'n', version: 1 }] }]
    const write = { writes: [{ key: 'n', value: '1', expiresAt: null }] }
    const results = await stage.work.settle([done(b), done(a, { reads }), done(a), done(b, write)])
    expect(results).toEqual(['applied', 'conflict', 'stale', 'stale'])
    expect(await stage.work.readState('ordered', { key: 'n' })).toEqual([])
  })

  test.each([5_000, -5_000])('state expires on time if the clock is %i ms ahead of the database', async (aheadMs) => {
    const clock = createTestClock()
    await using stage = await openStage(await server.createDatabase(), [ordered], { clock, aheadMs })
    await stage.acceptNew(anEvent('a'))
    const writes = [{ key: 'k', value: '1', expiresAt: clock.now() + 1_000 }]
    await stage.work.settle((await stage.claim()).map((lease) => done(lease, { writes })))
    await clock.advance(999)
    expect(await stage.work.readState('ordered', { key: 'k' })).toMatchObject([{ expiresAt: clock.now() + 1 }])
    await clock.advance(1)
    expect(await stage.work.readState('ordered', { key: 'k' })).toEqual([])
  })

  test('deletes a few expired entries of any handler for each write of an expiring entry', async () => {
    await using stage = await open()
    await stage.acceptNew(anEvent('a'), anEvent('b'), anEvent('c'))
    const [a, b, c] = (await stage.claim()) as [Lease, Lease, Lease]
    const expiring = (key: string) => ({ key, value: '1', expiresAt: stage.clock.now() + 1_000 })
    await stage.work.settle([done(a, { writes: ['k1', 'k2', 'k3', 'k4', 'k5'].map(expiring) })])
    // As an earlier version writes it.
    const old = JSON.stringify([{ key: 's', value: '1', expiresAt: stage.clock.now() + 1 }])
    await stage.db.query(`SELECT inbox.keep_state(2, 1, '[]', $1, 0)`, [old])
    await stage.clock.advance(1_000)
    const keys = async () =>
      (await stage.db.query<{ key: string }>(`SELECT key FROM inbox.state ORDER BY key`)).map(({ key }) => key)
    await stage.work.settle([done(b, { writes: [{ ...expiring('k1'), expiresAt: null }] })])
    expect(await keys()).toEqual(['k1', 'k2', 'k3', 'k4', 'k5', 's'])
    await stage.work.settle([done(c, { writes: [expiring('l')] })])
    const left = await keys()
    expect(left).toHaveLength(3)
    expect(left).toEqual(expect.arrayContaining(['k1', 'l']))
  })
})

describe('the end of the first run of a key waits for an accept that queues a run behind it', () => {
  const lane = (handler: string) =>
    `SELECT 1 FROM inbox.lane WHERE id = inbox.lane_of((SELECT id FROM inbox.handler WHERE name = '${handler}'), 0, 'k') FOR NO KEY UPDATE`

  /** Locks the key like a concurrent transaction, and commits `statements` once `work` waits for the lock. */
  async function overtake(stage: Stage, handler: string, work: () => Promise<unknown>, ...statements: string[]) {
    await using other = await begin(stage)
    await other.query(lane(handler))
    let hasEnded = false
    const working = work().then(() => (hasEnded = true))
    await until(async () => hasEnded || (await isBlocked(stage)), 'it waits')
    for (const statement of [...statements, 'COMMIT']) await other.query(statement)
    await working
  }

  const queueNext = [
    `INSERT INTO inbox.event (seq, id, type, created_at, received_at, secret_label) VALUES (9, 'next', 't', '', 0, '')`,
    `INSERT INTO inbox.body VALUES (9, 0, '')`,
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at) SELECT 99, 9, r.handler_id, 0, 'k', 0, 0 FROM inbox.run r`,
  ]

  test.each([
    ['settle', (stage: Stage, [a]: readonly Lease[]) => stage.work.settle([done(a!)])],
    ['reap', (stage: Stage) => stage.work.reap('worker')],
  ])('%s', async (_, end) => {
    await using stage = await open()
    await stage.acceptNew(anEvent('a', { key: 'k' }))
    await stage.db.query(`UPDATE inbox.run SET crashed = ${maxCrashes - 1}`)
    const leases = await stage.claim()
    await overtake(stage, 'ordered', () => end(stage, leases), ...queueNext)
    expect(idsOf(await stage.claim({ owner: 'next' }))).toEqual(['next'])
  })

  test('a settle with an outbox item waits for the end of the item before it', async () => {
    await using stage = await open()
    await stage.acceptNew(anEvent('a'), anEvent('b'))
    const [a, b] = (await stage.claim()) as [Lease, Lease]
    const item = (idempotencyKey: string) => ({ items: [{ sink: 'sink', key: 'k', payload: '1', idempotencyKey }] })
    await stage.work.settle([done(a, item('first'))])
    const end = `UPDATE inbox.run SET state = 6 WHERE handler_id = (SELECT id FROM inbox.handler WHERE name = 'sink')`
    await overtake(stage, 'sink', () => stage.work.settle([done(b, item('second'))]), end)
    expect(await stage.claim({ handlers: ['sink'] })).toMatchObject([{ item: { idempotencyKey: 'second' } }])
  })
})

async function isBlocked({ db }: Stage): Promise<boolean> {
  const waiting = await db.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return waiting.length > 0
}

/** Another transaction. Disposing it rolls it back. */
async function begin({ url }: Stage): Promise<Pick<Client, 'query'> & AsyncDisposable> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('BEGIN')
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}
