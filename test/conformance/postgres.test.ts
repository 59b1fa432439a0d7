import { afterAll, beforeAll, describe } from 'vitest'
import { counts } from '../counts.ts'
import { debianPostgres, debianPostgresMajor } from '../support/debian.ts'
import { startPostgres } from '../support/postgres.ts'
import { startPostgresInboxes, type PostgresInboxes } from '../support/postgres-inboxes.ts'
import { describeEffects } from './effects.ts'
import { describeInboxConformance, type ConformanceHarness } from './suite.ts'

/** A harness over a real server without fsync: the tests cut no power. */
function createHarness(start: (stack: AsyncDisposableStack) => Promise<PostgresInboxes>): ConformanceHarness {
  const stack = new AsyncDisposableStack()
  let inboxes: PostgresInboxes
  beforeAll(async () => {
    inboxes = stack.use(await start(stack))
  }, 60_000)
  afterAll(() => stack.disposeAsync())
  return {
    open: (options) => inboxes.open(options),
    reopen: (closed, options) => inboxes.reopen(closed, options),
    crash: (live, options) => inboxes.crash(live, options),
    gate: (live) => inboxes.gate(live),
    hasOwnClock: true,
    freesLater: true,
    walks: counts.postgresWalks,
  }
}

describeInboxConformance(
  'PostgreSQL inbox',
  createHarness(() => startPostgresInboxes()),
)

const programs = await debianPostgres()

describe.skipIf(programs === null)(`PostgreSQL ${debianPostgresMajor} (needs it, or Debian's packages)`, () => {
  const harness = createHarness(async (stack) => {
    const server = stack.use(await startPostgres({ programs: programs! }))
    return startPostgresInboxes(await server.createDatabase('root'))
  })
  if (process.env['LONG']) describeInboxConformance('inbox', harness)
  else describeEffects(harness)
})
