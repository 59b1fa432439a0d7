import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aFullEvent } from '../conformance/search.ts'
import { describeEffects } from '../conformance/effects.ts'
import { Stage, idsOf } from '../conformance/stage.ts'
import { describeInboxConformance, type ConformanceHarness } from '../conformance/suite.ts'
import { counts } from '../counts.ts'
import { debianPostgres, debianPostgresMajor } from '../support/debian.ts'
import { startPostgres } from '../support/postgres.ts'
import { startPostgresInboxes, type PostgresInboxes } from '../support/postgres-inboxes.ts'

const programs = await debianPostgres()

describe.skipIf(programs === null)(`PostgreSQL ${debianPostgresMajor} (needs it, or Debian's packages)`, () => {
  const stack = new AsyncDisposableStack()
  let inboxes: PostgresInboxes
  beforeAll(async () => {
    const server = stack.use(await startPostgres({ programs: programs! }))
    inboxes = stack.use(await startPostgresInboxes(await server.createDatabase('root')))
  }, 60_000)
  afterAll(() => stack.disposeAsync())

  const harness: ConformanceHarness = {
    open: (options) => inboxes.open(options),
    reopen: (closed, options) => inboxes.reopen(closed, options),
    crash: (live, options) => inboxes.crash(live, options),
    gate: (live) => inboxes.gate(live),
    walks: counts.postgresWalks,
    freesLater: true,
  }

  test('dedupes events, keeps the order of a key, replays and searches', async () => {
    await using stage = await Stage.open(harness)
    const event = (id: string, note: string) => aFullEvent(id, { key: 'k' }, { note })
    await stage.accept(event('a', 'first'), event('b', 'second'))
    expect(await stage.inbox.accept([event('a', 'first')])).toEqual(['duplicate'])
    for (const id of ['a', 'b']) {
      const leases = await stage.claim()
      expect(idsOf(leases)).toEqual([id])
      await stage.done(...leases)
    }
    const { data } = await stage.inbox.events({ limit: 10, q: 'second' })
    expect(data.map(({ id, status }) => [id, status])).toEqual([['b', 'done']])

    await stage.inbox.startReplay({ filter: { ids: ['a'] }, perSecond: null, newKeys: false })
    const again = stage.claim()
    await stage.clock.advance(1_000)
    expect(await again).toMatchObject([{ event: { id: 'a' }, replay: { newKeys: false } }])
  })

  describeEffects(harness)
  if (process.env['LONG']) {
    describeInboxConformance('PostgreSQL 15 inbox', harness)
  }
})
