import type { Locator, Page } from 'playwright-core'
import { setUpVisits } from './visits.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { createTestReceiver } from '../integration/emulator-receiver.ts'

/** One page for the tests of a file; for each test an emulator, which serves the built dashboard. */
export function setUpDashboard() {
  const visits = setUpVisits('dashboard', '/_emulator', startDashboardStage)
  const visit = visits.visit.bind(visits)
  return Object.assign(visits, {
    /** Loads the dashboard at a path without a session. */
    visitSignedOut: visit,
    /** Signs in, and loads the dashboard at a path. */
    async visit(path: string) {
      const { url, login } = visits.stage
      await visits.page.context().request.post(`${url}/_emulator/session`, { data: login, headers: { Origin: url } })
      const page = await visit(path)
      // Earlier messages of the stream would be missed.
      await page.getByText('Live', { exact: true }).waitFor()
      return page
    },
  })
}

/** The dialog that is open. */
export function dialogOf(page: Page): Locator {
  return page.getByRole('dialog')
}

export type DashboardStage = Awaited<ReturnType<typeof startDashboardStage>>

/** Acknowledgements don't time out on a busy machine: with a manual clock, such a delivery would not be retried. */
const wall = {
  ...systemClock,
  after: (ms: number, fn: () => void) => systemClock.after(ms === 5_000 ? 600_000 : ms, fn),
}

/** An emulator with a short history, a manual clock and no spontaneous events. It serves the built dashboard and sends to one endpoint. */
async function startDashboardStage(folder: string) {
  const login = { user: 'ada', password: 'password-of-the-test-0001' }
  const receiver = await createTestReceiver(() => {
    return { status: endpoint.status, headers: { 'Content-Type': 'text/html' }, body: '<b>not today</b>' }
  })
  /** Receives all events. Tests change the status of its next responses. */
  const endpoint = { status: 200, received: receiver.requests, url: receiver.url }
  const emulator = createEmulator({
    seed: {
      world: { seed: 'dashboard', startAt: '2026-01-31T00:00:00Z', history: '4h' },
      clock: { mode: 'manual' },
      accounts: [
        {
          name: 'desk',
          plan: 'pro',
          keys: [{ name: 'first', scopes: 'all' }],
          webhooks: [{ url: endpoint.url, events: ['*'] }],
          priceAlerts: 3,
        },
      ],
      dashboard: login,
    },
    listen: { host: '127.0.0.1', port: 0, dashboard: folder },
    wall,
  })
  await emulator.start()
  // Without spontaneous trades, hours pass within milliseconds.
  emulator.world.commands.apply({ kind: 'activity', factor: 0 })
  return {
    url: emulator.url ?? '',
    login,
    emulator,
    endpoint,
    async [Symbol.asyncDispose]() {
      await emulator.stop()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

/** Signs in on the sign-in page. */
export async function signIn(page: Page, { user, password }: DashboardStage['login']): Promise<void> {
  await page.getByLabel('User').fill(user)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}
