import { mkdir, writeFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import type { EmulatorOptions } from '../../src/emulator/emulator.ts'
import type { SeedInput } from '../../src/emulator/seed/schema.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { send } from '../support/exact-request.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { apiKey, controlToken, startStage, testSeed } from './emulator-stage.ts'

const login = { user: 'ada', password: 'password-of-the-test-0001' }

/** Keeps the session cookie and sends the Origin of its page. */
function openBrowser(url: string) {
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

/** A running emulator with a private login, and a browser that is not signed in. */
async function startDashboard(changes: Partial<SeedInput> = {}, options: Partial<EmulatorOptions> = {}) {
  const stage = await startStage({ seed: testSeed({ dashboard: login, ...changes }), ...options })
  const url = stage.emulator.url ?? ''
  return { ...stage, url, browser: openBrowser(url) }
}

const unauthorized = { status: 401, json: { success: false, error: { code: 'unauthorized' } } }
const forbidden = { status: 403, json: { success: false, error: { code: 'forbidden' } } }
const elsewhere = { status: 403, json: { error: { message: expect.stringContaining('a page of another origin') } } }

let shared: Awaited<ReturnType<typeof startDashboard>>
beforeAll(async () => {
  const accounts = [
    { name: 'desk', plan: 'unlimited' as const, keys: [{ name: 'first', key: apiKey, scopes: 'all' as const }] },
    { name: 'other' },
  ]
  shared = await startDashboard({ accounts })
  await shared.browser.ask('POST', '/session', login)
})
afterAll(() => shared[Symbol.asyncDispose]())

test('serves the dashboard at / to everyone; other paths stay as they are', async () => {
  await using dir = await createTempDir()
  await mkdir(join(dir.path, 'assets'))
  await writeFile(join(dir.path, 'index.html'), '<!doctype html><title>the page</title>')
  await writeFile(join(dir.path, 'assets/index-1.js'), '1')
  const options = { listen: { host: '127.0.0.1', port: 0, dashboard: dir.path } }
  await using stage = await startDashboard({}, options)
  const page = await send(`${stage.url}/`, 'GET')
  expect([page.status, page.text]).toEqual([200, '<!doctype html><title>the page</title>'])
  expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'")
  expect((await send(`${stage.url}/assets/index-1.js`, 'GET')).status).toBe(200)
  for (const [method, path, status] of [
    ['GET', '/assets/other.js', 404],
    ['GET', '/_emulators', 404],
    ['POST', '/', 404],
    ['GET', '/v1/networks', 401],
    ['GET', '/_emulator', 401],
  ] as const) {
    expect([path, (await send(`${stage.url}${path}`, method)).status]).toEqual([path, status])
  }
})

describe('A65 signing in', () => {
  test('opens the control API until signing out', async () => {
    const browser = openBrowser(shared.url)
    const nobody = { signedIn: false, user: null, demo: null }
    expect((await browser.ask('GET', '/session')).json.data).toEqual(nobody)
    expect(await browser.ask('GET', '/clock')).toMatchObject(unauthorized)

    const signedIn = await browser.ask('POST', '/session', login)
    expect([signedIn.status, signedIn.json.data]).toEqual([201, { signedIn: true, user: 'ada' }])
    expect(signedIn.headers['set-cookie']).toEqual([
      expect.stringMatching(/^emulator_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/),
    ])
    expect(signedIn.headers['cache-control']).toBe('no-store')
    expect((await browser.ask('GET', '/session')).json.data).toEqual({ ...nobody, signedIn: true, user: 'ada' })
    expect(await browser.ask('POST', '/clock/advance', { ms: 1 })).toMatchObject({ status: 200 })
    expect((await send(`${shared.url}/v1/networks`, 'GET', { Cookie: browser.cookie ?? '' })).status).toBe(401)

    const { cookie } = browser
    expect((await browser.ask('DELETE', '/session')).json.data).toEqual({ signedIn: false })
    expect(browser.cookie).toBeNull()
    browser.cookie = cookie
    expect(await browser.ask('GET', '/clock')).toMatchObject(unauthorized)
    expect(await browser.ask('DELETE', '/session')).toMatchObject({ status: 200 })
  })

  test('R5 over TLS the cookie is Secure', async () => {
    await using stage = await startDashboard({}, { listen: { host: '127.0.0.1', port: 0, tls: tlsPair } })
    const { headers } = await stage.browser.ask('POST', '/session', login)
    expect(headers['set-cookie']).toEqual([expect.stringMatching(/; Max-Age=43200; Secure$/)])
    expect(await stage.browser.ask('GET', '/clock')).toMatchObject({ status: 200 })
  })

  test.each<[string, Record<string, string>]>([
    ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a page on another port', { 'Sec-Fetch-Site': 'same-site' }],
    ['another origin', { Origin: 'https://evil.example' }],
    ['another port', { Origin: 'http://127.0.0.1:1' }],
    ['a sandboxed page', { Origin: 'null' }],
    ['an origin that starts like this one', { Origin: 'http://HOST.evil.example' }],
  ])('and sessions are rejected from %s', async (_name, headers) => {
    const host = shared.url.slice('http://'.length)
    const given = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', host)]),
    )
    for (const [method, path, body] of [
      ['GET', '/clock'],
      ['POST', '/clock/advance', { ms: 1 }],
      ['POST', '/session', login],
      ['DELETE', '/session'],
    ] as const) {
      expect(await shared.browser.ask(method, path, body, given)).toMatchObject(elsewhere)
    }
    expect(await shared.browser.ask('GET', '/clock')).toMatchObject({ status: 200 })
  })

  test.each<[string, Record<string, string>]>([
    ['an address typed by hand', { 'Sec-Fetch-Site': 'none' }],
    ['a TLS proxy', { Host: 'emulator.example', Origin: 'https://emulator.example' }],
    ['another host name', { Host: 'Emulator.Example:8443', Origin: 'http://emulator.example:8443' }],
    ['a proxy with its own password', { Authorization: 'Basic YTpi' }],
  ])('a session works through %s', async (_name, headers) => {
    expect(await shared.browser.ask('GET', '/clock', undefined, headers)).toMatchObject({ status: 200 })
  })
})

describe('from another machine', () => {
  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address
  const listen = { host: '0.0.0.0', port: 0 }
  const reach = (url: string) => openBrowser(url.replace('0.0.0.0', outside ?? ''))
  const published = { user: 'demo', password: demoCredentials.dashboardPassword }

  // Needs an address of this machine that is not loopback.
  test.skipIf(outside === undefined)('accepts a private login, but not the control token', async () => {
    await using stage = await startDashboard({}, { listen })
    const browser = reach(stage.url)
    expect(await browser.ask('GET', '/clock')).toMatchObject(unauthorized)
    expect(await browser.ask('POST', '/session', login)).toMatchObject({ status: 201 })
    expect(await browser.ask('GET', '/clock')).toMatchObject({ status: 200 })
    browser.cookie = null
    const token = { Authorization: `Bearer ${controlToken}` }
    expect(await browser.ask('GET', '/clock', undefined, token)).toMatchObject(forbidden)
  })

  test.skipIf(outside === undefined)('neither shows nor accepts the published login of the demo', async () => {
    await using stage = await startDashboard({ dashboard: published }, { listen })
    const here = openBrowser(stage.url.replace('0.0.0.0', '127.0.0.1'))
    expect((await here.ask('GET', '/session')).json.data.demo).toEqual(published)
    expect(await here.ask('POST', '/session', published)).toMatchObject({ status: 201 })

    const browser = reach(stage.url)
    expect((await browser.ask('GET', '/session')).json.data).toEqual({ signedIn: false, user: null, demo: null })
    const rejected = await browser.ask('POST', '/session', published)
    expect(rejected).toMatchObject(forbidden)
    expect(rejected.json.error.message).toContain('set another login')
    browser.cookie = here.cookie
    expect(await browser.ask('GET', '/clock')).toMatchObject(forbidden)
  })

  test('rejects the published login under a host name resolved to this machine (DNS rebinding)', async () => {
    await using stage = await startDashboard({ dashboard: published })
    const rebound = { Host: 'evil.example', Origin: 'http://evil.example' }
    expect(await stage.browser.ask('POST', '/session', published, rebound)).toMatchObject(forbidden)
    expect((await stage.browser.ask('GET', '/session', undefined, rebound)).json.data.demo).toBeNull()
  })
})

const url = 'https://receiver.example/hook'

async function ask(status: number, method: string, path: string, body?: unknown) {
  const reply = await shared.browser.ask(method, path, body)
  expect([method, path, reply.status, reply.text]).toEqual([method, path, status, reply.text])
  return reply.json.data
}

test('R60 R76 R77 A22 webhooks are created, listed without secrets, changed and deleted', async () => {
  const { secret, ...shown } = await ask(201, 'POST', '/webhooks', { url, events: ['*'] })
  expect(secret).toMatch(/^whsec_[\w-]{32}$/)
  const ids = { webhookId: expect.stringMatching(/^wh_/), accountId: expect.stringMatching(/^acct_/) }
  expect(shown).toEqual({ ...ids, url, events: ['*'], createdAt: expect.stringMatching(/^2026-01-01T/) })
  const body = { account: 'other', url, events: ['token.new_listing'], secret: 'a-secret-of-the-test' }
  const other = await ask(201, 'POST', '/webhooks', body)
  expect(other).not.toHaveProperty('secret')
  expect(other.accountId).not.toBe(shown.accountId)
  expect(await ask(200, 'GET', '/webhooks')).toEqual([shown, other])
  expect((await shared.rest('/webhooks')).json.data).toMatchObject([{ webhook_id: shown.webhookId, url }])

  const path = `/webhooks/${other.webhookId}`
  const change = { url: `${url}/2`, events: ['wallet.large_trade'], secret: 'another-of-the-test' }
  expect(await ask(200, 'PATCH', path, change)).toEqual({ ...other, url: change.url, events: change.events })
  expect(shared.emulator.accounts.endpoint(other.webhookId)).toMatchObject({ secret: change.secret })
  for (const { webhookId } of [shown, other])
    expect(await ask(200, 'DELETE', `/webhooks/${webhookId}`)).toEqual({ webhookId, deleted: true })
  expect(await ask(200, 'GET', '/webhooks')).toEqual([])
  for (const method of ['PATCH', 'DELETE']) await ask(404, method, path, method === 'PATCH' ? { url } : undefined)
})

test('R30 R57 A41 alerts are created, listed and deleted; their secret can be replaced', async () => {
  const token = shared.emulator.world.views.tokens().find(({ network }) => network === 'base')!
  const alert = { type: 'price_above', address: token.address, network: 'base', threshold: 5, webhookUrl: url }
  const common = { alertId: expect.stringMatching(/^alrt_/), status: 'active', createdAt: expect.any(String) }
  const made = await ask(201, 'POST', '/alerts', { ...alert, label: 'five', address: token.address.toLowerCase() })
  const other = await ask(201, 'POST', '/alerts', { ...alert, account: 'other' })
  expect([made, other]).toEqual(['five', null].map((label) => ({ ...alert, ...common, label })))
  expect(await ask(200, 'GET', '/alerts')).toEqual([made, other])

  const secretOf = ({ alertId }: { alertId: string }) => shared.emulator.accounts.endpoint(alertId)?.secret
  const before = secretOf(other)
  const { alertSecret } = await ask(201, 'POST', '/alert-secret', {})
  expect([secretOf(made), secretOf(other)]).toEqual([alertSecret, before])
  await ask(404, 'POST', '/alert-secret', { account: 'none' })
  for (const path of ['/accounts', '/alerts'])
    expect((await shared.browser.ask('GET', path)).text).not.toContain('whsec_')

  for (const { alertId } of [made, other]) {
    expect(await ask(200, 'DELETE', `/alerts/${alertId}`)).toEqual({ alertId, deleted: true })
    await ask(404, 'DELETE', `/alerts/${alertId}`)
  }
})
