import { networkInterfaces } from 'node:os'
import { describe, expect, test } from 'vitest'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { login, openBrowser, send, startDashboard, startSignedIn } from './emulator-dashboard-stage.ts'
import { controlToken, testSeed } from './emulator-stage.ts'

const unauthorized = { status: 401, json: { success: false, error: { code: 'unauthorized' } } }
const forbidden = { status: 403, json: { success: false, error: { code: 'forbidden' } } }
const elsewhere = { status: 403, json: { error: { message: expect.stringContaining('a page of another origin') } } }

describe('A65 signing in to the dashboard', () => {
  test('takes user and password, and lets the session control the emulator until it is signed out', async () => {
    await using stage = await startDashboard()
    const { browser } = stage
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
    expect(await browser.ask('GET', '/clock')).toMatchObject({ status: 200, json: { data: { mode: 'manual' } } })
    expect(await browser.ask('POST', '/clock/advance', { ms: 1 })).toMatchObject({ status: 200 })

    const { cookie } = browser
    expect((await browser.ask('DELETE', '/session')).json.data).toEqual({ signedIn: false })
    expect(browser.cookie).toBeNull()
    browser.cookie = cookie
    expect(await browser.ask('GET', '/clock')).toMatchObject(unauthorized)
    expect(await browser.ask('DELETE', '/session')).toMatchObject({ status: 200 })
  })

  test('R5 by TLS sets a cookie that goes by TLS only', async () => {
    await using stage = await startDashboard({}, { listen: { host: '127.0.0.1', port: 0, tls: tlsPair } })
    const { headers } = await stage.browser.ask('POST', '/session', login)
    expect(headers['set-cookie']).toEqual([expect.stringMatching(/; Max-Age=43200; Secure$/)])
    expect(await stage.browser.ask('GET', '/clock')).toMatchObject({ status: 200 })
  })

  test('without a login in the seed a password is drawn that none of the known is', async () => {
    await using stage = await startDashboard({}, { seed: testSeed() })
    for (const password of [...Object.values(demoCredentials), login.password, controlToken])
      expect(await stage.browser.ask('POST', '/session', { user: 'admin', password })).toMatchObject(unauthorized)
    expect((await stage.browser.ask('GET', '/session')).json.data.demo).toBeNull()
  })
})

describe('a request with a session', () => {
  const url = 'http://127.0.0.1:1'

  test.each<[string, Record<string, string>]>([
    ['a page of another site', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a page of another port', { 'Sec-Fetch-Site': 'same-site' }],
    ['another origin', { Origin: 'https://evil.example' }],
    ['another port', { Origin: url }],
    ['a sandboxed page', { Origin: 'null' }],
    ['an origin that begins alike', { Origin: 'http://HOST.evil.example' }],
  ])('is refused where it comes from %s, and so are signing in and out', async (_name, headers) => {
    await using stage = await startSignedIn()
    const host = stage.url.slice('http://'.length)
    const given = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value.replace('HOST', host)]),
    )
    expect(await stage.browser.ask('GET', '/clock', undefined, given)).toMatchObject(elsewhere)
    expect(await stage.browser.ask('POST', '/clock/advance', { ms: 1 }, given)).toMatchObject(elsewhere)
    expect(await stage.browser.ask('POST', '/session', login, given)).toMatchObject(elsewhere)
    expect(await stage.browser.ask('DELETE', '/session', undefined, given)).toMatchObject(elsewhere)
    expect(await stage.browser.ask('GET', '/clock')).toMatchObject({ status: 200 })
  })

  test.each<[string, Record<string, string>]>([
    ['typed in by hand', { 'Sec-Fetch-Site': 'none' }],
    ['by TLS that ends in front of it', { Host: 'emulator.example', Origin: 'https://emulator.example' }],
    ['under another name', { Host: 'Emulator.Example:8443', Origin: 'http://emulator.example:8443' }],
    ['behind a proxy with a password of its own', { Authorization: 'Basic YTpi' }],
  ])('passes %s', async (_name, headers) => {
    await using stage = await startSignedIn()
    expect(await stage.browser.ask('GET', '/clock', undefined, headers)).toMatchObject({ status: 200 })
  })

  test('does not open REST, and an unknown path stays unknown only to those who may know', async () => {
    await using stage = await startSignedIn()
    const cookie = { Cookie: stage.browser.cookie ?? '' }
    expect((await send(`${stage.url}/v1/networks`, 'GET', cookie)).status).toBe(401)
    expect((await send(`${stage.url}/_emulator/nothing`, 'GET', cookie)).status).toBe(404)
    expect((await send(`${stage.url}/_emulator/nothing`, 'GET')).status).toBe(401)
    expect((await send(`${stage.url}/_emulator/session/x`, 'GET')).status).toBe(401)
    const put = await send(`${stage.url}/_emulator/session`, 'PUT')
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, POST, DELETE'])
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
  test.skipIf(outside === undefined)('a login of its own is taken, the control token is not', async () => {
    await using stage = await startDashboard({}, { listen })
    const browser = reach(stage.url)
    expect(await browser.ask('GET', '/clock')).toMatchObject(unauthorized)
    expect(await browser.ask('POST', '/session', login)).toMatchObject({ status: 201 })
    expect(await browser.ask('GET', '/clock')).toMatchObject({ status: 200 })
    browser.cookie = null
    const token = { Authorization: `Bearer ${controlToken}` }
    expect(await browser.ask('GET', '/clock', undefined, token)).toMatchObject(forbidden)
  })

  test.skipIf(outside === undefined)('the published login of the demo is neither shown nor taken', async () => {
    await using stage = await startDashboard({ dashboard: published }, { listen })
    const here = openBrowser(stage.url.replace('0.0.0.0', '127.0.0.1'))
    expect((await here.ask('GET', '/session')).json.data.demo).toEqual(published)
    expect(await here.ask('POST', '/session', published)).toMatchObject({ status: 201 })
    expect(await here.ask('GET', '/clock')).toMatchObject({ status: 200 })

    const browser = reach(stage.url)
    expect((await browser.ask('GET', '/session')).json.data).toEqual({ signedIn: false, user: null, demo: null })
    const refused = await browser.ask('POST', '/session', published)
    expect(refused).toMatchObject(forbidden)
    expect(refused.json.error.message).toContain('set another login')
    browser.cookie = here.cookie
    expect(await browser.ask('GET', '/clock')).toMatchObject(forbidden)
  })

  test('the published login is not taken for a name that a page had resolved to this machine', async () => {
    await using stage = await startDashboard({ dashboard: published })
    const rebound = { Host: 'evil.example', Origin: 'http://evil.example' }
    expect(await stage.browser.ask('POST', '/session', published, rebound)).toMatchObject(forbidden)
    expect((await stage.browser.ask('GET', '/session', undefined, rebound)).json.data.demo).toBeNull()
  })
})
