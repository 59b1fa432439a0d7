import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, systemClock } from '../../src/base/clock.ts'
import type { NewEvent } from '../../src/inbox/port.ts'
import { createDatabase, type Rows } from '../../src/inbox/postgres/database.ts'
import type { Asked } from '../../src/inbox/postgres/index/finder.ts'
import { createIndex } from '../../src/inbox/postgres/index/index.ts'
import { createIndexer, type Indexer } from '../../src/inbox/postgres/index/indexer.ts'
import { indexVersion } from '../../src/inbox/postgres/index/schema.ts'
import { createSearch } from '../../src/inbox/postgres/index/search.ts'
import { queryOf } from '../../src/inbox/postgres/index/terms.ts'
import { toStored } from '../../src/inbox/postgres/text.ts'
import { readForIndex } from '../../src/inbox/insight/read.ts'
import { haveAll, wordsAsked } from '../../src/inbox/insight/words.ts'
import { aFullEvent } from '../conformance/index-views.ts'
import { anEvent, bytes } from '../conformance/stage.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'

/** Events that are searched, and how far from each other their numbers are: they lie in many parts of the accept sequence. */
const [searchedEvents, stride] = process.env['LONG'] ? [200_000, 1] : [4_000, 20]
/** Batches in the middle of which the session is ended. */
const killedBatches = process.env['LONG'] ? 200 : 5
/** A page that takes longer is felt. Of many tries the usual one: the machine has other work. */
const mostPageMs = 100

let inboxes: PostgresInboxes

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
}, 60_000)
afterAll(() => inboxes[Symbol.asyncDispose]())

/** A database of its own, and what puts events into it as an accept does. `numberOf`: the place in the accept sequence of the first one (0) and so on. */
async function openStage(numberOf = (n: number) => n + 1) {
  const url = await inboxes.createDatabase()
  const stack = new AsyncDisposableStack()
  const connect = () => {
    const opened = createDatabase({ url })
    stack.defer(() => opened.close())
    return opened
  }
  const db = connect()
  let count = 0

  async function put(...events: readonly NewEvent[]): Promise<void> {
    const from = count
    count += events.length
    const columns = events.map((event, index) => [
      numberOf(from + index),
      ...[event.id, event.type, event.createdAt].map(toStored),
      event.receivedAt,
      event.key === event.id ? null : toStored(event.key),
      toStored(event.secretLabel),
      `\\x${Buffer.from(event.raw).toString('hex')}`,
    ])
    await db.query(
      `WITH given AS (
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::bytea[])
           AS g(seq, id, type, created_at, received_at, key, secret_label, raw)
       ), event AS (
         INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label)
         SELECT seq, id, type, created_at, received_at, key, secret_label FROM given
       ), body AS (INSERT INTO inbox.body (seq, total, raw) SELECT seq, seq, raw FROM given)
       UPDATE inbox.counter SET last_seq = $9::bigint`,
      [...Array.from({ length: 8 }, (_, column) => columns.map((row) => row[column])), numberOf(count - 1)],
    )
  }

  /** All numbers that hang together: a batch that was written twice, or half, would show. */
  async function sums(): Promise<unknown> {
    const [row] = await db.query(
      `SELECT (SELECT seq FROM inbox.index_meta) AS seq, (SELECT count(*) FROM inbox.index_event) AS events,
         (SELECT sum(count)::bigint FROM inbox.index_tally) AS tallies, (SELECT sum(count)::bigint FROM inbox.index_cadence) AS cadences,
         (SELECT sum(count)::bigint FROM inbox.index_secret) AS secrets`,
    )
    return row
  }

  return { url, db, connect, put, sums, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const startAt = Date.UTC(2026, 0, 1)
const allOnce = (count: number) => ({ seq: count, events: count, tallies: count, cadences: count, secrets: count })
const some = (from: number, to: number, receivedAt = 0) =>
  Array.from({ length: to - from }, (_, n) =>
    aFullEvent(
      `e${from + n}`,
      { receivedAt: receivedAt || startAt + (from + n) * 1_000 },
      { note: `needle${(from + n) % 10}` },
    ),
  )

async function fill(indexer: Indexer): Promise<void> {
  while ((await indexer.step()) !== 'none');
}

const seqsFor = async (db: Rows, asked: Asked, below: number, limit = 1_000) =>
  (await createSearch(db).find(asked, below, 1, limit))?.seqs

describe('the index of a cluster', () => {
  test('is filled by the leader, also with what came before, and by the next one from where that stopped', async () => {
    await using stage = await openStage()
    await stage.put(...some(0, 30))
    let leader = 'a'
    const asked: Record<string, number> = {}
    const warnings: string[] = []
    const replicas = ['a', 'b'].map((id) =>
      createIndex({
        db: stage.connect(),
        clock: systemClock,
        isLeader() {
          asked[id] = (asked[id] ?? 0) + 1
          return leader === id
        },
        onWarning: (text) => void warnings.push(text),
      }),
    )
    const [a, b] = [replicas[0]!, replicas[1]!]
    const indexed = (count: number) =>
      until(async () => (await b.views.indexStatus()).indexedSeq === count, `${count} are indexed`)
    await indexed(30)
    expect(await stage.sums()).toEqual(allOnce(30))
    for (const { find, views } of replicas) {
      expect((await find.find({ q: 'needle3' }, 31, 1, 10))?.seqs).toEqual([24, 14, 4])
      expect(await views.cadences()).toMatchObject([{ count: 30 }])
      expect(await views.indexStatus()).toMatchObject({ state: 'current', behind: 0, lagMs: 0, reason: null })
    }
    leader = 'nobody'
    // What was begun before has ended.
    const { a: before = 0 } = asked
    await until(() => (asked['a'] ?? 0) > before, 'it has found that it does not lead')
    await stage.put(...some(30, 40, Date.now()))
    expect(await a.views.indexStatus()).toMatchObject({ indexedSeq: 30, behind: 10 })
    expect(await a.find.find({ q: 'needle3' }, 41, 1, 10)).toBeNull()
    leader = 'b'
    await indexed(40)
    await b.rebuild()
    leader = 'a'
    await indexed(40)
    expect(await stage.sums()).toEqual(allOnce(40))
    expect((await b.views.indexStatus()).sizeBytes).toBeGreaterThan(10_000)
    expect(warnings).toEqual([])
    for (const replica of replicas) await replica.close()
  })

  test('has nothing twice where two replicas believe that they lead', async () => {
    await using stage = await openStage()
    const [a, b] = [createIndexer(stage.connect(), () => 0), createIndexer(stage.connect(), () => 0)]
    await fill(a)
    await fill(b)
    await stage.put(...some(0, 500))
    expect(await a.step()).toBe('some')
    expect(await b.step()).toBe('lost')
    expect(await b.step()).toBe('some')
    await stage.put(...some(500, 2_500))
    await Promise.all([fill(a), fill(b)])
    expect(await stage.sums()).toEqual(allOnce(2_500))
  })

  test('has everything once where answers are lost and sessions end', async () => {
    await using stage = await openStage()
    const db = stage.connect()
    let isLosing = false
    const lossy: Rows = {
      async query<R>(text: string, values?: readonly unknown[]) {
        const rows = await db.query<R>(text, values)
        if (isLosing && text.includes('index_add')) throw new Error('the answer was lost')
        return rows
      },
    }
    const indexer = createIndexer(lossy, () => 0)
    await stage.put(...some(0, 600))
    expect(await indexer.step()).toBe('some')
    isLosing = true
    await expect(indexer.step()).rejects.toThrow('the answer was lost')
    isLosing = false
    expect(await indexer.step()).toBe('some')
    expect(await indexer.step()).toBe('none')
    expect(await stage.sums()).toEqual(allOnce(600))

    const killed = createIndexer(db, () => 0)
    const killer = new Client({ connectionString: stage.url, application_name: 'killer' })
    await killer.connect()
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`
    const count = 600 + killedBatches * 200
    for (let from = 600; from < count; from += 200) {
      await stage.put(...some(from, from + 200))
      await Promise.allSettled([killed.step(), killer.query(end)])
      await until(
        () =>
          stage.db.query('SELECT').then(
            () => true,
            () => false,
          ),
        'the database answers again',
      )
    }
    await killer.end()
    await until(
      () =>
        fill(killed).then(
          () => true,
          () => false,
        ),
      'all is indexed',
    )
    expect(await stage.sums()).toEqual(allOnce(count))
  })

  test('is emptied where an older version filled it, and left alone where a newer one does', async () => {
    await using stage = await openStage()
    await stage.put(...some(0, 20))
    const clock = createTestClock()
    const open = () =>
      createIndex({ db: stage.db, clock, isLeader: () => true, onWarning: () => {}, filling: 'at reads' })
    await open().views.indexStatus()
    await stage.db.query('UPDATE inbox.index_meta SET version = $1', [indexVersion - 1])
    expect(await seqsFor(stage.db, { q: 'needle3' }, 21)).toBeUndefined()
    expect(await open().views.indexStatus()).toMatchObject({ state: 'current', indexedSeq: 20 })
    expect(await stage.sums()).toEqual(allOnce(20))
    await stage.db.query('UPDATE inbox.index_meta SET version = $1', [indexVersion + 1])
    const { views, find } = open()
    expect(await views.indexStatus()).toMatchObject({
      state: 'off',
      reason: expect.stringContaining('newer version') as string,
    })
    expect(await views.cadences()).toEqual([])
    expect(await views.activity({ from: startAt, to: startAt + 3_600_000, bucketMs: 60_000 })).toEqual([])
    expect(await find.reach({})).toMatchObject({ indexedSeq: 0 })
    expect(await find.find({ q: 'needle3' }, 21, 1, 10)).toBeNull()
    expect(await stage.sums()).toEqual(allOnce(20))
  })

  test('tells of all that it should have or of nothing, while it is emptied and filled', async () => {
    await using stage = await openStage()
    await stage.put(...some(0, 1_000))
    const indexer = createIndexer(stage.connect(), () => 0)
    const other = createIndexer(stage.connect(), () => 0)
    await fill(indexer)
    let isOver = false
    const found = new Set<number | undefined>()
    const searching = async () => {
      while (!isOver) found.add((await seqsFor(stage.db, { q: 'needle7' }, 1_001))?.length)
    }
    const searches = [searching(), searching()]
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([fill(indexer), other.clear()])
      await fill(indexer)
      await until(() => found.has(100), 'a search finds it')
    }
    isOver = true
    await Promise.all(searches)
    expect([...found].filter((count) => count !== undefined)).toEqual([100])
    expect(await stage.sums()).toEqual(allOnce(1_000))
  })

  test('takes out the words of events whose bodies are gone, wherever they lie, and keeps their fields and counts', async () => {
    await using stage = await openStage()
    const given = { network: 'base', address: '0xAb', key: 'base:0xAb' }
    await stage.put(...Array.from({ length: 1_200 }, (_, n) => aFullEvent(`e${n}`, given, { note: 'needle' })))
    const indexer = createIndexer(stage.db, () => 0)
    await fill(indexer)
    const gone = [1, 2, 3, 700, 1_199]
    await stage.db.query('DELETE FROM inbox.body WHERE seq = ANY ($1::bigint[])', [gone])
    for (let step = 0; step < 5; step += 1) await indexer.prune()
    const all = Array.from({ length: 1_200 }, (_, n) => 1_200 - n)
    expect(await seqsFor(stage.db, { q: 'needle' }, 1_201, 2_000)).toEqual(all.filter((seq) => !gone.includes(seq)))
    expect(await seqsFor(stage.db, { network: 'base', address: '0xAb' }, 1_201, 2_000)).toEqual(all)
    expect(await seqsFor(stage.db, { address: '0xab' }, 1_201)).toEqual([])
    expect(await stage.sums()).toEqual(allOnce(1_200))
    // What is filled after its body went is found by its fields as well.
    await indexer.clear()
    await fill(indexer)
    expect(await seqsFor(stage.db, { q: 'needle' }, 1_201, 2_000)).toHaveLength(1_195)
    expect(await seqsFor(stage.db, { type: 'wallet.large_trade' }, 1_201, 2_000)).toEqual(all)
  })

  test('takes whatever may stand in an event', async () => {
    await using stage = await openStage()
    const odd = 'a\0b\u0001 \'"\\ 😀 {}'
    // Cut where it is shortened to 200 characters: within a pair of surrogates.
    const cut = `\u0007${'x'.repeat(192)}😀😀😀`
    // Two fields whose paths differ in what is cut off, and in the half before.
    const alike = ['😀😀😀', '🤀🤀🤀'].map((end) => [`\u0007${'x'.repeat(187)}${end}`, 1])
    await stage.put(
      anEvent('odd\0', { type: odd, network: odd, address: odd, key: `${odd}:${odd}`, secretLabel: odd }),
      aFullEvent('cut', {}, { ...Object.fromEntries(alike), wallet_address: 1, amount_usd: cut }),
      aFullEvent('large', {}, { note: Array.from({ length: 40_000 }, (_, n) => `w${n}`).join(' ') }),
      anEvent('none', { raw: bytes('\ud800'), type: `wallet.${odd}`, key: `base:${odd}` }),
      anEvent('long', { raw: bytes(JSON.stringify({ a: '𝐀'.repeat(500), b: '😀'.repeat(9), c: 'ﷺ'.repeat(40_000) })) }),
    )
    const views = createIndex({
      db: stage.db,
      clock: createTestClock(),
      isLeader: () => true,
      onWarning: () => {},
      filling: 'at reads',
    }).views
    expect(await views.indexStatus()).toMatchObject({ indexedSeq: 5, behind: 0 })
    expect(await seqsFor(stage.db, { type: odd, network: odd, address: odd }, 6)).toEqual([1])
    expect(await seqsFor(stage.db, { q: 'w1234' }, 6)).toEqual([3])
    expect(await seqsFor(stage.db, { q: '𝐀'.repeat(64) }, 6)).toEqual([5])
    expect((await views.cadences()).map(({ type, network }) => [type, network])).toContainEqual([odd, odd])
    expect(await views.knownWallets()).toEqual([expect.objectContaining({ network: 'base', address: odd })])
    expect((await views.secretUses()).map(({ label }) => label)).toEqual([odd, 'main'])
    const drift = await views.drift()
    expect(drift.map(({ type }) => type)).toContain(odd)
    for (const { path, example } of drift) expect(path.isWellFormed() && example.isWellFormed()).toBe(true)
    expect(
      await views.activity({ from: 0, to: 1e300, bucketMs: 1e300 }).catch((error: unknown) => error),
    ).toMatchObject({ code: 'bad_request' })
  })

  test('knows where events of a time lie, also when minutes of long ago are no longer kept', async () => {
    await using stage = await openStage()
    const minuteMs = 60_000
    const clock = createTestClock(0)
    // In an order of their own, one in each minute.
    const at = (n: number) => ((n * 37) % 300) * minuteMs
    await stage.put(...Array.from({ length: 300 }, (_, n) => aFullEvent(`e${n}`, { receivedAt: at(n) })))
    const indexer = createIndexer(stage.db, () => clock.now())
    await fill(indexer)
    const search = createSearch(stage.db)
    const times = [[0, 330], [45, 61], [90, 100], [120, 121], [200, 1_000], [299, 300]] as const // prettier-ignore
    const seqs = Array.from({ length: 300 }, (_, n) => n + 1)
    const reaches = async () => {
      const found = []
      for (const [from, to] of times) found.push(await search.reach({ from: from * minuteMs, to: to * minuteMs }))
      return found
    }
    const exact = times.map(([from, to]) => ({
      indexedSeq: 300,
      lowest: Math.min(...seqs.filter((seq) => at(seq - 1) >= from * minuteMs)),
      highest: Math.max(...seqs.filter((seq) => at(seq - 1) < to * minuteMs)),
    }))
    expect(await reaches()).toEqual(exact)
    await clock.advance(400 * 24 * 3_600_000 + 150 * minuteMs)
    for (let step = 0; step < 10; step += 1) await indexer.prune()
    const [first] = await stage.db.query<{ minute: number }>('SELECT min(minute) AS minute FROM inbox.index_tally')
    expect(first?.minute).toBe(120)
    // Of an hour whose minutes are gone all of it may count.
    for (const [index, { lowest, highest }] of (await reaches()).entries()) {
      expect(lowest).toBeLessThanOrEqual(exact[index]?.lowest ?? 0)
      expect(highest).toBeGreaterThanOrEqual(exact[index]?.highest ?? Infinity)
    }
    expect((await reaches()).slice(3)).toEqual(exact.slice(3))
    for (const time of [{ from: 1e15 }, { to: -1e15 }, { from: 400 * minuteMs }, { to: 0 }]) {
      const { lowest, highest } = await search.reach(time)
      expect(lowest, JSON.stringify(time)).toBeGreaterThan(highest)
    }
    expect(await search.reach({ from: -1e15, to: 1e15 })).toMatchObject({ lowest: 1, highest: 300 })
  })
})

describe('a search of many events', () => {
  const seqOf = (n: number) => 1 + n * stride
  const end = seqOf(searchedEvents - 1) + 1
  /** Words that all have, one of two, a few, one; and begins that many words share. */
  const bodyOf = (n: number) => ({
    note: `all ${n % 2 === 0 ? 'even' : 'odd'} of${n % 1_000} few${n % 4_099 === 7 ? 'needle' : n % 13} ${(n * 2_654_435_761).toString(16)}`,
  })
  const asked: readonly Asked[] = [
    { q: 'all' },
    { q: 'a' },
    { q: 'even all' },
    { q: 'of17' },
    { q: 'fewneedle' },
    { q: 'few odd o' },
    { q: 'even odd' },
    { q: 'nothing' },
    { q: `e${searchedEvents - 3}` },
    { q: 'e17 few4' },
    { q: 'o f e a 1 2 3' },
    { type: 'wallet.large_trade' },
    { type: 'wallet.large_trade', q: 'of9 even' },
    { type: 'wallet.other' },
  ]

  test(
    'finds what is there, page by page, reads nothing but the index, and is quick',
    { timeout: 600_000 },
    async () => {
      await using stage = await openStage(seqOf)
      const stored: { readonly type: string; readonly words: readonly string[] }[] = []
      for (let from = 0; from < searchedEvents; from += 2_048) {
        const batch = Array.from({ length: Math.min(2_048, searchedEvents - from) }, (_, index) => {
          const [id, n] = [`e${from + index}`, from + index]
          return anEvent(id, { receivedAt: n * 1_000, raw: bytes(JSON.stringify({ id, data: bodyOf(n) })) })
        })
        stored.push(...batch.map((event) => ({ type: event.type, words: readForIndex(event.raw, event).words })))
        await stage.put(...batch)
      }
      await fill(createIndexer(stage.connect(), () => 0))
      const search = createSearch(stage.db)

      const pageMs: number[] = []
      for (const one of asked) {
        const words = one.q === undefined ? [] : wordsAsked(one.q)
        const expected = stored.flatMap(({ type, words: known }, n) => {
          return (one.type ?? type) === type && haveAll(known, words) ? [seqOf(n)] : []
        })
        const found: number[] = []
        for (let below = end; below > 1;) {
          const page = await search.find(one, below, 1, 2_000)
          if (page === null) throw new Error('the index does not go so far')
          found.push(...page.seqs)
          below = page.reached
        }
        expect(found.length, JSON.stringify(one)).toBe(expected.length)
        expect(found, JSON.stringify(one)).toEqual(expected.toReversed())
        const tries: number[] = []
        for (let n = 0; n < 5; n += 1) {
          const startedAt = performance.now()
          await search.find(one, end, 1, 51)
          tries.push(performance.now() - startedAt)
        }
        pageMs.push(tries.toSorted((x, y) => x - y)[2] ?? Infinity)
      }
      const [lowest, newest] = [seqOf(1_500), [1_504, 1_503, 1_502, 1_501, 1_500].map(seqOf)]
      expect(await search.find({ q: 'all' }, seqOf(1_505), 1, 5)).toEqual({ seqs: newest, reached: lowest })
      expect(await search.find({ q: 'all' }, seqOf(1_502), lowest, 5)).toEqual({
        seqs: newest.slice(3),
        reached: lowest,
      })
      console.log(`newest pages of ${searchedEvents} events: ${pageMs.map((ms) => ms.toFixed(1)).join(', ')} ms`)
      expect(Math.max(...pageMs)).toBeLessThan(mostPageMs)
      for (const one of asked) {
        const plans = await plansOf(stage.url, one)
        expect(plans.length).toBeGreaterThan(0)
        for (const plan of plans) {
          expect(plan).toContain('Bitmap Index Scan on index_event_words')
          expect(plan).not.toMatch(/Seq Scan|index_event_pkey|index_event_live/)
        }
      }
    },
  )

  /** How each step of a search is planned by a server that knows nothing of the table yet. */
  async function plansOf(url: string, one: Asked): Promise<string[]> {
    const client = new Client({ connectionString: url })
    await client.connect()
    const plans: string[] = []
    client.on('notice', ({ message = '' }) => {
      if (message.includes('FROM inbox.index_event e')) plans.push(message)
    })
    await client.query(
      `LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET client_min_messages = log`,
    )
    await client.query('SELECT inbox.index_search($1, $2, $3, 1, 51, 1000)', [indexVersion, queryOf(one), end])
    await client.end()
    return plans
  }
})
