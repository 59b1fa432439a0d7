import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Database, createDatabase } from '../../src/inbox/postgres/database.ts'
import { joinCluster, newReplicaId } from '../../src/inbox/postgres/replicas.ts'
import type { OnWarning } from '../../src/inbox/types.ts'
import { version } from '../../src/base/version.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const silentMs = 500

const server = usePostgres()

let url: string
beforeEach(async () => {
  url = await server.createDatabase()
  await ask(url, `INSERT INTO inbox.handler (name) VALUES ('h')`)
})

interface Joined extends Awaited<ReturnType<typeof joinCluster>> {
  readonly db: Database
  readonly warnings: string[]
  reaped: number
}

interface JoinOptions {
  readonly to?: string
  readonly id?: string
  readonly connections?: number
}

async function join({ to = url, id = newReplicaId(), connections = 10 }: JoinOptions = {}): Promise<Joined> {
  const db = createDatabase({ url: to, connections })
  onTestFinished(() => db.close())
  const warnings: string[] = []
  const onReaped = () => void joined.reaped++
  const onWarning: OnWarning = (message, details) => void warnings.push([message, ...Object.values(details)].join(' '))
  const cluster = await joinCluster({ db, id, silentMs, onWarning, onReaped })
  const joined = { ...cluster, db, warnings, reaped: 0 }
  onTestFinished(() => cluster.leave().catch(() => {}))
  return joined
}

/** Creates a running run of an owner. */
async function giveRun(run: number, owner: string, crashed = 0): Promise<void> {
  const columns = `(seq, id, type, created_at, received_at, secret_label)`
  await ask(url, `INSERT INTO inbox.event ${columns} VALUES ($1, $2, 't', '', 0, '')`, [run, `event ${run}`])
  await ask(
    url,
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, owner, crashed)
     SELECT $1, $1, id, 0, $2, 3, 0, $3, $4 FROM inbox.handler`,
    [run, `key ${run}`, owner, crashed],
  )
}

const running = 3
const suspect = 2

async function stateOf(run: number): Promise<number | undefined> {
  const [row] = await ask<{ state: number }>(url, `SELECT state FROM inbox.run WHERE id = $1`, [run])
  return row?.state
}

const through = ({ port }: { readonly port: number }) => Object.assign(new URL(url), { port: String(port) }).href
const untilReaped = (run: number) => until(async () => (await stateOf(run)) === suspect, `run ${run} is reaped`)

test('replicas list each other with their versions; the one that started first leads', async () => {
  const first = await join()
  const second = await join()
  expect([first.isLeader(), second.isLeader(), second.alive()]).toEqual([true, false, 2])
  const [one, two, ...others] = await second.replicas()
  expect(one).toMatchObject({ id: first.id, version, isAlive: true, isSelf: false, isLeader: true })
  expect(two).toMatchObject({ id: second.id, version, isAlive: true, isSelf: true, isLeader: false })
  expect(others).toEqual([])
  expect(Math.abs(one!.beatAt - Date.now())).toBeLessThan(60_000)
  expect(one!.startedAt).toBeLessThanOrEqual(two!.startedAt)
})

test('the next replica leads after the leader has left', async () => {
  const first = await join()
  const second = await join()
  await first.leave()
  await until(() => second.isLeader(), 'the second leads')
  expect((await second.replicas()).map(({ id }) => id)).toEqual([second.id])
  expect(second.alive()).toBe(1)
})

test('reaps the runs of silent and unknown replicas, and no others', async () => {
  const [one, other] = await Promise.all([join(), join()])
  await giveRun(1, `${other.id} 1`)
  await giveRun(2, `${one.id} 1`)
  // A replica that died before the database's clock was set back.
  await ask(url, `INSERT INTO inbox.replica VALUES ('silent', '0', '2000-01-01', now() + interval '10 minutes', '{}')`)
  const begunAt = performance.now()
  await giveRun(3, 'silent a b')
  await giveRun(4, 'unknown 1')
  await giveRun(5, 'unknown 2')
  await Promise.all([3, 4, 5].map(untilReaped))
  expect(performance.now() - begunAt).toBeGreaterThanOrEqual(silentMs * 0.7)
  expect([await stateOf(1), await stateOf(2)]).toEqual([running, running])
  expect(one.reaped + other.reaped).toBe(3)
  await until(() => one.alive() === 2 && (one.isLeader() || other.isLeader()), 'a living replica leads')
  const died = ['silent', 'unknown', 'unknown'].map((id) => `replica died ${id} 1`)
  expect([...one.warnings, ...other.warnings].sort()).toEqual(died)
})

test('reaps runs that a dead replica claimed late, and warns of a dead letter after too many crashes', async () => {
  const one = await join()
  await giveRun(1, 'dead 1')
  await untilReaped(1)
  await giveRun(2, 'dead 1', 2)
  await until(() => one.warnings.length === 3, 'it warns')
  expect(one.warnings[2]).toMatch(/^run became a dead letter h event 2 .*\(crash 3 of 3\)$/)
})

test('after an outage, living replicas are not reaped', async () => {
  await using proxy = await startProxy(Number(new URL(url).port))
  const [one, other] = [await join({ to: through(proxy) }), await join({ to: through(proxy) })]
  await giveRun(1, `${one.id} 1`)
  await giveRun(2, `${other.id} 1`)
  await giveRun(3, 'dead 1')
  await untilReaped(3)

  proxy.stall()
  await until(() => !one.health().ok && !other.health().ok, 'they see the outage')
  expect(one.health()).toMatchObject({ reason: expect.stringContaining('cannot be reached') as string })
  await until(() => !one.isLeader() && !other.isLeader(), 'no replica leads')
  proxy.resume()
  await until(() => one.health().ok && other.health().ok, 'both are healthy again')

  await giveRun(4, 'dead 2')
  await untilReaped(4)
  expect([await stateOf(1), await stateOf(2)]).toEqual([running, running])
  await until(() => one.isLeader(), 'the first leads again')
})

test('a replica with busy connections and slow listeners still sends heartbeats', async () => {
  const busy = await join({ connections: 1 })
  const other = await join()
  await giveRun(1, `${busy.id} 1`)
  const silences: boolean[] = []
  const held = Promise.withResolvers<void>()
  busy.onBeat(async ({ wasSilent }) => {
    silences.push(wasSilent)
    await held.promise
  })
  const taken = busy.db.query(`SELECT pg_sleep(${(4 * silentMs) / 1_000})`)
  await until(() => silences.length === 1, 'its listener runs')
  await giveRun(2, 'dead 1')
  await untilReaped(2)
  await taken
  expect([await stateOf(1), other.alive(), busy.isLeader(), busy.health().ok]).toEqual([running, 2, true, true])
  expect(silences).toEqual([false])
  held.resolve()
  await until(() => silences.length >= 3, 'its listeners are called again')
  expect(silences).not.toContain(true)
})

test('reports a silence to the listeners, and not in later heartbeats', async () => {
  await using proxy = await startProxy(Number(new URL(url).port))
  const one = await join({ to: through(proxy) })
  const silences: boolean[] = []
  one.onBeat(async ({ wasSilent }) => void silences.push(wasSilent))
  await until(() => silences.length > 0, 'the first beat')
  proxy.stall()
  const silentAt = performance.now()
  await until(() => performance.now() - silentAt > silentMs * 1.5 && !one.health().ok, 'it was silent')
  proxy.resume()
  await until(() => silences.includes(true) && silences.at(-1) === false, 'it is reported and over')
})

test('a replica that leaves ends its own runs, and no others', async () => {
  const one = await join()
  await join({ id: `${one.id}x` })
  await giveRun(1, `${one.id} 1`)
  await giveRun(2, `${one.id}x 1`)
  await one.leave()
  expect([await stateOf(1), await stateOf(2)]).toEqual([suspect, running])
})
