import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock, systemClock } from '../../src/base/clock.ts'
import { orphanedHandlers, type HandlerRoute, type Inbox, type Lease } from '../../src/inbox/port.ts'
import { createPostgresInbox, type PostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { anEvent, idsOf, loose, ordered } from '../conformance/stage.ts'
import { readAll } from '../conformance/views.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'

/** Long, so that no replica counts as dead on a busy machine. */
const silentMs = 5_000
const dayMs = 86_400_000
const fresh: HandlerRoute = { ...ordered, name: 'fresh' }

const server = usePostgres()

let url: string
beforeEach(async () => {
  url = await server.createDatabase()
})

/** A replica with these handlers. */
const join = (...routes: readonly HandlerRoute[]) => joinAt(undefined, ...routes)

/** The same in a database whose clock says `now`. */
async function joinAt(now: (() => number) | undefined, ...routes: readonly HandlerRoute[]): Promise<PostgresInbox> {
  const inbox = await createPostgresInbox({ url, clock: systemClock, silentMs, ...(now && { now }) })
  onTestFinished(() => inbox.close())
  await inbox.register(routes)
  return inbox
}

/** Events of the same key. */
const accept = (inbox: Inbox, ...ids: readonly string[]) =>
  inbox.accept(ids.map((id) => anEvent(id, { network: 'base', address: 'A' })))

const claim = (inbox: Inbox, handler = 'fresh', max = 1) =>
  inbox.claim({ handlers: [handler], max, owner: 'worker', suspects: false })

const end = (inbox: Inbox, leases: readonly Lease[]) =>
  inbox.settle(leases.map(({ runId, token }) => ({ runId, token, startedAt: 0, endedAt: 0, kind: 'done' })))

/** Ends `count` runs of a handler, one by one. Returns their events. */
async function workOff(inbox: Inbox, count: number, handler?: string): Promise<string[]> {
  const seen: string[] = []
  while (seen.length < count) {
    const leases = await claim(inbox, handler)
    seen.push(...idsOf(leases))
    await end(inbox, leases)
  }
  return seen
}

/** The events of the live runs of a handler, in order of creation. */
async function runsOf(handler = 'fresh'): Promise<string[]> {
  const rows = await ask<{ id: string }>(
    url,
    `SELECT e.id FROM inbox.run r JOIN inbox.event e ON e.seq = r.event_seq JOIN inbox.handler h ON h.id = r.handler_id
     WHERE h.name = $1 AND r.replay_id = 0 ORDER BY r.id`,
    [handler],
  )
  return rows.map(({ id }) => id)
}

const definitionsOf = (handler: string) => ask(url, `SELECT digest FROM inbox.definition WHERE handler = $1`, [handler])
const untilDefinitions = (handler: string, count: number) =>
  until(async () => (await definitionsOf(handler)).length === count, `${handler} has ${count} definitions`)

/** Waits for `count` heartbeats. */
async function beats(inbox: PostgresInbox, count: number): Promise<void> {
  const seen = new Set<string>()
  await until(async () => {
    for (const { at } of await ask<{ at: string }>(url, `SELECT beat_at::text AS at FROM inbox.replica WHERE id = $1`, [
      inbox.replicaId,
    ]))
      seen.add(at)
    return seen.size > count
  }, `${count} heartbeats`)
}

const orphansOf = async (inbox: PostgresInbox) => orphanedHandlers((await inbox.stats()).handlers, [])
const untilOrphaned = (inbox: PostgresInbox) =>
  until(async () => (await orphansOf(inbox)).length > 0, 'a handler is orphaned')

describe('replicas with different handlers', () => {
  test('are ready, and an event gets runs of all handlers, whichever of them accepts it', async () => {
    const old = await join(loose)
    await accept(old, 'before')
    const young = await join(fresh)
    expect([old.health(), young.health()]).toEqual([{ ok: true }, { ok: true }])
    await accept(old, 'a')
    await accept(young, 'b')
    await accept(old, 'c')
    expect(await workOff(young, 3)).toEqual(['a', 'b', 'c'])
    expect(await runsOf('loose')).toEqual(['before', 'a', 'b', 'c'])
    expect(await orphansOf(old)).toEqual([])
  })

  test('create a run if any held definition of the handler takes the event', async () => {
    const old = await join({ ...fresh, types: ['wallet.*', 'token.*'] })
    const young = await join({ ...fresh, types: ['wallet.*'] })
    const listing = (id: string) => anEvent(id, { type: 'token.new_listing' })
    await young.accept([anEvent('a'), listing('b')])
    await old.accept([listing('c')])
    await old.close()
    // A replica that only counted as dead, after an outage of the database, may still hold it.
    await beats(young, 2)
    expect(await definitionsOf('fresh')).toHaveLength(2)
    await untilDefinitions('fresh', 1)
    await young.accept([listing('d'), anEvent('e')])
    expect(await runsOf()).toEqual(['a', 'b', 'c', 'e'])
  })

  test('use the key of the newest definition that takes the event', async () => {
    const old = await join({ ...fresh, types: ['wallet.*', 'token.*'] })
    await join({ ...fresh, types: ['wallet.*'], keyPaths: ['id'] })
    await old.accept([anEvent('a', { key: 'k' }), anEvent('b', { key: 'k', type: 'token.new_listing' })])
    const leases = await old.claim({ handlers: ['fresh'], max: 2, owner: 'worker', suspects: false })
    expect(leases.map(({ key }) => key)).toEqual(['a', 'k'])
  })

  test('replay and backfill handlers that the leader has not loaded', async () => {
    const old = await join(loose)
    await accept(old, 'a', 'b')
    const young = await join(loose, fresh, { ...fresh, name: 'late', from: 'beginning' })
    const { id } = await young.startReplay({ filter: { handler: 'fresh', from: 0 }, perSecond: null, newKeys: false })
    expect(await workOff(young, 2)).toEqual(['a', 'b'])
    expect(await workOff(young, 2, 'late')).toEqual(['a', 'b'])
    await until(async () => (await young.replay(id))?.state === 'done', 'the replay is done')
    expect(await young.replay(id)).toMatchObject({ events: 2, runs: 2 })
    expect(young.isLeader()).toBe(false)
  })

  test('restore their definitions after they counted as dead', async () => {
    const one = await join(loose)
    await ask(
      url,
      `WITH removed AS (DELETE FROM inbox.definition) UPDATE inbox.counter SET definitions = definitions + 1`,
    )
    await untilDefinitions('loose', 1)
    await accept(one, 'a')
    await ask(url, `DELETE FROM inbox.replica`)
    await beats(one, 2)
    expect(await orphansOf(one)).toEqual([])
    expect(await runsOf('loose')).toEqual(['a'])
  })
})

describe('a handler that no replica holds', () => {
  /** Orphans `fresh`, and `idle`, which has no runs. One replica is left. */
  async function orphan() {
    const clock = createTestClock(Date.now())
    const left = await joinAt(() => clock.now(), loose)
    const gone = await joinAt(() => clock.now(), loose, fresh, { ...fresh, name: 'idle', types: ['token.*'] })
    await accept(left, 'a')
    // A copy of its row from before the database's clock was set back.
    const copy = `SELECT 'dead', version, started_at, beat_at + interval '10 minutes', load, handlers FROM inbox.replica`
    await ask(url, `INSERT INTO inbox.replica ${copy} WHERE id = $1`, [gone.replicaId])
    await gone.close()
    await untilOrphaned(left)
    return { clock, left }
  }

  test('gets runs, which stay pending and show as orphaned, until it is held again', async () => {
    const { left } = await orphan()
    await accept(left, 'b')
    expect(await orphansOf(left)).toEqual([{ handler: 'fresh', openRuns: 2 }])
    const back = await join(fresh)
    expect(await orphansOf(left)).toEqual([])
    expect(await workOff(back, 2)).toEqual(['a', 'b'])
  })

  test('gets no more runs after 24 hours, and its runs stay', async () => {
    const { clock, left } = await orphan()
    await clock.advance(dayMs - 60_000)
    await beats(left, 2)
    await accept(left, 'b')
    await clock.advance(120_000)
    await untilDefinitions('fresh', 0)
    await accept(left, 'c')
    expect(await runsOf()).toEqual(['a', 'b'])
    expect(await orphansOf(left)).toEqual([{ handler: 'fresh', openRuns: 2 }])
  })

  test('gets no more runs once it is dropped, unless a replica holds it', async () => {
    const { left } = await orphan()
    expect(await left.discardPendingRuns('fresh', 'removed')).toBe(1)
    expect(await left.discardPendingRuns('loose', 'these only')).toBe(1)
    expect(await left.discardPendingRuns('idle', 'removed')).toBe(0)
    expect((await left.audit({ limit: 9 })).data).toMatchObject([
      { action: 'handler.drop', detail: { handler: 'idle', count: 0 } },
      { action: 'handler.drop', detail: { handler: 'loose', count: 1 } },
      { action: 'handler.drop', detail: { handler: 'fresh', count: 1 } },
    ])
    await left.accept([anEvent('listing', { type: 'token.new_listing' })])
    expect(await runsOf('idle')).toEqual([])
    await accept(left, 'b')
    expect(await runsOf()).toEqual(['a'])
    expect(await runsOf('loose')).toEqual(['a', 'listing', 'b'])
  })
})

test('a new handler gets each event once from its registration on, while replicas accept', async () => {
  const [one, other] = [await join(loose), await join(loose)]
  let count = 0
  let hasEnded = false
  const accepting = [one, other].map(async (inbox) => {
    while (!hasEnded) await accept(inbox, `e${count++}`)
  })
  await one.register([loose, fresh])
  const [begun] = await ask<{ seq: number }>(url, `SELECT last_seq::integer AS seq FROM inbox.counter`)
  const first = count
  await until(() => count > first + 20, 'some are accepted')
  await other.register([loose, fresh])
  const last = count
  await until(() => count > last + 20, 'some are accepted')
  hasEnded = true
  await Promise.all(accepting)
  const rest = await ask<{ id: string }>(url, `SELECT id FROM inbox.event WHERE seq > $1 ORDER BY seq`, [begun?.seq])
  const runs = await runsOf()
  expect(new Set(runs).size).toBe(runs.length)
  expect(runs.slice(-rest.length)).toEqual(rest.map(({ id }) => id))
})

test('pages list each event once and miss none, while three replicas accept', async () => {
  const replicas = [await join(loose), await join(loose), await join(loose)]
  await accept(replicas[0]!, 'first')
  const delay = `'BEGIN PERFORM pg_sleep(random() / 50); RETURN NULL; END'`
  await ask(url, `CREATE FUNCTION inbox.delay() RETURNS trigger LANGUAGE plpgsql AS ${delay}`)
  await ask(url, `CREATE TRIGGER slow AFTER INSERT ON inbox.event EXECUTE FUNCTION inbox.delay()`)
  let accepting = replicas.length
  const accepts = replicas.map(async (inbox, index) => {
    for (let n = 0; n < 40; n++) await accept(inbox, `e${index}-${n}a`, `e${index}-${n}b`)
    accepting--
  })
  const walks: string[][] = []
  while (accepting > 0)
    walks.push((await readAll((cursor) => replicas[0]!.events({ limit: 20, ...cursor }))).map(({ id }) => id))
  await Promise.all(accepts)
  const stored = await ask<{ id: string }>(url, `SELECT id FROM inbox.event ORDER BY seq DESC`)
  const ids = stored.map(({ id }) => id)
  for (const walk of walks) expect(walk).toEqual(ids.slice(ids.indexOf(walk[0] ?? '')))
  expect(walks.length).toBeGreaterThan(2)
})
