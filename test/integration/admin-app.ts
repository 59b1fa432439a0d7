import { createMetrics } from '../../src/admin/metrics.ts'
import { createServer } from 'node:http'
import { createAdminApp, type AdminAppOptions } from '../../src/admin/server.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { readAsEvent } from '../../src/receiver/readers.ts'
import { silentLogger } from '../../src/base/log.ts'

export const adminToken = 'admin-token-of-the-test'
export const viewerToken = 'viewer-token-of-the-test'

export interface AdminOverrides extends Partial<AdminAppOptions> {
  readonly inbox?: Inbox
}

/** The admin app with an inbox in memory, and state that tests change. */
export async function setUpAdmin(overrides: AdminOverrides = {}) {
  const clock = createTestClock()
  const inbox = overrides.inbox ?? (await createMemoryInbox({ clock }))
  const state = {
    stopping: false,
    healthy: true,
    health: () => (state.healthy ? { ok: true as const } : { ok: false as const, reason: 'no space' }),
  }
  const metrics = createMetrics({ inbox, clock })
  const options = {
    readEvent: readAsEvent,
    now: () => clock.now(),
    metrics,
    handlers: () => [],
    token: adminToken,
    viewerToken,
    hosts: [],
    state,
    log: silentLogger,
    clock,
    ...overrides,
    inbox,
  }
  const admin = createAdminApp(options)
  return { app: createServer(admin), admin, inbox, metrics, state, clock }
}
