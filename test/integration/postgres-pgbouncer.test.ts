import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createDatabase } from '../../src/inbox/postgres/database.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { anEvent, ordered } from '../conformance/stage.ts'
import { findBouncer, startBouncer, type TestBouncer } from '../support/pgbouncer.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { until } from '../support/until.ts'

const program = await findBouncer()
/** Fewer than one replica has connections, so that sessions are shared. */
const sessions = 6

describe.skipIf(program === null)("a PgBouncer in transaction mode (needs pgbouncer, or Debian's packages)", () => {
  const server = usePostgres()
  let bouncer: TestBouncer
  beforeAll(async () => {
    bouncer = await startBouncer(program!, Number(new URL(await server.createBare()).port), sessions)
  })
  afterAll(() => bouncer[Symbol.asyncDispose]())

  async function aDatabase(): Promise<{ direct: string; url: string }> {
    const direct = await server.createDatabase()
    return { direct, url: bouncer.through(direct) }
  }

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

  test('sends no notifications, so replicas warn and find the work of others by polling; they continue after a kill of PgBouncer', async () => {
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
    await one.accept([anEvent('a')])
    const leases = await claim
    expect(leases).toMatchObject([{ event: { id: 'a' } }])
    await other.release(leases)

    await bouncer.restart(300)
    const ids = Array.from({ length: 20 }, (_, n) => `e${n}`)
    const accepting = ids.map((id, n) =>
      until(
        () =>
          (n % 2 === 0 ? one : other).accept([anEvent(id)]).then(
            () => true,
            () => false,
          ),
        `${id} is accepted`,
      ),
    )
    await Promise.all(accepting)
    const done: string[] = []
    while (done.length < 21) {
      const taken = await one.claim({ handlers: [ordered.name], max: 9, owner: 'it', suspects: false })
      await one.settle(taken.map((lease) => ({ ...lease, startedAt: 0, endedAt: 0, kind: 'done' })))
      done.push(...taken.map(({ event }) => event.id))
    }
    expect(done.toSorted()).toEqual(['a', ...ids].toSorted())
    // No shared session listens on behalf of a client that is gone.
    await ask(direct, `SELECT pg_notify('inbox_wake', '')`)
    expect(await bouncer.log()).not.toMatch(/got packet 'A'/)
  })
})
