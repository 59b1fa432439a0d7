import { createMetrics } from '../../src/admin/metrics.ts'
import { createServer } from 'node:http'
import { createAdminApp, type AdminAppOptions } from '../../src/admin/server.ts'
import { createTestClock } from '../../src/base/clock.ts'
import type { HandlerInfo } from '../../src/dispatch/runner-protocol.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { readAsEvent } from '../../src/receiver/readers.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'

export const adminToken = 'admin-token-of-the-test'
export const viewerToken = 'viewer-token-of-the-test'

export interface AppSetup {
  readonly inbox?: Inbox
  readonly handlers?: readonly HandlerInfo[]
  readonly hosts?: readonly string[]
  readonly log?: Logger
  /** Overrides of the app's default options. */
  readonly more?: Partial<AdminAppOptions>
}

/** The admin app with an inbox in memory, and state that tests change. */
export async function setUpAdmin({
  handlers = [],
  hosts = [],
  log = silentLogger,
  more = {},
  ...given
}: AppSetup = {}) {
  const clock = createTestClock()
  const inbox = given.inbox ?? (await createMemoryInbox({ clock }))
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
    viewerToken,
    hosts,
    state,
    log,
    clock,
    ...more,
  }
  const admin = createAdminApp(options)
  return { app: createServer(admin), admin, inbox, metrics, state, clock }
}
