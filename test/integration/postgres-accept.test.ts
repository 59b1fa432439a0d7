import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { AcceptResult, IncomingDelivery } from '../../src/inbox/port.ts'
import { acceptStatement, acceptValues } from '../../src/inbox/postgres/accept.ts'
import { createWork } from '../../src/inbox/postgres/claims.ts'
import { aQuarantined, anEvent, bytes, loose, ordered } from '../conformance/stage.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { openAcceptStage } from './postgres-accept-stage.ts'

/** Arrivals in all, of three replicas that accept at once. */
const acceptedAtOnce = process.env['LONG'] ? 100_000 : 4_000

let inboxes: PostgresInboxes

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
}, 60_000)
afterAll(() => inboxes[Symbol.asyncDispose]())

const stageOf = async () => openAcceptStage(await inboxes.createDatabase())

describe('three replicas that accept the same and other events at once', () => {
  const latest = { ...ordered, name: 'latest', latestOnly: true }
  const routes = [ordered, loose, latest]

  /** Batches without any order, of ids that others have as well, some twice, some with other bytes, some in quarantine. */
  function makeBatches(random: () => number): IncomingDelivery[][] {
    const below = (limit: number) => Math.floor(random() * limit)
    const batches: IncomingDelivery[][] = []
    for (let left = acceptedAtOnce; left > 0;) {
      const batch = Array.from({ length: 1 + below(60) }, (): IncomingDelivery => {
        const n = below(acceptedAtOnce / 2)
        if (below(50) === 0) return aQuarantined(`q${below(40)}`)
        const raw = bytes(below(20) === 0 ? `other ${below(2)}` : `body of ${n}`)
        return anEvent(`e${n}`, { key: n % 11 === 0 ? `e${n}` : `k${n % 97}`, raw })
      })
      batches.push(batch)
      left -= batch.length
    }
    return batches
  }

  test('come to no deadlock, number all without gaps, and line the runs of each key up in that order', async () => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
    console.log(`seed ${seed}`)
    const clock = createTestClock(0, seed)
    await using stage = await stageOf()
    const replicas = await Promise.all(Array.from({ length: 3 }, () => stage.replica(routes)))
    const batches = makeBatches(() => clock.random())
    const lanes = replicas.flatMap((replica) => [replica, replica])
    const told: [IncomingDelivery, AcceptResult | undefined][] = []
    await Promise.all(
      lanes.map(async ({ accept }) => {
        for (let batch = batches.pop(); batch !== undefined; batch = batches.pop()) {
          const results = await accept.accept(batch)
          told.push(
            ...batch.map((arrival, index): [IncomingDelivery, AcceptResult | undefined] => [arrival, results[index]]),
          )
        }
      }),
    )

    const ids = new Set(told.flatMap(([arrival]) => (arrival.kind === 'event' ? [arrival.id] : [])))
    const accepted = told.filter(([, result]) => result === 'accepted').map(([{ id }]) => id)
    expect(accepted).toHaveLength(ids.size)
    expect(new Set(accepted)).toEqual(ids)
    const count = (wanted: AcceptResult) => told.filter(([, result]) => result === wanted).length
    for (const result of ['duplicate', 'conflict', 'quarantined'] as const)
      expect(count(result), result).toBeGreaterThan(0)
    const [sums] = await stage.db.query(
      `SELECT (SELECT sum(count)::integer FROM inbox.redelivery) AS duplicate, (SELECT sum(count)::integer FROM inbox.conflict) AS conflict,
         (SELECT sum(count)::integer FROM inbox.quarantine) AS quarantined`,
    )
    expect(sums).toEqual({
      duplicate: count('duplicate'),
      conflict: count('conflict'),
      quarantined: count('quarantined'),
    })

    const [numbers] = await stage.db.query(
      `SELECT count(*) AS count, max(e.seq) AS max, (SELECT last_seq FROM inbox.counter) AS last,
         (SELECT body_bytes FROM inbox.counter) = sum(length(b.raw)) AND max(b.total) = sum(length(b.raw)) AS "isSummedUp"
       FROM inbox.event e JOIN inbox.body b ON b.seq = e.seq`,
    )
    expect(numbers).toEqual({ count: ids.size, max: ids.size, last: ids.size, isSummedUp: true })

    const runs = await stage.runs()
    expect(runs).toHaveLength(ids.size * routes.length)
    for (const handler of [1, 2, 3]) {
      const ofHandler = runs.filter((run) => run.handler === handler)
      expect(ofHandler.map(({ seq }) => seq)).toEqual(ofHandler.map((_, index) => index + 1))
      for (const [key, ofKey] of Map.groupBy(ofHandler, (run) => run.key)) {
        const states = ofKey.map(({ state }) => state)
        if (key === null) expect(new Set(states)).toEqual(new Set([1]))
        else if (handler === 3) expect(states).toEqual(states.map((_, index) => (index === states.length - 1 ? 1 : 8)))
        else expect(states).toEqual(states.map((_, index) => (index === 0 ? 1 : 0)))
      }
    }
    const [row] = await stage.db.query(`SELECT superseded FROM inbox.handler WHERE name = 'latest'`)
    expect(row).toEqual({ superseded: runs.filter(({ state }) => state === 8).length })
  })

  test('strand no run while others work them off, and keys run dry', { timeout: 60_000 }, async () => {
    await using stage = await stageOf()
    const { clock } = stage
    const replicas = await Promise.all(Array.from({ length: 3 }, () => stage.replica([ordered])))
    const total = acceptedAtOnce / 4
    const done: number[] = []
    const works: ReturnType<typeof createWork>[] = []
    const working = replicas.map(async ({ db, accept }, replica) => {
      const work = createWork({ db, clock, replicaId: `r${replica}`, onWarning: () => {} })
      const accepting = async () => {
        for (let n = replica; n < total; n += 3 * 5) {
          const batch = Array.from({ length: 5 }, (_, k) => n + 3 * k).filter((id) => id < total)
          await accept.accept(batch.map((id) => anEvent(`e${id}`, { key: `k${id % 7}` })))
          work.wake()
        }
      }
      const settling = async () => {
        while (done.length < total) {
          const leases = await work.claim({ handlers: ['ordered'], max: 3, owner: `w${replica}`, suspects: false })
          await work.settle(leases.map((lease) => ({ ...lease, startedAt: 0, endedAt: 0, kind: 'done' })))
          done.push(...leases.map(({ event }) => event.seq))
          for (const other of works) other.wake()
        }
        for (const other of works) await other.close()
      }
      works.push(work)
      await Promise.all([accepting(), settling()])
    })
    await Promise.all(working)
    expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: total }, (_, n) => n + 1))
  })
})

describe('where a settle of the same key is not committed yet', () => {
  /** A key whose first run is being worked on, and a transaction beside. */
  async function openKey() {
    const url = await inboxes.createDatabase()
    const stack = new AsyncDisposableStack()
    const stage = stack.use(await openAcceptStage(url))
    const { db, accept, definitions } = await stage.replica([ordered])
    const beside = stack.adopt(new Client({ connectionString: url }), (client) => client.end())
    await beside.connect()
    const event = (id: string) => anEvent(id, { key: 'k' })
    await accept.accept([event('a')])
    return {
      stage,
      db,
      accept,
      definitions,
      beside,
      event,
      /** Until somebody waits for what the transaction has. */
      someoneWaits: () =>
        until(async () => {
          const waiting = await stage.db.query(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`,
          )
          return waiting.length > 0
        }, 'nobody waits for the other'),
      states: async () => (await stage.runs()).map(({ state }) => state),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  }

  test('accept waits for it, and finds that nobody is there to wait for', async () => {
    await using it = await openKey()
    await it.beside.query(`
      BEGIN;
      SELECT 1 FROM inbox.lane WHERE id = inbox.lane_of(1, 0, 'k') FOR NO KEY UPDATE;
      UPDATE inbox.run SET state = 6 WHERE id = 1`)
    const accepted = it.accept.accept([it.event('b')])
    await it.someoneWaits()
    await it.beside.query('COMMIT')
    expect(await accepted).toEqual(['accepted'])
    expect(await it.states()).toEqual([6, 1])
  })

  test('and where it comes second, it waits for the accept, and sees to the new run', async () => {
    await using it = await openKey()
    const work = createWork({ db: it.db, clock: it.stage.clock, replicaId: 'r', onWarning: () => {} })
    const leases = await work.claim({ handlers: ['ordered'], max: 1, owner: 'w', suspects: false })
    const headerSets = { knownId: () => null, hasRoom: () => true }
    const { values } = acceptValues([it.event('b')], {
      now: 0,
      known: await it.definitions.known(it.db),
      headerSets,
      openHandoff: () => null,
    })
    await it.beside.query('BEGIN')
    await it.beside.query(acceptStatement, values)
    const settled = work.settle(leases.map((lease) => ({ ...lease, startedAt: 0, endedAt: 0, kind: 'done' })))
    await it.someoneWaits()
    await it.beside.query('COMMIT')
    expect(await settled).toEqual(['applied'])
    expect(await it.states()).toEqual([6, 1])
    await work.close()
  })

  test('an item that it leaves for the same handler and key is not overtaken, and nothing fails', async () => {
    await using it = await openKey()
    await it.db.query(`UPDATE inbox.run SET state = 6`)
    await it.beside.query(`
      BEGIN;
      INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at) VALUES (nextval('inbox.run_id'), 1, 1, 0, 'k', 1, 0)`)
    const accepted = it.accept.accept([it.event('b')])
    await it.someoneWaits()
    await it.beside.query('COMMIT')
    expect(await accepted).toEqual(['accepted'])
    expect(await it.states()).toEqual([6, 1, 0])
    const [counter] = await it.stage.db.query(`SELECT last_seq AS last FROM inbox.counter`)
    expect(counter).toEqual({ last: 2 })
  })
})
