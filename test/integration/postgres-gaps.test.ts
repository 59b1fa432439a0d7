import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDatabase } from '../../src/inbox/postgres/database.ts'
import { createGaps } from '../../src/inbox/postgres/gaps.ts'
import { createViews } from '../../src/inbox/postgres/views.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'

const second = 1_000
const hour = 3_600_000

const server = usePostgres()

/** Replicas on one database with a test clock. */
async function openStage() {
  const clock = createTestClock()
  const db = createDatabase({ url: await server.createDatabase(), now: () => clock.now() })
  const warnings: string[] = []
  return {
    clock,
    db,
    warnings,
    replica() {
      const onWarning = (message: string, details: object) => warnings.push(`${message} ${JSON.stringify(details)}`)
      const gaps = createGaps({ db, onWarning })
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
const eventOf = (createdAt: string) => ({ createdAt, secretLabel: 'main' })

test('records a gap only if no replica accepted deliveries', async () => {
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

test('a gap after replicas were killed begins when the last of them last accepted deliveries', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const [one, other] = [stage.replica(), stage.replica()]
  await one.start()
  await other.start()
  await clock.advance(5 * second)
  await other.beat()
  const from = clock.now()
  // A replica that died before the clock was set back.
  await db.query(`INSERT INTO inbox.meta VALUES ('serving:dead', $1)`, [from + 9 * hour])
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

test('replicas that all stood still record one gap and warn; a single one does not', async () => {
  await using stage = await openStage()
  const { clock, db } = stage
  const [one, other] = [stage.replica(), stage.replica()]
  await one.start()
  await other.start()
  // A replica that died before the clock was set back.
  await db.query(`INSERT INTO inbox.meta VALUES ('serving:dead', $1)`, [clock.now() + 9 * hour])
  await clock.advance(5 * second)
  await Promise.all([one.beat(), other.beat()])
  const from = clock.now()
  await clock.advance(2 * hour)
  await Promise.all([one.beat(), other.beat()])
  expect(await one.list()).toMatchObject([{ from, to: clock.now(), kind: 'stood_still' }])
  expect(stage.warnings).toEqual([expect.stringContaining(`all replicas stood still {"from":"${at(from)}"`)])

  for (let n = 0; n < 40; n++) {
    await clock.advance(2 * second)
    await one.beat()
  }
  await other.beat()
  expect(await one.list()).toHaveLength(1)
})

test('counts late events of a gap on any replica, and its acknowledgement once', async () => {
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
  one.arrived(eventOf(at(from)))
  other.arrived(eventOf(at(from + 20 * hour)))
  await clock.advance(second)
  await Promise.all([one.beat(), other.beat(), other.list()])
  expect(await one.list()).toMatchObject([{ arrived: 2, arrivedLost: 1, lastArrivalAt: clock.now() }])
  expect(await one.acknowledge()).toEqual({ missingSeqs: 0, gaps: 1 })
  expect(await other.acknowledge()).toEqual({ missingSeqs: 0, gaps: 0 })
  expect(await other.list()).toMatchObject([{ acknowledgedAt: clock.now() }])
})
