import type { EmulatorOptions } from '../../src/emulator/emulator.ts'
import type { SeedInput } from '../../src/emulator/seed/schema.ts'
import { send } from '../support/exact-request.ts'
import { startStage, testSeed } from './emulator-stage.ts'

export const login = { user: 'ada', password: 'password-of-the-test-0001' }

/** Keeps the session cookie and sends the Origin of its page. */
export function openBrowser(url: string) {
  const browser = {
    /** The latest session cookie. */
    cookie: null as string | null,
    /** A request below `/_emulator` as a page of the dashboard sends it. */
    async ask(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
      const reply = await send(
        `${url}/_emulator${path}`,
        method,
        {
          'Sec-Fetch-Site': 'same-origin',
          ...(method !== 'GET' && { Origin: url }),
          ...(browser.cookie !== null && { Cookie: browser.cookie }),
          ...headers,
        },
        body,
      )
      const [set] = reply.headers['set-cookie'] ?? []
      if (set !== undefined) browser.cookie = set.includes('Max-Age=0') ? null : (set.split(';')[0] ?? null)
      return reply
    },
  }
  return browser
}

export type DashboardStage = Awaited<ReturnType<typeof startDashboard>>

/** A running emulator with a private login, and a browser that is not signed in. */
export async function startDashboard(changes: Partial<SeedInput> = {}, options: Partial<EmulatorOptions> = {}) {
  const stage = await startStage({ seed: testSeed({ dashboard: login, ...changes }), ...options })
  const url = stage.emulator.url ?? ''
  return { ...stage, url, browser: openBrowser(url) }
}

/** The same, signed in. */
export async function startSignedIn(changes: Partial<SeedInput> = {}) {
  const stage = await startDashboard(changes)
  await stage.browser.ask('POST', '/session', login)
  return stage
}
