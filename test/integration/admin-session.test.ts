import { describe, expect, test } from 'vitest'
import { type Tokens, createSessions } from '../../src/admin/sessions.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { recordingLog } from '../support/recording-log.ts'
import { adminToken, viewerToken } from './admin-app.ts'
import { sessionValue, startAdmin, tokens } from './admin-server.ts'

const session = '/api/v1/session'
const lifetimeMs = 12 * 3_600_000

test.each([
  ['operator', adminToken],
  ['viewer', viewerToken],
])('signing in as %s sets an HttpOnly cookie with a session of 12 hours', async (role, token) => {
  await using stage = await startAdmin()
  const reply = await stage.send(session, { method: 'POST', body: { token } })
  const expiresAt = new Date(stage.clock.now() + lifetimeMs).toISOString()
  expect([reply.status, reply.json]).toEqual([201, { role, expires_at: expiresAt }])
  const [cookie = '', ...others] = reply.headers['set-cookie'] ?? []
  expect(others).toEqual([])
  expect(cookie).toMatch(
    new RegExp(`^inbox_session_${stage.port}=[\\w-]+\\.[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$`),
  )
  expect(cookie).not.toContain(token)
  const headers = { Cookie: cookie.split(';')[0] ?? '' }
  expect((await stage.send(session, { headers })).json).toEqual({ role, expires_at: expiresAt })
  const byToken = await stage.send(session, { headers: { Authorization: `Bearer ${token}` } })
  expect(byToken.json).toEqual({ role, expires_at: null })
})

test('the cookie is Secure if the page was loaded over TLS', async () => {
  await using stage = await startAdmin({ hosts: ['inbox.example'] })
  for (const [scheme, isSecure] of [
    ['https', true],
    ['http', false],
  ] as const) {
    const headers = { Host: 'inbox.example', Origin: `${scheme}://inbox.example`, 'Sec-Fetch-Site': 'same-origin' }
    const reply = await stage.send(session, { method: 'POST', headers, body: { token: adminToken } })
    expect([reply.status, reply.headers['set-cookie']?.[0]?.endsWith('; Secure')]).toEqual([201, isSecure])
  }
})

test('a sign-in must be a small JSON object with a token', async () => {
  await using stage = await startAdmin()
  for (const body of [{}, { token: '' }, { token: 1 }, [adminToken], { token: adminToken, role: 'operator' }, null]) {
    const { status, json, headers } = await stage.send(session, { method: 'POST', body })
    expect([body, status, json]).toMatchObject([body, 400, { error: { code: 'bad_request' } }])
    expect(headers['set-cookie']).toBeUndefined()
  }
  const statusOf = async (headers: Readonly<Record<string, string>>, token = adminToken) =>
    (await stage.send(session, { method: 'POST', headers, body: { token } })).status
  // Pages of other origins can send forms.
  expect(await statusOf({ 'Content-Type': 'application/x-www-form-urlencoded' })).toBe(415)
  expect(await statusOf({}, 'x'.repeat(4_096))).toBe(413)
  expect(await statusOf({ 'Transfer-Encoding': 'chunked' })).toBe(413)
})

test('signing out ends only this session, and deletes the cookie', async () => {
  await using stage = await startAdmin()
  const [headers, other] = [await stage.signIn(adminToken), await stage.signIn(adminToken)]
  const reply = await stage.send(session, { method: 'DELETE', headers })
  expect([reply.status, reply.json]).toEqual([200, { signed_out: true }])
  expect(reply.headers['set-cookie']).toEqual([`${stage.cookie}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0`])
  expect((await stage.send(session, { headers })).status).toBe(401)
  expect((await stage.send(session, { headers: other })).status).toBe(200)
  expect((await stage.send(session, { method: 'DELETE', headers })).json).toEqual({ signed_out: true })
  expect((await stage.send(session, { method: 'DELETE' })).json).toEqual({ signed_out: true })
})

test('only the cookie of this port is used', async () => {
  await using stage = await startAdmin()
  const value = sessionValue('viewer', stage.clock.now())
  const others = `${stage.cookie}=x; inbox_session_1=${value}; ${stage.cookie}=${value}; y`
  expect((await stage.send(session, { headers: { Cookie: others } })).json).toMatchObject({ role: 'viewer' })
  expect((await stage.send(session, { headers: { Cookie: `inbox_session_1=${value}` } })).status).toBe(401)
})

test('after ten failed sign-ins in a minute all sign-ins are rejected', async () => {
  const { log, lines } = recordingLog()
  await using stage = await startAdmin({ log })
  const attempt = (token: string) => stage.send(session, { method: 'POST', body: { token } })
  for (let n = 0; n < 10; n++) expect((await attempt(`wrong-${n}`)).status).toBe(401)
  const limited = await attempt(adminToken)
  expect([limited.status, limited.json]).toMatchObject([429, { error: { code: 'rate_limited' } }])
  expect(limited.headers['retry-after']).toBe('60')
  const line = { level: 'warn', message: 'console sign-in failed', fields: { address: '127.0.0.1' } }
  expect(lines).toEqual(Array.from({ length: 10 }, () => line))
  expect((await stage.send(session, { headers: { Authorization: `Bearer ${adminToken}` } })).status).toBe(200)
  await stage.clock.advance(60_000)
  expect((await attempt(adminToken)).status).toBe(201)
})

test('sign-ins from pages of another origin do not count as failures', async () => {
  await using stage = await startAdmin()
  for (let n = 0; n < 20; n++) {
    const headers = { Origin: 'http://evil.example' }
    expect((await stage.send(session, { method: 'POST', headers, body: { token: 'wrong' } })).status).toBe(403)
  }
  await stage.signIn(adminToken)
})

test('the audit records sign-ins and sign-outs with their caller; a failing audit is logged', async () => {
  const notes: unknown[] = []
  const note: Inbox['note'] = async (...noted) => {
    notes.push(noted)
    if (notes.length > 2) throw new Error('no space')
  }
  const { log, lines } = recordingLog()
  const inbox = { ...(await createMemoryInbox({ clock: createTestClock() })), note }
  await using stage = await startAdmin({ inbox, log })
  const headers = await stage.signIn(viewerToken)
  await stage.send(session, { method: 'DELETE', headers })
  await stage.send(session, { method: 'DELETE', headers })
  const by = 'viewer (session) 127.0.0.1'
  expect(notes).toEqual([
    ['session.begin', { role: 'viewer' }, by],
    ['session.end', { role: 'viewer' }, by],
  ])
  await stage.signIn(adminToken)
  expect(lines).toMatchObject([{ level: 'warn', fields: { by: 'operator (session) 127.0.0.1', error: 'no space' } }])
})

test('the audit names the address, role and user agent of a caller; older entries have no user agent', async () => {
  await using stage = await startAdmin()
  await stage.inbox.note('session.end', {}, 'operator (token) ::1')
  await stage.inbox.note('session.end', {})
  const headers = { Authorization: `Bearer ${adminToken}`, 'User-Agent': `curl/8\t ${'x'.repeat(500)}` }
  expect(await stage.send('/api/v1/pause', { method: 'POST', headers })).toMatchObject({ status: 200 })
  const { json } = await stage.call('GET', '/audit')
  const caller = { by: 'operator (token) 127.0.0.1', user_agent: `curl/8\\u0009 ${'x'.repeat(187)}…` }
  expect(json).toMatchObject({
    data: [caller, { by: null, user_agent: null }, { by: 'operator (token) ::1', user_agent: null }],
  })
})

describe('sessions', () => {
  const find = (value: string, now = 0, of: Tokens = tokens) =>
    createSessions({ tokens: of, now: () => now }).find([value])
  const value = sessionValue('viewer', 0)

  test('are valid for 12 hours in every process with the same tokens', () => {
    expect(find(value, lifetimeMs - 1)).toMatchObject({ role: 'viewer', expiresAt: lifetimeMs })
    expect(find(value, lifetimeMs)).toBeNull()
    for (const of of [
      { ...tokens, operator: 'another-admin-token-of-the-test' },
      { ...tokens, viewer: 'another-viewer-token-of-the-test' },
      { operator: adminToken },
      { operator: viewerToken, viewer: adminToken },
    ])
      expect(find(value, 0, of)).toBeNull()
  })

  test('have only one valid text', () => {
    const [payload = '', signature = ''] = value.split('.')
    const asOperator = Buffer.from(payload, 'base64url').toString().replace('viewer', 'operator')
    // The last of 43 characters has two spare bits: four characters decode to the same bytes.
    const twins = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('')
    for (const forged of [
      `${Buffer.from(asOperator).toString('base64url')}.${signature}`,
      ...twins.filter((twin) => !signature.endsWith(twin)).map((twin) => `${payload}.${signature.slice(0, -1)}${twin}`),
      '',
      '.',
      payload,
      `${payload}.`,
      `.${signature}`,
      `${value}.`,
      `${value}.${signature}`,
      `${value}=`,
      `${payload}=.${signature}`,
      sessionValue('operator', 0, { operator: 'a-token-that-was-guessed', viewer: viewerToken }),
    ])
      expect([forged, find(forged)]).toEqual([forged, null])
  })

  test('stay ended after signing out, even above 10,000', () => {
    let now = 0
    const sessions = createSessions({ tokens, now: () => now })
    const begun = Array.from({ length: 10_001 }, (_, n) => {
      now = n
      return sessions.begin('viewer')
    })
    const [last, later] = [begun.at(-1), sessions.begin('operator')]
    for (const { session: one } of begun) sessions.end(one)
    expect(begun.filter((one) => sessions.find([one.value]) !== null).length).toBe(0)
    expect(sessions.find([later.value])).toEqual(later.session)
    now = lifetimeMs
    sessions.end(later.session)
    expect(sessions.find([last?.value ?? ''])).toBeNull()
    now = lifetimeMs + 1
    expect(sessions.find([sessions.begin('viewer').value])).not.toBeNull()
  })
})
