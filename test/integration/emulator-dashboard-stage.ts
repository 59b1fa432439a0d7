import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestTls } from 'node:https'
import { text } from 'node:stream/consumers'
import type { EmulatorOptions } from '../../src/emulator/emulator.ts'
import type { SeedInput } from '../../src/emulator/seed/schema.ts'
import { startStage, testSeed } from './emulator-stage.ts'

export const login = { user: 'ada', password: 'password-of-the-test-0001' }

export interface Reply {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Read as what the test expects. */
  // eslint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

/** A request with exactly these headers, including any Host, and with an unchanged path, unlike `fetch`. */
export async function send(
  to: string | RequestOptions,
  method: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Reply> {
  const content = body === undefined ? undefined : JSON.stringify(body)
  const json = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(content ?? '') }
  const options = { method, agent: false, rejectUnauthorized: false, headers: { ...(content && json), ...headers } }
  const isSecure = typeof to === 'string' && to.startsWith('https:')
  const outgoing =
    typeof to !== 'string' ? request({ ...to, ...options }) : (isSecure ? requestTls : request)(to, options)
  outgoing.end(content)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const received = await text(response)
  const isJson = response.headers['content-type'] === 'application/json' && received !== ''
  const { statusCode: status, headers: given } = response
  return { status, headers: given, text: received, json: isJson ? JSON.parse(received) : null }
}

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
