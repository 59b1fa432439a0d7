import { afterAll, beforeAll } from 'vitest'
import { counts } from '../counts.ts'
import { startPostgresInboxes, type PostgresInboxes } from '../support/postgres-inboxes.ts'
import { describeInboxConformance, type ConformanceHarness } from './suite.ts'

// A real server without fsync: the tests cut no power.
let inboxes: PostgresInboxes

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
}, 60_000)
afterAll(() => inboxes[Symbol.asyncDispose]())

const harness: ConformanceHarness = {
  open: (options) => inboxes.open(options),
  reopen: (closed, options) => inboxes.reopen(closed, options),
  crash: (live, options) => inboxes.crash(live, options),
  gate: (live) => inboxes.gate(live),
  hasOwnClock: true,
  freesLater: true,
  walks: counts.postgresWalks,
}

describeInboxConformance('PostgreSQL inbox', harness)
