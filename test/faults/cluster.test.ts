import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createRandomStream } from '../../src/emulator/random.ts'
import { counts } from '../counts.ts'
import { testSecret } from '../support/app.ts'
import { checkDuplicates, countShared, readCluster, ledgerHandler, checkHandled } from '../support/cluster-ledger.ts'
import { startMirroringBalancer } from '../support/cluster-mirror.ts'
import { checkHistory } from '../support/checks.ts'
import { RecordingClient } from '../support/history.ts'
import { Load } from '../support/load.ts'
import { ask, startPostgres } from '../support/postgres.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { startProxy } from '../support/proxy.ts'

const seed = process.env['SEED'] ?? randomBytes(4).toString('hex')
const replicaCount = 3
/** Longer than the silence after which a replica counts as dead. */
const stoppedMs = 12_000

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
  /** Starts a replica, again after an exit with 75: on a busy machine, PostgreSQL may answer too late. */
  const start = (replica: Sidecar): Promise<void> =>
    replica.start().catch((error: unknown) => {
      if (replica.lives.at(-1)?.exit?.code !== 75) throw error
      return start(replica)
    })
  // They start at once; one creates the schema.
  await Promise.all(replicas.map((replica) => start(replica)))
  const up = new Set(replicas)
  const portOf = (replica: Sidecar) => Number(new URL(replica.url).port)
  // Each delivery reaches two replicas at once.
  await using balancer = await startMirroringBalancer(() => [...up].map(portOf))
  using client = new RecordingClient({ url: () => balancer.url })
  const load = new Load({ client, workers: 12, keys: 300, random: () => random.uniform() })

  const pick = () => replicas[random.integer(0, replicaCount - 1)] as Sidecar
  const faults: Readonly<Record<string, () => Promise<void>>> = {
    async kill() {
      const victim = pick()
      up.delete(victim)
      await victim.kill()
      await start(victim)
      up.add(victim)
    },
    async stop() {
      const victim = pick()
      victim.signal('SIGSTOP')
      up.delete(victim)
      // Like a balancer whose health check fails.
      balancer.cut(portOf(victim))
      await wait(random.uniform() < 0.5 ? 500 : stoppedMs)
      victim.signal('SIGCONT')
      up.add(victim)
    },
    async crash() {
      const before = balancer.passed.length
      await postgres.crash(random.integer(500, 1_000))
      expect(balancer.passed.slice(before).map(({ answer }) => answer)).toContain(503)
    },
    async terminate() {
      await ask(
        url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`,
      )
      // More than can be in flight, so some use new connections.
      await load.acknowledgements(40)
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
    const acknowledged = load.acknowledgements(random.integer(1, counts.eventsPerFault))
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
  await balancer.drained()
  const [first] = replicas as [Sidecar]
  await first.drained()
  for (const replica of replicas) expect(await replica.stop()).toEqual({ code: 0, signal: null })

  const found = await readCluster(url)
  expect(found.openRuns).toBe(0)
  expect(checkHandled(found.stored, found.handled)).toEqual([])
  expect(checkDuplicates(balancer.passed, found)).toEqual([])
  expect(countShared(balancer.passed)).toBeGreaterThan(found.stored.length / 2)
  const evidence = {
    requests: client.requests,
    stored: found.stored,
    effects: found.effects,
    lives: replicas.flatMap(({ lives }) => lives),
    output: replicas.map(({ output }) => output.text).join(''),
    secrets: [testSecret, testToken, 'of-the-test'],
  }
  expect(checkHistory(evidence)).toEqual([])
}, 3_600_000)
