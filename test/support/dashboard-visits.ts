import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { launchBrowser, openPage, type WatchedPage } from './browser.ts'
import { shared } from './shared.ts'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../src/base/clock.ts'
import { createEmulator, type Emulator } from '../../src/emulator/emulator.ts'

export interface Visits {
  readonly stage: DashboardStage
  /** The page that the test opened last. */
  readonly opened: WatchedPage
  /** A page that is not signed in. */
  open(): Promise<Page>
  /** A signed-in page at a place. */
  visit(path: string): Promise<Page>
}

/**
 * One emulator for the tests of a file, and a page per test. After each test the page must show no error and no refusal of its content
 * policy.
 */
export function setUpVisits(): Visits {
  let browser: Browser
  let stage: DashboardStage
  let opened: WatchedPage | undefined

  beforeAll(async () => {
    browser = await launchBrowser()
    stage = await startDashboardStage(await shared('dashboard'))
  }, 120_000)
  afterAll(async () => {
    await stage[Symbol.asyncDispose]()
    await browser.close()
  })
  afterEach(async () => {
    stage.endpoint.status = 200
    const complaints = opened?.complaints ?? []
    await opened?.[Symbol.asyncDispose]()
    opened = undefined
    expect(complaints).toEqual([])
  })

  async function open(path: string): Promise<Page> {
    // The browser itself reports a 401.
    opened = await openPage(browser, { url: `${stage.url}/#${path}`, expected: ['401'] })
    return opened.page
  }

  return {
    get stage() {
      return stage
    },
    get opened() {
      if (opened === undefined) throw new Error('no page is open')
      return opened
    },
    open: () => open('/'),
    async visit(path) {
      const page = await open(path)
      await signIn(page, stage.login)
      // Earlier messages of the stream would be missed.
      await page.getByText('Live', { exact: true }).waitFor()
      return page
    },
  }
}

/** The dialog that is open. */
export function dialogOf(page: Page): Locator {
  return page.getByRole('dialog')
}

export interface DashboardStage extends AsyncDisposable {
  readonly url: string
  readonly login: { readonly user: string; readonly password: string }
  readonly emulator: Emulator
  /** Receives all events. */
  readonly endpoint: Endpoint
}

export interface Endpoint extends AsyncDisposable {
  readonly url: string
  /** Status of the next responses. */
  status: number
  /** Requests, oldest first. */
  readonly received: readonly { readonly body: string; readonly signature: string }[]
}

/** Acknowledgements don't time out on a busy machine: with a manual clock, such a delivery would not be retried. */
const wall = {
  ...systemClock,
  after: (ms: number, fn: () => void) => systemClock.after(ms === 5_000 ? 600_000 : ms, fn),
}

/** An emulator with a short history, a manual clock and no spontaneous events. It serves the built dashboard and sends to one endpoint. */
async function startDashboardStage(folder: string): Promise<DashboardStage> {
  const login = { user: 'ada', password: 'password-of-the-test-0001' }
  const endpoint = await startEndpoint()
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
      await endpoint[Symbol.asyncDispose]()
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

async function startEndpoint(): Promise<Endpoint> {
  const received: { body: string; signature: string }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({
        body: Buffer.concat(chunks).toString(),
        signature: String(request.headers['x-service-signature']),
      })
      response.writeHead(endpoint.status, { 'Content-Type': 'text/html' })
      response.end('<b>not today</b>')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const endpoint = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    status: 200,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return endpoint
}

/** The control API of a stage, with its token. */
export function apiOf({ url, emulator }: DashboardStage) {
  return {
    // Tests check the shape.
    async get(path: string): Promise<ReturnType<typeof JSON.parse>> {
      const headers = { Authorization: `Bearer ${emulator.controlToken}` }
      const response = await fetch(`${url}/_emulator${path}`, { headers })
      const { data } = (await response.json()) as { data: unknown }
      return data
    },
  }
}
