import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { testSecret } from '../support/app.ts'
import { startBalancer } from '../support/balancer.ts'
import { checkDuplicates, countShared, readCluster, ledgerHandler, checkLedger } from '../support/cluster-ledger.ts'
import { startMirroringBalancer } from '../support/cluster-mirror.ts'
import { startSender } from '../support/cluster-sender.ts'
import { checkHistory } from '../support/checks.ts'
import { RecordingClient } from '../support/history.ts'
import { Load } from '../support/load.ts'
import { ask, startPostgres } from '../support/postgres.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const replicaCount = 3
/** Longer than the silence after which a replica counts as dead. */
const stoppedMs = 12_000
/** Triggers per second. */
const emulatorRate = 40

test(`three replicas lose, reorder and repeat nothing under faults of replicas, PostgreSQL and network (SEED=${seed})`, async () => {
  console.log(`SEED=${seed}`)
  const random = createRandomStream(seed, 'cluster')
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase('cluster')
  await using proxy = await startProxy(postgres.port)
  await using stack = new AsyncDisposableStack()
  const replicas: Sidecar[] = []
  for (let n = 0; n < replicaCount; n++) {
    // One of them reaches the database through a proxy that can stall.
    const own = n === 0 ? url.replace(`:${postgres.port}/`, `:${proxy.port}/`) : url
    const env = { INBOX_DATABASE_URL: own }
    replicas.push(stack.use(await Sidecar.create({ handlers: { 'ledger.mjs': ledgerHandler }, env })))
  }
  // They start at once; one creates the schema.
  await Promise.all(replicas.map((replica) => replica.start()))
  const up = new Set(replicas)
  const portOf = (replica: Sidecar) => Number(new URL(replica.url).port)
  await using balancer = await startBalancer(() => [...up].map(portOf))
  using client = new RecordingClient({ url: () => balancer.url })
  const load = new Load({ client, workers: 24, keys: 300, random: () => random.uniform() })
  // Each delivery of the emulator reaches two replicas at once.
  await using mirror = await startMirroringBalancer(() => [...up].map(portOf))
  await using sender = await startSender({ url: mirror.url, seed, rate: emulatorRate })

  const pick = () => replicas[random.integer(0, replicaCount - 1)] as Sidecar
  const faults: Readonly<Record<string, () => Promise<void>>> = {
    async kill() {
      const victim = pick()
      up.delete(victim)
      await victim.kill()
      await victim.start()
      up.add(victim)
    },
    async stop() {
      const victim = pick()
      victim.signal('SIGSTOP')
      up.delete(victim)
      // Like a balancer whose health check fails.
      balancer.cut(portOf(victim))
      mirror.cut(portOf(victim))
      await wait(random.uniform() < 0.5 ? 500 : stoppedMs)
      victim.signal('SIGCONT')
      up.add(victim)
    },
    crash: () => postgres.crash(random.integer(0, 1_000)),
    async terminate() {
      await ask(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`,
      )
    },
    async stall() {
      proxy.stall()
      await wait(random.integer(500, 3_000))
      proxy.resume()
    },
  }
  const names = Object.keys(faults)

  for (let round = 0; load.events < counts.clusterEvents || round < names.length; round++) {
    const name = names[round % names.length] ?? 'kill'
    const acknowledged = load.acknowledgements(random.integer(1, 400))
    let hasEnded = false
    // A worker ends when its connection breaks, so workers are started again.
    const sending = (async () => {
      while (!hasEnded) await load.run()
    })()
    await acknowledged
    await faults[name]?.()
    hasEnded = true
    load.stop()
    await sending
  }

  await load.heal()
  await sender.finish()
  await mirror.drained()
  const [first] = replicas as [Sidecar]
  await first.drained()
  for (const replica of replicas) expect(await replica.stop()).toEqual({ code: 0, signal: null })

  const found = await readCluster(url)
  expect(found.openRuns).toBe(0)
  const requests = [...client.requests, ...mirror.passed]
  expect(checkLedger(requests, found)).toEqual([])
  const stored = new Set(found.stored.map(({ id }) => id))
  expect([...sender.acknowledged].filter((id) => !stored.has(id))).toEqual([])
  expect(checkDuplicates(requests, found)).toEqual([])
  expect(countShared(mirror.passed)).toBeGreaterThan(sender.sent.length / 2)
  const evidence = {
    requests,
    stored: found.stored,
    effects: found.effects,
    lives: replicas.flatMap(({ lives }) => lives),
    output: replicas.map(({ output }) => output.text).join(''),
    secrets: [testSecret, testToken, 'of-the-test'],
  }
  expect(checkHistory(evidence)).toEqual([])
}, 3_600_000)

test('returns 503 within a second while PostgreSQL is away, and 200 within 5 s of its return', async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase('cluster')
  await using replica = await Sidecar.start({
    handlers: { 'ledger.mjs': ledgerHandler },
    env: { INBOX_DATABASE_URL: url },
  })
  using client = new RecordingClient({ url: () => replica.url })
  const load = new Load({ client, workers: 4, keys: 10, random: Math.random })
  const acknowledged = load.acknowledgements(20)
  const sending = load.run()
  await acknowledged
  const downAt = performance.now()
  await postgres.crash(3_000)
  const backAt = performance.now()
  await load.acknowledgements(20)
  const resumedMs = performance.now() - backAt
  load.stop()
  await sending
  const refused = client.requests.filter(({ answer, startedAt }) => answer === 503 && startedAt > downAt)
  expect(refused.length).toBeGreaterThan(0)
  expect(Math.max(...refused.map(({ startedAt, endedAt }) => endedAt - startedAt))).toBeLessThan(1_000)
  expect(resumedMs).toBeLessThan(5_000)
  await until(async () => (await fetch(new URL('/readyz', replica.url))).status === 200, 'the replica is ready again')
})
