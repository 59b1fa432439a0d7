import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock, systemClock } from '../../src/base/clock.ts'
import { runStates, type HandlerRoute } from '../../src/inbox/port.ts'
import { createPostgresInbox, type PostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { anEvent, loose, ordered } from '../conformance/stage.ts'
import { counts } from '../counts.ts'
import { ask } from '../support/postgres.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'
import { accept, workOff } from './postgres-rolling-stage.ts'

const silentMs = 1_000
const fresh: HandlerRoute = { ...ordered, name: 'fresh' }

let server: PostgresInboxes
beforeAll(async () => {
  server = await startPostgresInboxes()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

let url: string
beforeEach(async () => {
  url = await server.createDatabase()
})

/** A replica with these handlers. */
async function join(...routes: readonly HandlerRoute[]): Promise<PostgresInbox> {
  const inbox = await createPostgresInbox({ url, clock: systemClock, silentMs })
  onTestFinished(() => inbox.close())
  await inbox.register(routes)
  return inbox
}

async function isBackfilling(handler = 'fresh'): Promise<boolean> {
  const [row] = await ask<{ isSo: boolean }>(
    url,
    `SELECT backfill_seq IS NOT NULL AS "isSo" FROM inbox.handler WHERE name = $1`,
    [handler],
  )
  return row?.isSo ?? false
}

const untilEnded = (handler = 'fresh') => until(async () => !(await isBackfilling(handler)), 'the backfill ends')

/** The events of the runs of a handler, in the order in which these were created. */
async function runsOf(handler = 'fresh'): Promise<string[]> {
  const rows = await ask<{ id: string }>(
    url,
    `SELECT e.id FROM inbox.run r JOIN inbox.event e ON e.seq = r.event_seq JOIN inbox.handler h ON h.id = r.handler_id
     WHERE h.name = $1 AND r.replay_id = 0 ORDER BY r.id`,
    [handler],
  )
  return rows.map(({ id }) => id)
}

/** One that has said what it has, and nothing since. */
async function addDead(id: string, handlers: string): Promise<void> {
  await ask(
    url,
    `INSERT INTO inbox.replica (id, version, started_at, beat_at, load, handlers) VALUES ($1, '0', now(), now(), '{}', $2)`,
    [id, handlers],
  )
}

/** To the others it looks dead, until its next heartbeat. */
async function silence(inbox: PostgresInbox): Promise<void> {
  await ask(url, `UPDATE inbox.replica SET beat_at = beat_at - interval '1 minute' WHERE id = $1`, [inbox.replicaId])
}

/** Resolves when it has said so often that it is there: each time it looks what there is to do. */
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

/** As others do with one that is silent. It hears of it with its next heartbeat: until then it accepts without the handlers that only others have. */
async function countOut(inbox: PostgresInbox): Promise<void> {
  await ask(
    url,
    `WITH counted AS (UPDATE inbox.replica SET handlers = NULL WHERE id = $1) UPDATE inbox.handler SET backfill_seq = NULL`,
    [inbox.replicaId],
  )
}

describe('while old and new replicas work side by side', () => {
  test('a handler that only the new one has gets what either accepts, soon and in order, and nothing from before', async () => {
    const old = await join(loose)
    await accept(old, 'before')
    const young = await join(loose, fresh)
    await accept(old, 'a')
    await accept(young, 'b')
    await accept(old, 'c')
    expect(await workOff(young, 3)).toEqual(['a', 'b', 'c'])
    for (let n = 0; n < 5; n += 1) {
      await accept(old, `late ${n}`)
      const begun = performance.now()
      expect(await workOff(young, 1)).toEqual([`late ${n}`])
      // A quarter of a second, and time for a machine that is busy.
      expect(performance.now() - begun).toBeLessThan(1_500)
    }
    expect(await isBackfilling()).toBe(true)
    await old.close()
    await untilEnded()
    await accept(young, 'alone')
    expect(await workOff(young, 1)).toEqual(['alone'])
  })

  test('one that was killed counts no longer than it may be silent', async () => {
    await addDead('killed', '{}')
    const young = await join(loose, fresh)
    expect(await isBackfilling()).toBe(true)
    await accept(young, 'a')
    expect(await workOff(young, 1)).toEqual(['a'])
    await untilEnded()
  })

  test('an old one that comes back later takes nothing from a handler that the others have', async () => {
    const young = await join(loose, fresh)
    await accept(young, 'a')
    expect(await isBackfilling()).toBe(false)
    const old = await join(loose)
    await accept(old, 'b')
    await accept(young, 'c')
    expect(await workOff(young, 3)).toEqual(['a', 'b', 'c'])
    await old.close()
    await untilEnded()
  })

  test('one that was only silent, and was counted out, gives the handler what it accepted meanwhile, once', async () => {
    const old = await join(loose)
    const young = await join(loose, fresh)
    await accept(old, 'a')
    expect(await workOff(young, 1)).toEqual(['a'])
    await countOut(old)
    await accept(old, 'lost')
    await accept(young, 'b')
    expect((await workOff(young, 2)).toSorted()).toEqual(['b', 'lost'])
    expect((await runsOf()).toSorted()).toEqual(['a', 'b', 'lost'])
    expect(await isBackfilling()).toBe(true)
  })

  test('and one that wants the latest only gets nothing older in its place', async () => {
    const old = await join(loose)
    const young = await join(loose, { ...fresh, latestOnly: true })
    await countOut(old)
    await accept(old, 'lost')
    await accept(young, 'b')
    await until(async () => (await runsOf()).length === 2, 'what was lost has its run')
    expect(await workOff(young, 1)).toEqual(['b'])
    const ofFresh = (id: string) =>
      ask(
        url,
        `SELECT r.state FROM inbox.run r JOIN inbox.event e ON e.seq = r.event_seq
      JOIN inbox.handler h ON h.id = r.handler_id WHERE e.id = $1 AND h.name = 'fresh'`,
        [id],
      )
    expect(await ofFresh('lost')).toEqual([{ state: runStates.indexOf('superseded') }])
  })

  test('a handler that takes more events at the new one gets these from the old one too', async () => {
    const old = await join({ ...fresh, types: ['wallet.*'] })
    const young = await join({ ...fresh, types: ['wallet.*', 'token.*'] })
    await old.accept([anEvent('a'), anEvent('b', { type: 'token.new_listing' })])
    await young.accept([anEvent('c', { type: 'token.new_listing' })])
    expect(await workOff(young, 3)).toEqual(['a', 'b', 'c'])
    await old.close()
    await untilEnded()
  })

  test('a replay by a handler that the leader does not have is done by the one that has it', async () => {
    const old = await join(loose)
    await accept(old, 'a', 'b')
    const young = await join(loose, fresh)
    const { id } = await young.startReplay({ filter: { handler: 'fresh', from: 0 }, perSecond: null, newKeys: false })
    expect(await workOff(young, 2)).toEqual(['a', 'b'])
    await until(async () => (await young.replay(id))?.state === 'done', 'the replay is done')
    expect(await young.replay(id)).toMatchObject({ events: 2, runs: 2 })
    expect(old.isLeader()).toBe(true)
  })

  test('a replay by a handler waits while the only one that has it is replaced', async () => {
    const old = await join(loose)
    await accept(old, 'a')
    const young = await join(loose, fresh)
    await young.close()
    // As one that was begun just before.
    await ask(
      url,
      `INSERT INTO inbox.replay (filter, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
       VALUES ('{"handler":"fresh","from":0}', false, 0, 0, 1, 1, 0, 0, 0)`,
    )
    await beats(old, 3)
    const replayed = await old.startReplay({ filter: { handler: 'loose', from: 0 }, perSecond: null, newKeys: false })
    await until(async () => (await old.replay(replayed.id))?.runs === 1, 'other replays go on')
    expect(await old.replay(1)).toMatchObject({ state: 'running', scannedSeq: 0, events: 0 })
    const next = await join(loose, fresh)
    expect(await workOff(next, 1)).toEqual(['a'])
    await until(async () => (await next.replay(1))?.state === 'done', 'the replay is done')
  })

  test('an old one prunes nothing that a handler of the new one is still to get', async () => {
    const old = await join(loose)
    await accept(old, 'a')
    await workOff(old, 1, 'loose')
    await ask(url, `INSERT INTO inbox.handler (name, backfill_seq, backfill_from) VALUES ('fresh', 1, 0)`)
    await addDead('young', '{"fresh":"[\\"*\\"]"}')
    const limits = { receivedBefore: Date.now(), maxBytes: null }
    expect(await old.prune(limits)).toMatchObject({ events: 0 })
    await ask(url, `DELETE FROM inbox.replica WHERE id = 'young'`)
    expect(await old.prune(limits)).toMatchObject({ events: 1 })
  })
})

test('a handler that is loaded anew, while all accept, gets each event once from then on', async () => {
  const [one, other] = [await join(loose), await join(loose)]
  let count = 0
  let isOver = false
  const accepting = [one, other].map(async (inbox) => {
    while (!isOver) await accept(inbox, `e${count++}`)
  })
  await one.register([loose, fresh])
  const [begun] = await ask<{ seq: number }>(url, `SELECT last_seq::integer AS seq FROM inbox.counter`)
  const first = count
  await until(() => count > first + 20, 'some are accepted')
  await other.register([loose, fresh])
  await untilEnded()
  const last = count
  await until(() => count > last + 20, 'some are accepted')
  isOver = true
  await Promise.all(accepting)
  const rest = await ask<{ id: string }>(url, `SELECT id FROM inbox.event WHERE seq > $1 ORDER BY seq`, [begun?.seq])
  const runs = await runsOf()
  expect(new Set(runs).size).toBe(runs.length)
  expect(runs.slice(-rest.length)).toEqual(rest.map(({ id }) => id))
})

const walks = [
  ['each event once and in order', false],
  ['each event once, even if replicas are taken for dead', true],
] as const

test.each(walks)('whoever comes and goes when, a handler gets %s', { timeout: 180_000 }, async (_, areSilent) => {
  const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31))
  console.log(`seed ${seed}`)
  const chances = createTestClock(0, seed)
  const upTo = (n: number) => Math.floor(chances.random() * n)
  const replicas: { readonly inbox: PostgresInbox; readonly isYoung: boolean }[] = []
  const add = async (isYoung: boolean) => {
    const inbox = await join(...(isYoung ? [loose, fresh] : [loose]))
    replicas.push({ inbox, isYoung })
  }
  await add(false)
  await accept(replicas[0]!.inbox, 'before')
  await add(true)
  let count = 0
  for (let n = 0; n < counts.rollingSteps; n += 1) {
    const at = upTo(replicas.length)
    switch (upTo(8)) {
      case 0:
        if (replicas.length < 4) await add(upTo(2) === 0)
        break
      case 1:
        if (replicas.length > 1) await replicas.splice(at, 1)[0]?.inbox.close()
        break
      case 2:
        if (areSilent) await silence(replicas[at]!.inbox)
        break
      default:
        await Promise.all(replicas.map(({ inbox }) => accept(inbox, `e${count++}`)))
    }
  }
  await add(true)
  for (const { inbox, isYoung } of replicas) if (!isYoung) await inbox.close()
  await untilEnded()
  const all = await ask<{ id: string }>(url, `SELECT id FROM inbox.event WHERE id <> 'before' ORDER BY seq`)
  const inOrder = (ids: readonly string[]) => (areSilent ? ids.toSorted() : ids)
  expect(inOrder(await runsOf()), `seed ${seed}`).toEqual(inOrder(all.map(({ id }) => id)))
})
