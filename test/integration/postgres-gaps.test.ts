import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { beginShift, shiftSome } from '../../src/inbox/postgres/clock-shift.ts'
import { createDatabase } from '../../src/inbox/postgres/database.ts'
import { createGaps } from '../../src/inbox/postgres/gaps.ts'
import { heedClock } from '../../src/inbox/postgres/heed-clock.ts'
import { createSubscriptions } from '../../src/inbox/postgres/subscriptions.ts'
import { createViews } from '../../src/inbox/postgres/views/views.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'

const second = 1_000
const hour = 3_600_000

let inboxes: PostgresInboxes

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
}, 60_000)
afterAll(() => inboxes[Symbol.asyncDispose]())

/** Replicas on one database; each has a clock of its own where one is given. */
async function openStage() {
  const clock = createTestClock()
  const url = await inboxes.createDatabase()
  const db = createDatabase({ url })
  const warnings: string[] = []
  return {
    url,
    clock,
    db,
    warnings,
    replica() {
      const gaps = createGaps({ db, clock, onWarning: (text) => warnings.push(text) })
      const list = async () => {
        await gaps.flush()
        return createViews(db, clock).gaps()
      }
      return { ...gaps, list }
    },
    [Symbol.asyncDispose]: () => db.close(),
  }
}

const at = (ms: number) => new Date(ms).toISOString()

test('a time in which no replica took deliveries is a gap, and one in which another did is none', async () => {
  await using stage = await openStage()
  const { clock } = stage
  const [one, other] = [stage.replica(), stage.replica()]
  await one.start()
  for (let n = 0; n < 5; n++) {
    await clock.advance(2 * second)
    await one.beat()
  }
  await other.start()
  await clock.advance(second)
  await one.end()
  for (let n = 0; n < 30; n++) {
    await clock.advance(2 * second)
    await other.beat()
  }
  await one.start()
  await one.end()
  expect(await one.list()).toEqual([])
  await clock.advance(second)
  await other.end()
  const from = clock.now()
  await clock.advance(3 * hour)
  const next = stage.replica()
  await next.start()
  const gap = { from, to: clock.now(), kind: 'stopped', lost: null, arrived: 0, arrivedLost: 0, lastArrivalAt: null }
  expect(await next.list()).toMatchObject([{ ...gap, acknowledgedAt: null }])
})

test('of replicas that die without a word it lasts from when the last of them was known to take deliveries', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const [one, other] = [stage.replica(), stage.replica()]
  await one.start()
  await other.start()
  await clock.advance(5 * second)
  await other.beat()
  const from = clock.now()
  await clock.advance(20 * second)
  await stage.replica().start()
  expect(await one.list()).toMatchObject([{ from, to: clock.now(), kind: 'killed' }])

  await clock.advance(5 * second)
  await db.query(
    `INSERT INTO inbox.event (seq, id, type, created_at, received_at, secret_label) VALUES (1, 'a', 't', '', $1, 'm')`,
    [clock.now()],
  )
  const received = clock.now()
  await clock.advance(hour)
  await stage.replica().start()
  expect(await one.list()).toMatchObject([{ from: received, kind: 'killed' }, { from }])
})

test('all replicas that stood still together record it once, and say so; one alone says nothing', async () => {
  await using stage = await openStage()
  const { clock } = stage
  const [one, other] = [stage.replica(), stage.replica()]
  await one.start()
  await other.start()
  await clock.advance(5 * second)
  await Promise.all([one.beat(), other.beat()])
  const from = clock.now()
  await clock.advance(2 * hour)
  await Promise.all([one.beat(), other.beat()])
  expect(await one.list()).toMatchObject([{ from, to: clock.now(), kind: 'stood_still' }])
  expect(stage.warnings).toEqual([expect.stringContaining(`no replica took anything from ${at(from)}`)])

  for (let n = 0; n < 40; n++) {
    await clock.advance(2 * second)
    await one.beat()
  }
  await other.beat()
  expect(await one.list()).toHaveLength(1)
})

test('what comes later of a gap is counted, whichever replicas it comes to; what was lost is acknowledged once', async () => {
  await using stage = await openStage()
  const { clock } = stage
  const first = stage.replica()
  await first.start()
  const from = clock.now()
  await first.end()
  await clock.advance(24 * hour)
  const [one, other] = [stage.replica(), stage.replica()]
  await one.start()
  await other.start()
  one.arrived(at(from))
  one.arrived('not a time')
  other.arrived(at(from + 20 * hour))
  other.arrived(at(from - 1))
  await clock.advance(second)
  await Promise.all([one.beat(), other.beat(), other.list()])
  expect(await one.list()).toMatchObject([
    { arrived: 2, arrivedLost: 1, lastArrivalAt: clock.now(), acknowledgedAt: null },
  ])
  expect(await one.acknowledge('somebody')).toEqual({ missingSeqs: 0, gaps: 1 })
  expect(await other.acknowledge()).toEqual({ missingSeqs: 0, gaps: 0 })
  expect(await other.list()).toMatchObject([{ acknowledgedAt: clock.now() }])
  expect(await stage.db.query(`SELECT action, by_whom AS by FROM inbox.audit`)).toEqual([
    { action: 'gaps.acknowledge', by: 'somebody' },
  ])
})

test('a clock that was set back takes the wait of runs with it, once for all replicas that share it', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const heeds = await Promise.all(Array.from({ length: 3 }, () => heedClock(db, clock)))
  const heedAll = () => Promise.all(heeds.map((heed) => heed()))
  const start = clock.now()
  await db.query(
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at)
     VALUES (1, 1, 1, 0, 1, $1), (2, 2, 1, 0, 0, $1::bigint + 10000), (3, 3, 1, 0, 1, 5), (4, 4, 1, 0, 6, $1::bigint + 10000)`,
    [start],
  )
  const runAts = async () =>
    (await db.query<{ runAt: number }>(`SELECT run_at AS "runAt" FROM inbox.run ORDER BY id`)).map(({ runAt }) => runAt)
  await clock.advance(-900)
  await heedAll()
  expect(await runAts()).toEqual([start, start + 10_000, 5, start + 10_000])
  await clock.advance(900)
  await heedAll()
  await clock.advance(-hour)
  await heedAll()
  const shifted = [start - hour, start - hour + 10_000, 5, start + 10_000]
  expect(await runAts()).toEqual(shifted)
  await heedClock(db, clock)
  expect(await runAts()).toEqual(shifted)
  await clock.advance(-hour)
  await heedClock(db, clock)
  expect(await runAts()).toEqual([start - 2 * hour, start - 2 * hour + 10_000, 5, start + 10_000])
})

test('what is shifted is shifted in steps that hold up no accept, and once, though others help and some die', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const heed = await heedClock(db, clock)
  const start = clock.now()
  const count = 3_500
  await db.query(
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at) SELECT n * 20, n, 1, 0, n % 2, $1 FROM generate_series(1, $2) n`,
    [start, count],
  )
  const sums = async () =>
    db.query<{ runAt: number; count: number }>(
      `SELECT run_at AS "runAt", count(*) AS count FROM inbox.run GROUP BY 1 ORDER BY 1`,
    )
  await clock.advance(-hour)
  await beginShift(db, { id: 1, backMs: hour, dueAfter: clock.now() })
  // Whoever accepts has a share of the act lock.
  const accepting = new Client({ connectionString: stage.url })
  await accepting.connect()
  await accepting.query(`BEGIN; SELECT pg_advisory_xact_lock_shared(7217, 1)`)
  expect(await shiftSome(db)).toBe(true)
  await accepting.end()
  expect(await sums()).toEqual([
    { runAt: start - hour, count: 1_000 },
    { runAt: start, count: count - 1_000 },
  ])
  // Here the first one died. Two others know of what it began, and one finds out that its clock was set back.
  await Promise.all([heed(), heedClock(db, clock), heedClock(db, clock)])
  await until(async () => (await sums()).length === 1, 'all are shifted')
  expect(await sums()).toEqual([{ runAt: start - hour, count }])
  expect(await db.query(`SELECT id, next_run > last_run AS done FROM inbox.clock_shift`)).toEqual([
    { id: 1, done: true },
  ])
})

test('a replica whose clock is right keeps nobody from knowing that the runs were shifted', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const right = createTestClock(clock.now())
  const [one, other] = [await heedClock(db, clock), await heedClock(db, clock)]
  const ofRight = await heedClock(db, right)
  const start = clock.now()
  await db.query(
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at) VALUES (1, 1, 1, 0, 1, $1::bigint + 10000000)`,
    [start],
  )
  await clock.advance(-hour)
  await one()
  await right.advance(second)
  await ofRight()
  await other()
  expect(await db.query(`SELECT run_at AS "runAt" FROM inbox.run`)).toEqual([{ runAt: start + 10_000_000 - hour }])
})

test('the clock of one that starts beside others is its own: it takes nobody back', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  await heedClock(db, clock)
  await db.query(
    `INSERT INTO inbox.replica (id, version, started_at, beat_at, load) VALUES ('a', '1', now(), now(), '{}'), ('b', '1', now(), now(), '{}')`,
  )
  await db.query(
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at) VALUES (1, 1, 1, 0, 1, $1)`,
    [clock.now()],
  )
  await heedClock(db, createTestClock(clock.now() - hour))
  expect(await db.query(`SELECT run_at AS "runAt" FROM inbox.run`)).toEqual([{ runAt: clock.now() }])
})

test('of replicas that begin a registration at the same time one does', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const replicas = Array.from({ length: 5 }, () => createSubscriptions({ db, clock }))
  const wanted = { digest: 'd', url: 'https://example.com/?\0\u0001', events: ['a'], secretLabel: 'm', at: 5 }
  const begun = await Promise.all(replicas.map((replica) => replica.beginSubscription(wanted, null)))
  expect(begun.filter((one) => one !== null)).toEqual([{ ...wanted, id: 1, state: 'begun', answer: null }])
  expect(await replicas[0]?.subscription()).toEqual({ ...wanted, id: 1, state: 'begun', answer: null })
})
