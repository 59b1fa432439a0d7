import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createDatabase } from '../../src/inbox/postgres/database.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { anEvent, ordered } from '../conformance/stage.ts'
import { testSecret } from '../support/app.ts'
import { startBalancer } from '../support/balancer.ts'
import { checkHistory } from '../support/checks.ts'
import { checkLedger, ledgerHandler, readCluster } from '../support/cluster-ledger.ts'
import { RecordingClient } from '../support/history.ts'
import { Load } from '../support/load.ts'
import { findBouncer, startBouncer, type TestBouncer } from '../support/pgbouncer.ts'
import { ask, startPostgres, type TestPostgres } from '../support/postgres.ts'
import { Sidecar, testToken } from '../support/sidecar.ts'
import { until } from '../support/until.ts'

const program = await findBouncer()
/** Fewer than one replica has connections, so that sessions are shared. */
const sessions = 6

describe.skipIf(program === null)("a PgBouncer in transaction mode (needs pgbouncer, or Debian's packages)", () => {
  const stack = new AsyncDisposableStack()
  let postgres: TestPostgres
  let bouncer: TestBouncer
  let databases = 0
  beforeAll(async () => {
    postgres = stack.use(await startPostgres())
    bouncer = stack.use(await startBouncer(program!, postgres.port, sessions))
  })
  afterAll(() => stack.disposeAsync())

  async function aDatabase(): Promise<{ direct: string; url: string }> {
    const direct = await postgres.createDatabase(`pooled_${databases++}`)
    return { direct, url: bouncer.through(direct) }
  }

  test('two replicas lose, reorder and repeat nothing when a replica, PgBouncer or PostgreSQL is killed', async () => {
    const { direct, url } = await aDatabase()
    await using replicas = new AsyncDisposableStack()
    const env = { INBOX_DATABASE_URL: url }
    const create = async () => replicas.use(await Sidecar.create({ handlers: { 'ledger.mjs': ledgerHandler }, env }))
    const both = [await create(), await create()] as const
    await Promise.all(both.map((replica) => replica.start()))
    const up = new Set(both)
    await using balancer = await startBalancer(() => [...up].map((replica) => Number(new URL(replica.url).port)))
    using client = new RecordingClient({ url: () => balancer.url })
    const load = new Load({ client, workers: 16, keys: 60, random: Math.random })

    const faults = [
      () => bouncer.restart(300),
      () => postgres.crash(300),
      async () => {
        const [victim] = both
        up.delete(victim)
        await victim.kill()
        await victim.start()
        up.add(victim)
      },
    ]
    for (const fault of faults) {
      let hasEnded = false
      const acknowledged = load.acknowledgements(200)
      // A worker ends when its connection breaks, so workers are started again.
      const sending = (async () => {
        while (!hasEnded) await load.run()
      })()
      await acknowledged
      await fault()
      hasEnded = true
      load.stop()
      await sending
    }

    await load.heal()
    await both[1].drained()
    for (const replica of both) expect(await replica.stop()).toEqual({ code: 0, signal: null })
    const found = await readCluster(direct)
    expect(found.openRuns).toBe(0)
    expect(checkLedger(client.requests, found)).toEqual([])
    const evidence = {
      requests: client.requests,
      stored: found.stored,
      effects: found.effects,
      lives: both.flatMap(({ lives }) => lives),
      output: both.map(({ output }) => output.text).join(''),
      secrets: [testSecret, testToken, 'of-the-test'],
    }
    expect(checkHistory(evidence)).toEqual([])
  }, 120_000)

  test('cancels a slow statement in the server, and runs the next one', async () => {
    const { direct, url } = await aDatabase()
    const db = createDatabase({ url, statementMs: 200 })
    onTestFinished(() => db.close())
    // The server's message shows that the statement was cancelled, not just abandoned.
    const message = expect.stringMatching(/canceling statement/)
    await expect(db.query('SELECT pg_sleep(60)')).rejects.toMatchObject({ code: 'store_unavailable', message })
    const running = `SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'`
    expect(await ask(direct, running)).toEqual([])
    expect(await db.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('sends no notifications, so a replica finds the work of another by polling within two seconds, and warns once', async () => {
    const { direct, url } = await aDatabase()
    const warnings: string[] = []
    const open = async () => {
      const inbox = await createPostgresInbox({
        url,
        clock: systemClock,
        onWarning: (text) => void warnings.push(text),
      })
      onTestFinished(() => inbox.close())
      return inbox
    }
    const [one, other] = [await open(), await open()]
    await other.register([ordered])
    await one.register([ordered])
    await until(() => warnings.length === 2, 'both replicas warn')
    expect(new Set(warnings)).toEqual(new Set(['pooler prevents notifications, polling instead']))

    const claim = other.claim({ handlers: [ordered.name], max: 1, owner: 'it', suspects: false })
    const acceptedAt = performance.now()
    await one.accept([anEvent('a')])
    const leases = await claim
    expect(performance.now() - acceptedAt).toBeLessThan(3_000)
    expect(leases).toMatchObject([{ event: { id: 'a' } }])
    await other.release(leases)
    // No shared session listens on behalf of a client that is gone.
    await ask(direct, `SELECT pg_notify('inbox_wake', '')`)
    expect(await bouncer.log()).not.toMatch(/got packet 'A'/)
  })
})
