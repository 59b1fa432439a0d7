import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptStatement, acceptValues } from '../../src/inbox/postgres/accept.ts'
import { bigintArray, byteArray, integerArray, textArray } from '../../src/inbox/postgres/database.ts'
import { aQuarantined, anEvent, bytes, loose, ordered } from '../conformance/stage.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { openAcceptStage } from './postgres-accept-stage.ts'

let inboxes: PostgresInboxes

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
}, 60_000)
afterAll(() => inboxes[Symbol.asyncDispose]())

const stageOf = async () => openAcceptStage(await inboxes.createDatabase())

describe('accept', () => {
  test('gathers the calls of a process into few statements, each answered with its own', async () => {
    await using stage = await stageOf()
    const { accept, statements } = await stage.replica([ordered])
    const answers = await Promise.all(
      Array.from({ length: 300 }, (_, n) => accept.accept([anEvent(`e${n % 200}`), aQuarantined(`q${n}`)])),
    )
    expect(answers.map(([first]) => first)).toEqual(answers.map((_, n) => (n < 200 ? 'accepted' : 'duplicate')))
    expect(answers.every(([, second]) => second === 'quarantined')).toBe(true)
    expect(statements()).toBeLessThanOrEqual(5)
    expect(await accept.accept([])).toEqual([])
  })

  test('refuses only the call that nothing can be made of', async () => {
    await using stage = await stageOf()
    const { accept } = await stage.replica([{ ...ordered, keyPaths: ['data.pair'] }])
    const [, ...answers] = await Promise.allSettled([
      accept.accept([anEvent('first')]),
      accept.accept([anEvent('second')]),
      ...['a', 'b', 'c'].map((id) => accept.accept([anEvent(id, { raw: bytes(id === 'b' ? 'not JSON' : '{}') })])),
    ])
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    const events = await stage.db.query<{ id: string }>(`SELECT id FROM inbox.event ORDER BY seq`)
    expect(events.map(({ id }) => id)).toEqual(['first', 'second', 'a', 'c'])
  })

  test('keeps at most 1,000 sets of headers, of new events only, whichever replica they come to', async () => {
    await using stage = await stageOf()
    const [one, other] = await Promise.all([stage.replica([]), stage.replica([])])
    const count = async () =>
      (await stage.db.query<{ count: number }>(`SELECT count(*) AS count FROM inbox.header_set`))[0]?.count
    const headersOf = async (id: string) =>
      (
        await stage.db.query<{ headers: string | null }>(
          `SELECT h.headers FROM inbox.event e LEFT JOIN inbox.header_set h ON h.id = e.header_set WHERE e.id = $1`,
          [id],
        )
      )[0]?.headers
    const some = (from: number, length: number) =>
      Array.from({ length }, (_, n) => anEvent(`e${from + n}`, { headers: `{"n":${from + n}}` }))
    await one!.accept.accept(some(0, 990))
    await one!.accept.accept([anEvent('e1', { headers: '{"again":1}' })])
    expect(await count()).toBe(990)
    await other!.accept.accept([anEvent('same', { headers: '{"n":5}' }), ...some(990, 20), anEvent('none')])
    expect(await count()).toBe(1_000)
    await one!.accept.accept([anEvent('after', { headers: '{"n":995}' }), anEvent('late', { headers: '{"late":1}' })])
    expect(await Promise.all(['same', 'e999', 'e1000', 'none', 'after', 'late'].map(headersOf))).toEqual([
      '{"n":5}',
      '{"n":999}',
      null,
      null,
      '{"n":995}',
      null,
    ])
  })

  test('gives a handler none that is not known, or is still to get older events', async () => {
    await using stage = await stageOf()
    const { accept } = await stage.replica([ordered, loose])
    await stage.db.query(`UPDATE inbox.handler SET backfill_seq = 1 WHERE name = 'loose'`)
    await accept.accept([anEvent('a')])
    await stage.db.query(`DELETE FROM inbox.handler WHERE name = 'ordered'`)
    await accept.accept([anEvent('b')])
    expect(await stage.runs()).toMatchObject([{ seq: 1, handler: 1 }])
  })

  test('stores nothing by outdated definitions and plans again, so all replicas create runs for all handlers', async () => {
    await using stage = await stageOf()
    const old = await stage.replica([loose])
    await old.accept.accept([anEvent('a')])
    const young = await stage.replica([ordered])
    const before = old.statements()
    await old.accept.accept([anEvent('b')])
    await old.accept.accept([anEvent('c')])
    await young.accept.accept([anEvent('d')])
    // The one that was in vain, a look, and one for each.
    expect(old.statements() - before).toBe(4)
    expect((await stage.runs()).map(({ seq, handler }) => [seq, handler])).toEqual([
      [1, 1],
      ...[2, 3, 4].flatMap((seq) => [
        [seq, 1],
        [seq, 2],
      ]),
    ])
  })

  test('supersedes no run that is just being claimed, but what waits behind it', async () => {
    const url = await inboxes.createDatabase()
    await using stage = await openAcceptStage(url)
    const { accept } = await stage.replica([{ ...ordered, latestOnly: true }])
    const event = (id: string) => anEvent(id, { key: 'k' })
    await accept.accept([event('a')])
    await stage.db.query(
      `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at) VALUES (nextval('inbox.run_id'), 1, 1, 0, 'k', 0, 0)`,
    )
    const claiming = new Client({ connectionString: url })
    await claiming.connect()
    try {
      // As a claim does that has not committed.
      await claiming.query(`BEGIN; SELECT 1 FROM inbox.run WHERE id = 1 FOR UPDATE`)
      await accept.accept([event('b')])
      await claiming.query(`UPDATE inbox.run SET state = 3 WHERE id = 1; COMMIT`)
    } finally {
      await claiming.end()
    }
    expect((await stage.runs()).map(({ state }) => state)).toEqual([3, 8, 0])
  })
})

test('arrays go over to the database as they are', async () => {
  await using stage = await stageOf()
  const texts = ['', null, 'a', 'ü', '\u{1F600}"{},\\', 'NULL', ' ']
  const integers = [0, null, -1, 2 ** 31 - 1, -(2 ** 31)]
  const bigints = [0, -1, 1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]
  const bodies = [new Uint8Array(0), Uint8Array.of(0, 255), bytes('x').subarray(0, 1)]
  const [row] = await stage.db.query(
    `SELECT $1::text[] AS texts, $2::integer[] AS integers, $3::bigint[]::text[] AS bigints, $4::bytea[] AS bodies,
       cardinality($5::text[]) AS none`,
    [textArray(texts), integerArray(integers), bigintArray(bigints), byteArray(bodies), textArray([])],
  )
  expect(row).toEqual({
    texts,
    integers,
    bigints: bigints.map(String),
    bodies: bodies.map((body) => Buffer.from(body)),
    none: 0,
  })
})

test('plans go by indexes, with 20,000 keys, with and without statistics', async () => {
  const url = await inboxes.createDatabase()
  await using stage = await openAcceptStage(url)
  const { definitions } = await stage.replica([{ ...ordered, latestOnly: true }])
  const known = await definitions.known(stage.db)
  const headerSets = { knownId: () => null, hasRoom: () => true }
  const given = { now: 0, known, headerSets }
  const client = new Client({ connectionString: url })
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
      await client.query(acceptStatement, acceptValues(batch, { ...given, openHandoff: () => null }).values)
      client.off('notice', note)
      const lookedUp = new Set(plans.flatMap((plan) => plan.match(/using \w+/g) ?? []))
      expect([...lookedUp]).toEqual(
        expect.arrayContaining(['using event_id_key', 'using run_open', 'using lane_pkey', 'using run_pkey']),
      )
      // One row; at most some 2,000, and only for headers that are new.
      expect(new Set(plans.flatMap((plan) => plan.match(/Seq Scan on \w+/g) ?? []))).toEqual(
        new Set(['Seq Scan on counter', 'Seq Scan on header_set']),
      )
    }
  } finally {
    await client.end()
  }
})
