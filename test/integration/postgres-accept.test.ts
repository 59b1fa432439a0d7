import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { AcceptResult, HandlerRoute, IncomingDelivery } from '../../src/inbox/port.ts'
import { acceptStatement, acceptValues } from '../../src/inbox/postgres/accept.ts'
import { bigintArray, byteArray, integerArray, textArray } from '../../src/inbox/postgres/database.ts'
import { aQuarantined, anEvent, bytes, loose, ordered } from '../conformance/stage.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { openStage, openTimedStage, runState } from './postgres-stage.ts'

/** Deliveries of the test with concurrent replicas. */
const deliveryCount = process.env['LONG'] ? 100_000 : 4_000
const { waiting, ready, running, done, superseded } = runState
const latest: HandlerRoute = { ...ordered, name: 'latest', latestOnly: true }

const server = usePostgres()
const open = async (...routes: readonly HandlerRoute[]) => openTimedStage(await server.createDatabase(), routes)

describe('three replicas that accept the same events at once', () => {
  /** Random batches with ids that occur several times, some with other bytes, and quarantined bodies. */
  function makeBatches(random: () => number): IncomingDelivery[][] {
    const below = (limit: number) => Math.floor(random() * limit)
    const batches: IncomingDelivery[][] = []
    for (let left = deliveryCount; left > 0;) {
      const batch = Array.from({ length: 1 + below(60) }, (): IncomingDelivery => {
        const n = below(deliveryCount / 2)
        if (below(50) === 0) return aQuarantined(`q${below(40)}`)
        const raw = bytes(below(20) === 0 ? `other ${below(2)}` : `body of ${n}`)
        return anEvent(`e${n}`, { key: n % 11 === 0 ? `e${n}` : `k${n % 97}`, raw })
      })
      batches.push(batch)
      left -= batch.length
    }
    return batches
  }

  test('have no deadlock, number events without gaps, and order the runs of each key by those numbers', async () => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
    console.log(`seed ${seed}`)
    const clock = createTestClock(0, seed)
    const routes = [ordered, loose, latest]
    const url = await server.createDatabase()
    await using stack = new AsyncDisposableStack()
    const replicas = await Promise.all(
      ['a', 'b', 'c'].map(async (replicaId) => stack.use(await openStage(url, routes, { clock, replicaId }))),
    )
    const [stage] = replicas as [(typeof replicas)[0]]
    const { db } = stage
    const batches = makeBatches(() => clock.random())
    const results: (readonly [IncomingDelivery, AcceptResult | undefined])[] = []
    await Promise.all(
      [...replicas, ...replicas].map(async ({ accept }) => {
        for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
          const ofBatch = await accept.accept(batch)
          results.push(...batch.map((delivery, index) => [delivery, ofBatch[index]] as const))
        }
      }),
    )

    const ids = new Set(results.flatMap(([delivery]) => (delivery.kind === 'event' ? [delivery.id] : [])))
    const accepted = results.filter(([, result]) => result === 'accepted').map(([{ id }]) => id)
    expect(accepted).toHaveLength(ids.size)
    expect(new Set(accepted)).toEqual(ids)
    const count = (wanted: AcceptResult) => results.filter(([, result]) => result === wanted).length
    const [sums] = await db.query(
      `SELECT (SELECT sum(count)::integer FROM inbox.redelivery) AS duplicate, (SELECT sum(count)::integer FROM inbox.conflict) AS conflict,
         (SELECT sum(count)::integer FROM inbox.quarantine) AS quarantined`,
    )
    const others = (['duplicate', 'conflict', 'quarantined'] as const).map((name) => [name, count(name)] as const)
    expect(Object.fromEntries(others)).toEqual(sums)
    expect(Math.min(...others.map(([, n]) => n))).toBeGreaterThan(0)

    const [numbers] = await db.query(
      `SELECT count(*) AS count, max(e.seq) AS max, (SELECT last_seq FROM inbox.counter) AS last,
         (SELECT body_bytes FROM inbox.counter) = sum(length(b.raw)) AND max(b.total) = sum(length(b.raw)) AS "isSummedUp"
       FROM inbox.event e JOIN inbox.body b ON b.seq = e.seq`,
    )
    expect(numbers).toEqual({ count: ids.size, max: ids.size, last: ids.size, isSummedUp: true })

    const all = await stage.runs()
    expect(all).toHaveLength(ids.size * routes.length)
    for (const [handler, ofHandler] of Map.groupBy(all, (run) => run.handler)) {
      expect(ofHandler.map(({ seq }) => seq)).toEqual(ofHandler.map((_, index) => index + 1))
      for (const [key, ofKey] of Map.groupBy(ofHandler, (run) => run.key)) {
        const first = ofKey.map((_, index) => (index === 0 ? ready : waiting))
        const last = ofKey.map((_, index) => (index === ofKey.length - 1 ? ready : superseded))
        const expected = key === null ? ofKey.map(() => ready) : handler === 'latest' ? last : first
        expect(ofKey.map(({ state }) => state)).toEqual(expected)
      }
    }
    const [row] = await db.query(`SELECT superseded FROM inbox.handler WHERE name = 'latest'`)
    expect(row).toEqual({ superseded: all.filter(({ state }) => state === superseded).length })
  })
})

describe('accept', () => {
  test('collects concurrent calls into few statements', async () => {
    let statements = 0
    await using stage = await openTimedStage(await server.createDatabase(), [ordered], (db) => ({
      ...db,
      query(text, values, limitMs) {
        statements++
        return db.query(text, values, limitMs)
      },
    }))
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, n) => stage.accept.accept([anEvent(`e${n % 200}`), aQuarantined(`q${n}`)])),
    )
    expect(answers.map(([first]) => first)).toEqual(answers.map((_, n) => (n < 200 ? 'accepted' : 'duplicate')))
    expect(answers.every(([, second]) => second === 'quarantined')).toBe(true)
    expect(statements).toBeLessThanOrEqual(5)
  })

  test('rejects only the call whose event fails', async () => {
    await using stage = await open({ ...ordered, keyPaths: ['data.pair'] })
    const [, ...answers] = await Promise.allSettled(
      ['first', 'a', 'b', 'c'].map((id) =>
        stage.accept.accept([anEvent(id, { raw: bytes(id === 'b' ? 'not JSON' : '{}') })]),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await stage.runs()).map(({ event }) => event)).toEqual(['first', 'a', 'c'])
  })

  test('keeps at most 1,000 sets of headers, of new events only, over all replicas', async () => {
    const one = await open()
    await using both = new AsyncDisposableStack()
    both.use(one)
    const other = both.use(await openStage(one.url, [], { clock: one.clock, replicaId: 'other' }))
    const stored = () =>
      one.db.query(
        `SELECT e.id, h.headers FROM inbox.event e LEFT JOIN inbox.header_set h ON h.id = e.header_set WHERE e.id !~ '^e' ORDER BY seq`,
      )
    const some = (from: number, length: number) =>
      Array.from({ length }, (_, n) => anEvent(`e${from + n}`, { headers: `{"n":${from + n}}` }))
    await one.acceptNew(...some(0, 990))
    await one.accept.accept([anEvent('e1', { headers: '{"again":1}' })])
    await other.acceptNew(anEvent('known', { headers: '{"n":5}' }), ...some(990, 20), anEvent('none'))
    await one.acceptNew(anEvent('learned', { headers: '{"n":999}' }), anEvent('late', { headers: '{"late":1}' }))
    expect(await stored()).toEqual([
      { id: 'known', headers: '{"n":5}' },
      { id: 'none', headers: null },
      { id: 'learned', headers: '{"n":999}' },
      { id: 'late', headers: null },
    ])
    expect(await one.db.query(`SELECT count(*) AS count FROM inbox.header_set`)).toEqual([{ count: 1_000 }])
  })
})

describe('accept during another transaction', () => {
  /**
   * Accepts an event while another transaction changes the only run of its key. That transaction executes `change`, and commits once accept
   * waits for it. `isFree`: accept doesn't wait.
   */
  async function acceptDuring(route: HandlerRoute, change: string, then = '', isFree = false): Promise<number[]> {
    await using stage = await open(route)
    await stage.acceptNew(anEvent('a', { key: 'k' }))
    const client = new Client({ connectionString: stage.url })
    await client.connect()
    try {
      await client.query(`BEGIN; ${change}`)
      const accepted = stage.acceptNew(anEvent('b', { key: 'k' }))
      if (isFree) await accepted
      else
        await until(async () => {
          const blocked = await stage.db.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
          )
          return blocked.length > 0
        }, 'accept waits')
      await client.query(`${then}; COMMIT`)
      await accepted
      return (await stage.runs()).map(({ state }) => state)
    } finally {
      await client.end()
    }
  }
  const insertRun = (state: number) => `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
    VALUES (nextval('inbox.run_id'), 1, 1, 0, 'k', ${state}, 0)`

  test('waits for a settle of the key, and finds that its run is the first', async () => {
    const settle = `SELECT 1 FROM inbox.lane WHERE id = inbox.lane_of(1, 0, 'k') FOR NO KEY UPDATE; UPDATE inbox.run SET state = ${done}`
    expect(await acceptDuring(ordered, settle)).toEqual([done, ready])
  })

  test('queues its run behind an outbox item that a settle leaves for the same key', async () => {
    const settle = `UPDATE inbox.run SET state = ${done}; COMMIT; BEGIN; ${insertRun(ready)}`
    expect(await acceptDuring(ordered, settle)).toEqual([done, ready, waiting])
  })

  test('supersedes the runs behind a run that is being claimed, but not that run', async () => {
    const claim = `${insertRun(waiting)}; COMMIT; BEGIN; SELECT 1 FROM inbox.run WHERE id = 1 FOR UPDATE`
    const states = await acceptDuring(latest, claim, `UPDATE inbox.run SET state = ${running} WHERE id = 1`, true)
    expect(states).toEqual([running, superseded, waiting])
  })
})

test('arrays are sent in binary format, with nulls, extreme numbers and any text', async () => {
  await using stage = await open()
  const texts = ['', null, 'a', 'ü', '\u{1F600}"{},\\', 'NULL', ' ']
  const integers = [0, null, -1, 2 ** 31 - 1, -(2 ** 31)]
  const bigints = [0, -1, 1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
  const bodies = [new Uint8Array(0), Uint8Array.of(0, 255), bytes('x').subarray(0, 1)]
  const [row] = await stage.db.query(
    `SELECT $1::text[] AS texts, $2::integer[] AS integers, $3::bigint[]::text[] AS bigints, $4::bytea[] AS bodies,
       cardinality($5::text[]) AS none, 4503599627370496 AS big`,
    [textArray(texts), integerArray(integers), bigintArray(bigints), byteArray(bodies), textArray([])],
  )
  const buffers = bodies.map((body) => Buffer.from(body))
  expect(row).toEqual({
    texts,
    integers,
    bigints: bigints.map(String),
    bodies: buffers,
    none: 0,
    big: 2 ** 52,
  })
})

test('accept uses indexes with 20,000 keys, with and without statistics', async () => {
  await using stage = await open(latest)
  const known = await stage.definitions.known(stage.db)
  const headerSets = { knownId: () => null, hasRoom: () => true }
  const client = new Client({ connectionString: stage.url })
  await client.connect()
  try {
    await client.query(`
      INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label)
        SELECT n, 'e' || n, 't', '', 0, 'k' || n % 20000, '' FROM generate_series(1, 40000) n;
      INSERT INTO inbox.body SELECT n, n, 'x' FROM generate_series(1, 40000) n;
      INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
        SELECT nextval('inbox.run_id'), n, 1, 0, 'k' || n % 20000, (n <= 20000)::integer, 0 FROM generate_series(1, 40000) n;
      UPDATE inbox.counter SET last_seq = 40000;
      LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET client_min_messages = log`)
    for (const before of ['', 'ANALYZE']) {
      await client.query(before)
      const plans: string[] = []
      const note = ({ message = '' }) => plans.push(message)
      client.on('notice', note)
      const batch = Array.from({ length: 100 }, (_, n) =>
        anEvent(`e${before}${n * 410}`, { key: `k${n * 300}`, headers: '{}' }),
      )
      const { values } = acceptValues(batch, { now: 0, known, headerSets, makeOffer: () => null })
      await client.query(acceptStatement, values)
      client.off('notice', note)
      const found = (pattern: RegExp) => new Set(plans.flatMap((plan) => plan.match(pattern) ?? []))
      const indexes = ['using event_id_key', 'using run_open', 'using lane_pkey', 'using run_pkey']
      expect([...found(/using \w+/g)]).toEqual(expect.arrayContaining(indexes))
      // `counter` has one row. `header_set` has about 2,000 rows at most, and is read only for new headers.
      expect(found(/Seq Scan on \w+/g)).toEqual(new Set(['Seq Scan on counter', 'Seq Scan on header_set']))
    }
  } finally {
    await client.end()
  }
})
