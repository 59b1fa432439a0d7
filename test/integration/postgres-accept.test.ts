import { Client } from 'pg'
import { describe, expect, test } from 'vitest'
import type { HandlerRoute } from '../../src/inbox/port.ts'
import { bigintArray, byteArray, integerArray, textArray } from '../../src/inbox/postgres/database.ts'
import { aQuarantined, anEvent, bytes, ordered } from '../conformance/stage.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { openStage, openTimedStage, runState } from './postgres-stage.ts'

const { waiting, ready, running, done, superseded } = runState
const latest: HandlerRoute = { ...ordered, name: 'latest', latestOnly: true }

const server = usePostgres()
const open = async (...routes: readonly HandlerRoute[]) => openTimedStage(await server.createDatabase(), routes)

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
