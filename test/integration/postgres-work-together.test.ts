import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestClock, systemClock, type Clock } from '../../src/base/clock.ts'
import type { HandlerRoute, Lease, NewItem, Outcome } from '../../src/inbox/port.ts'
import { anEvent, boom, loose, ordered } from '../conformance/stage.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { openStage, type Stage } from './postgres-stage.ts'

const eventCount = process.env['LONG'] ? 50_000 : 400
const keyCount = 15
const replicaCount = 3

const routes: readonly HandlerRoute[] = [
  ordered,
  { ...ordered, name: 'holding', onDead: 'hold' },
  { ...ordered, name: 'latest', latestOnly: true },
  loose,
  { name: 'sink', types: [], order: 'key' },
]
const handlers = routes.map(({ name }) => name)

const server = usePostgres()

type Replica = Stage<Clock>

/** Records violations of order, of exclusive keys and of rising tokens. */
function createWatch() {
  const live = new Map<string, number>()
  const last = new Map<string, number>()
  const tokens = new Map<number, number>()
  const broken: string[] = []
  const laneOf = ({ handler, key, replay }: Lease) => (key === null ? null : `${handler} ${replay?.id ?? 0} ${key}`)
  return {
    broken,
    begins(lease: Lease): void {
      const { runId, token, handler } = lease
      if (token <= (tokens.get(runId) ?? 0)) broken.push(`run ${runId} has the token ${token} again`)
      tokens.set(runId, token)
      const lane = laneOf(lease)
      if (lane === null) return
      const other = live.get(lane)
      if (other !== undefined) broken.push(`runs ${other} and ${runId} of ${lane} at once`)
      if (runId < (last.get(lane) ?? 0)) broken.push(`run ${runId} of ${lane} behind ${last.get(lane)}`)
      live.set(lane, runId)
      last.set(lane, runId)
      if (!handlers.includes(handler)) broken.push(`a run of ${handler}`)
    },
    /** Call before the outcome is sent. */
    ends(lease: Lease): void {
      const lane = laneOf(lease)
      if (lane !== null) live.delete(lane)
    },
  }
}

test(
  'concurrent replicas accept each event once, keep the order of keys, run one run per key, strand no run and have no deadlock',
  { timeout: 1_200_000 },
  async () => {
    const seed = Number(process.env['SEED'] ?? randomInt(2 ** 31))
    console.log(`seed ${seed}`)
    const chances = createTestClock(0, seed)
    const random = () => chances.random()
    const upTo = (n: number) => Math.floor(random() * n)
    const url = await server.createDatabase()
    const watch = createWatch()
    const replicas: Replica[] = []
    for (let n = 0; n < replicaCount; n += 1)
      replicas.push(await openStage(url, routes, { clock: systemClock, replicaId: `replica ${n}` }))
    const wakeAll = () => replicas.forEach(({ work }) => work.wake())
    const late: Lease[] = []
    const results: Record<string, number> = {}
    let added = 0
    let sent = 0
    let accepted = 0

    async function send(replica: Replica, other: Replica): Promise<void> {
      while (sent < eventCount) {
        const first = sent
        sent += 1 + upTo(20)
        const ids = Array.from({ length: sent - first }, (_, n) => `e${first + n}`)
        // In any order, some twice, to two replicas at once.
        const events = ids
          .toSorted(() => random() - 0.5)
          .map((id) => anEvent(id, { key: `k${upTo(keyCount)}`, type: id }))
        const batch = [...events, ...events.slice(0, upTo(3))]
        const answers = await Promise.all([replica, other].map(({ accept }) => accept.accept(batch)))
        accepted += answers.flat().filter((answer) => answer === 'accepted').length
        wakeAll()
        // Pauses, so that some keys have no open run.
        if (upTo(3) === 0) await new Promise((resolve) => systemClock.after(upTo(15), () => resolve(null)))
      }
    }

    function verdictOn(
      lease: Lease,
      seen: readonly { readonly key: string; readonly version: number; readonly value: string }[],
    ): Outcome {
      const times = { runId: lease.runId, token: lease.token, startedAt: 1, endedAt: systemClock.now() }
      const chance = random()
      if (chance < 0.08) return { ...times, kind: 'retry', at: systemClock.now() + upTo(10), error: boom }
      if (chance < 0.12) return { ...times, kind: 'snooze', at: systemClock.now() + upTo(10) }
      if (chance < 0.14 && lease.handler !== 'holding') return { ...times, kind: 'dead', error: boom }
      if (chance < 0.15) return { ...times, kind: 'expired' }
      if (lease.handler === 'sink') return { ...times, kind: 'done' }
      const items: NewItem[] =
        upTo(4) === 0 ? [{ sink: 'sink', key: `k${upTo(4)}`, payload: '1', idempotencyKey: `i${lease.runId}` }] : []
      if (upTo(3) > 0) return { ...times, kind: 'done', effects: { reads: [], writes: [], items } }
      const query = { key: 'count' }
      const found = seen.map(({ key, version }) => ({ key, version }))
      const writes = [{ key: 'count', value: String(Number(seen[0]?.value ?? 0) + 1), expiresAt: null }]
      return { ...times, kind: 'done', effects: { reads: [{ query, found }], writes, items } }
    }

    async function work(replica: Replica, owner: string): Promise<void> {
      for (;;) {
        // One owner of each replica takes all handlers, so that no run is left.
        const asked = handlers
          .toSorted(() => random() - 0.5)
          .slice(0, owner === 'owner 0' ? handlers.length : 1 + upTo(handlers.length))
        const leases = await replica.claim({ handlers: asked, owner, max: 1 + upTo(12) })
        if (leases.length === 0) return
        for (const lease of leases) watch.begins(lease)
        if (upTo(10) === 0) {
          for (const lease of leases) watch.ends(lease)
          await replica.work.release(leases)
          late.push(...leases)
          wakeAll()
          continue
        }
        const seen = new Map<string, Awaited<ReturnType<typeof replica.work.readState>>>()
        for (const handler of handlers) seen.set(handler, await replica.work.readState(handler, { key: 'count' }))
        const verdicts = leases.map((lease) => verdictOn(lease, seen.get(lease.handler) ?? []))
        for (const lease of leases) watch.ends(lease)
        // Some outcomes twice, and some of ended leases.
        const stale = late
          .slice(-3)
          .map((lease): Outcome => ({ runId: lease.runId, token: lease.token, startedAt: 1, endedAt: 2, kind: 'done' }))
        const settled = await replica.work.settle([...verdicts, ...verdicts.slice(0, upTo(2)), ...stale])
        wakeAll()
        for (const [index, result] of settled.entries()) {
          const verdict = verdicts[index]
          if (verdict === undefined) expect(result).toBe('stale')
          else {
            expect(result).not.toBe('stale')
            if (result === 'applied' && verdict.kind === 'done') added += verdict.effects?.writes.length ?? 0
          }
          const what = verdict === undefined ? 'stale' : `${verdict.kind} ${result}`
          results[what] = (results[what] ?? 0) + 1
        }
        late.push(...leases)
      }
    }

    const workers = replicas.flatMap((replica) => [0, 1].map((n) => work(replica, `owner ${n}`)))
    const failed = Promise.all(workers)
    await Promise.race([
      Promise.all(replicas.map((replica, n) => send(replica, replicas[(n + 1) % replicaCount]!))),
      failed,
    ])
    const db = replicas[0]!.db
    const open = () =>
      db.query<{ state: number; count: number }>('SELECT state, count(*) FROM inbox.run WHERE state < 4 GROUP BY state')
    for (let before = -1, rounds = 0; ; rounds += 1) {
      const left = await open()
      const count = left.reduce((sum, row) => sum + row.count, 0)
      if (count === 0) break
      rounds = count === before ? rounds : 0
      if (rounds > 100) throw new Error(`stranded: ${JSON.stringify(left)}; ${JSON.stringify(results)}`)
      before = count
      await Promise.race([new Promise((resolve) => systemClock.after(50, () => resolve(null))), failed])
    }
    await Promise.all(replicas.flatMap(({ work: of }) => [of.retire('owner 0'), of.retire('owner 1')]))
    await failed

    expect(watch.broken).toEqual([])
    const counted = await Promise.all(handlers.map((handler) => replicas[1]!.work.readState(handler, { key: 'count' })))
    expect(counted.flat().reduce((sum, { value }) => sum + Number(value), 0)).toBe(added)
    expect(replicas.map(({ warnings }) => warnings)).toEqual(replicas.map(() => []))
    // All kinds of outcomes occurred.
    for (const what of ['done applied', 'done conflict', 'retry applied', 'snooze applied', 'dead applied', 'stale'])
      expect(results[what], what).toBeGreaterThan(0)
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()))
    const [numbers] = await ask(url, `SELECT max(seq)::integer AS max, count(*)::integer AS count FROM inbox.event`)
    expect(numbers).toEqual({ max: sent, count: sent })
    expect(accepted).toBe(sent)
    const [stats] = await ask<{ deadlocks: string; superseded: string; noted: string }>(
      url,
      `SELECT (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()) AS deadlocks,
       (SELECT count(*) FROM inbox.run WHERE state = 8) AS superseded, (SELECT sum(superseded) FROM inbox.handler) AS noted`,
    )
    expect(stats).toEqual({ deadlocks: '0', superseded: stats?.noted, noted: stats?.noted })
    expect(Number(stats?.noted)).toBeGreaterThan(0)
  },
)
