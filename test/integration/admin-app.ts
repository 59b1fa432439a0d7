import { createMetrics } from '../../src/admin/metrics.ts'
import { createServer } from 'node:http'
import { createAdminApp } from '../../src/admin/server.ts'
import { createTestClock } from '../../src/clock.ts'
import type { HandlerInfo } from '../../src/dispatch/runner-protocol.ts'
import { createMemoryInbox } from '../../src/inbox/memory.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { readAsEvent } from '../../src/receiver/ingest.ts'
import { silentLogger, type Logger } from '../../src/log.ts'

export const adminToken = 'admin-token-of-the-test'

export interface AppSetup {
  readonly inbox?: Inbox
  readonly handlers?: readonly HandlerInfo[]
  readonly hosts?: readonly string[]
  readonly log?: Logger
}

/** The admin app over an inbox in memory, and what the tests turn. */
export function setUpAdmin({ handlers = [], hosts = [], log = silentLogger, ...given }: AppSetup = {}) {
  const clock = createTestClock()
  const inbox = given.inbox ?? createMemoryInbox({ clock })
  const state = {
    stopping: false,
    healthy: true,
    health: () => (state.healthy ? { ok: true as const } : { ok: false as const, reason: 'no space' }),
  }
  const metrics = createMetrics({ inbox, clock })
  const options = {
    inbox,
    readEvent: readAsEvent,
    now: () => clock.now(),
    metrics,
    handlers: () => handlers,
    token: adminToken,
    hosts,
    state,
    log,
  }
  const app = createServer(createAdminApp(options))
  return { app, inbox, metrics, state }
}
