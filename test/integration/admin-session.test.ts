import { expect, test } from 'vitest'
import { type Tokens, createSessions } from '../../src/admin/sessions.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { recordingLog } from '../support/recording-log.ts'
import { adminToken, viewerToken } from './admin-app.ts'
import { sessionValue, startAdmin, tokens } from './admin-server.ts'

const session = '/api/v1/session'
const hours = 3_600_000

/** An inbox in memory that keeps what is noted in the audit. */
async function notingInbox() {
  const notes: unknown[] = []
  const note: Inbox['note'] = async (action, detail, by) => void notes.push([action, detail, by])
  return { inbox: Object.assign(await createMemoryInbox({ clock: createTestClock() }), { note }), notes }
}

test.each([
  ['operator', adminToken],
  ['viewer', viewerToken],
])('signing in as %s gives a session of 12 hours in a cookie that no script reads', async (role, token) => {
  await using stage = await startAdmin()
  const reply = await stage.send(session, { method: 'POST', body: { token } })
  const expiresAt = new Date(stage.clock.now() + 12 * hours).toISOString()
  expect([reply.status, reply.json]).toEqual([201, { role, expires_at: expiresAt }])
  const [cookie = '', ...others] = reply.headers['set-cookie'] ?? []
  expect(others).toEqual([])
  expect(cookie).toMatch(
    new RegExp(`^inbox_session_${stage.port}=[\\w-]+\\.[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200$`),
  )
  expect(cookie).not.toContain(token)
  const headers = { Cookie: cookie.split(';')[0] ?? '' }
  expect((await stage.send(session, { headers })).json).toEqual({ role, expires_at: expiresAt })
  expect((await stage.send('/api/v1/events', { headers })).status).toBe(200)
})

test('of a page that came by TLS the cookie goes by TLS only', async () => {
  await using stage = await startAdmin({ hosts: ['inbox.example'] })
  const headers = { Host: 'inbox.example', Origin: 'https://inbox.example', 'Sec-Fetch-Site': 'same-origin' }
  const reply = await stage.send(session, { method: 'POST', headers, body: { token: adminToken } })
  expect([reply.status, reply.headers['set-cookie']?.[0]]).toEqual([201, expect.stringMatching(/; Secure$/)])
  const plain = { Host: 'inbox.example', Origin: 'http://inbox.example' }
  const other = await stage.send(session, { method: 'POST', headers: plain, body: { token: adminToken } })
  expect([other.status, other.headers['set-cookie']?.[0]]).toEqual([201, expect.not.stringContaining('Secure')])
})

test('without a session or with a token GET says who one is', async () => {
  await using stage = await startAdmin()
  const none = await stage.send(session)
  expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer'])
  for (const [role, token] of Object.entries(tokens)) {
    const { json } = await stage.send(session, { headers: { Authorization: `Bearer ${token}` } })
    expect(json).toEqual({ role, expires_at: null })
  }
})

test.each([[{}], [{ token: '' }], [{ token: 1 }], [[adminToken]], [{ token: adminToken, role: 'operator' }], [null]])(
  'a sign-in with the body %j is refused with what was expected',
  async (body) => {
    await using stage = await startAdmin()
    const { status, json, headers } = await stage.send(session, { method: 'POST', body })
    expect([status, json]).toMatchObject([400, { error: { code: 'bad_request' } }])
    expect(headers['set-cookie']).toBeUndefined()
  },
)

test('a sign-in from a form, as a page of another origin can send it, is not read', async () => {
  await using stage = await startAdmin()
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  expect((await stage.send(session, { method: 'POST', headers, body: { token: adminToken } })).status).toBe(415)
})

test('a sign-in that is larger than any can be, or does not say how large it is, is not read', async () => {
  await using stage = await startAdmin()
  const large = await stage.send(session, { method: 'POST', body: { token: 'x'.repeat(4_096) } })
  expect([large.status, large.json]).toMatchObject([413, { error: { code: 'body_too_large' } }])
  const headers = { 'Transfer-Encoding': 'chunked' }
  expect((await stage.send(session, { method: 'POST', headers, body: { token: adminToken } })).status).toBe(413)
})

test('a session ends after 12 hours, and not before', async () => {
  await using stage = await startAdmin()
  const headers = await stage.signIn(adminToken)
  await stage.clock.advance(12 * hours - 1)
  expect((await stage.send(session, { headers })).status).toBe(200)
  await stage.clock.advance(1)
  expect((await stage.send(session, { headers })).status).toBe(401)
})

test('signing out ends this session for good, here, and no other; the cookie goes', async () => {
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

test('a session outlives a restart and holds on all replicas, until a token is changed', async () => {
  await using stage = await startAdmin()
  const headers = stage.withCookie(sessionValue('operator', stage.clock.now()))
  expect((await stage.send(session, { headers })).status).toBe(200)
  const others: readonly Tokens[] = [
    { ...tokens, operator: 'another-admin-token-of-the-test' },
    { ...tokens, viewer: 'another-viewer-token-of-the-test' },
    { operator: adminToken },
    { operator: viewerToken, viewer: adminToken },
  ]
  for (const changed of others) {
    await using other = await startAdmin({ more: { token: changed.operator, viewerToken: changed.viewer } })
    const same = other.withCookie(sessionValue('operator', other.clock.now()))
    expect((await other.send(session, { headers: same })).status).toBe(401)
  }
})

test('no spelling of a session but its own is taken', async () => {
  await using stage = await startAdmin()
  const value = sessionValue('viewer', stage.clock.now())
  const [payload = '', signature = ''] = value.split('.')
  const asOperator = Buffer.from(payload, 'base64url').toString().replace('viewer', 'operator')
  const last = signature.slice(-1)
  // The last of 43 characters has two bits too many: four characters stand for the same bytes.
  const twins = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('').filter((c) => c !== last)
  const forged = [
    `${Buffer.from(asOperator).toString('base64url')}.${signature}`,
    ...twins.map((twin) => `${payload}.${signature.slice(0, -1)}${twin}`),
    `${payload}.`,
    `${payload}`,
    `.${signature}`,
    '.',
    '',
    `${value}.`,
    `${value}.${signature}`,
    `${payload}=.${signature}`,
    `${payload}.${signature}=`,
    sessionValue('operator', stage.clock.now(), { operator: 'a-token-somebody-guessed', viewer: viewerToken }),
  ]
  for (const other of forged) {
    const { status } = await stage.send(session, { headers: stage.withCookie(other) })
    expect([other, status]).toEqual([other, 401])
  }
  const others = `${stage.cookie}=x; inbox_session_1=${value}; ${stage.cookie}=${value}; y`
  expect((await stage.send(session, { headers: { Cookie: others } })).json).toMatchObject({ role: 'viewer' })
  expect((await stage.send(session, { headers: { Cookie: `inbox_session_1=${value}` } })).status).toBe(401)
})

test('a request with both is judged by its token, right or wrong', async () => {
  await using stage = await startAdmin()
  const both = async (token: string, own: string) => {
    const headers = { ...(await stage.signIn(own)), Authorization: `Bearer ${token}` }
    return (await stage.send('/api/v1/pause', { method: 'POST', headers })).status
  }
  expect(await both(viewerToken, adminToken)).toBe(403)
  expect(await both(adminToken, viewerToken)).toBe(200)
  expect(await both('x', adminToken)).toBe(401)
  const proxied = { ...(await stage.signIn(adminToken)), Authorization: 'Basic cHJveHk6cHJveHk=' }
  expect((await stage.send('/api/v1/events', { headers: proxied })).status).toBe(200)
})

test('ten wrong sign-ins in a minute are looked at; of what comes then nothing is, the right token included', async () => {
  const { log, lines } = recordingLog()
  await using stage = await startAdmin({ log })
  const attempt = (token: string) => stage.send(session, { method: 'POST', body: { token } })
  for (let n = 0; n < 10; n++) expect((await attempt(`wrong-${n}`)).status).toBe(401)
  const limited = await attempt(adminToken)
  expect([limited.status, limited.json]).toMatchObject([429, { error: { code: 'rate_limited' } }])
  expect(limited.headers['retry-after']).toBe('60')
  const address = '127.0.0.1'
  const line = { level: 'warn', message: 'a sign-in to the console failed', fields: { address } }
  expect(lines).toEqual(Array.from({ length: 10 }, () => line))
  expect((await stage.send(session, { headers: { Authorization: `Bearer ${adminToken}` } })).status).toBe(200)
  await stage.clock.advance(60_000)
  expect((await attempt(adminToken)).status).toBe(201)
})

test('what a page of another origin sends is not counted: it can keep nobody from signing in', async () => {
  await using stage = await startAdmin()
  for (let n = 0; n < 20; n++) {
    const headers = { Origin: 'http://evil.example' }
    expect((await stage.send(session, { method: 'POST', headers, body: { token: 'wrong' } })).status).toBe(403)
  }
  await stage.signIn(adminToken)
})

test('signing in and out is noted with who and from where, once each, and never with a secret', async () => {
  const { inbox, notes } = await notingInbox()
  await using stage = await startAdmin({ inbox })
  const headers = await stage.signIn(viewerToken)
  await stage.send(session, { method: 'DELETE', headers })
  await stage.send(session, { method: 'DELETE', headers })
  await stage.send(session, { method: 'POST', body: { token: 'wrong' } })
  const by = 'viewer (session) 127.0.0.1'
  expect(notes).toEqual([
    ['session.begin', { role: 'viewer' }, by],
    ['session.end', { role: 'viewer' }, by],
  ])
})

test('where the audit cannot be written one gets in all the same, and the log says so', async () => {
  const { inbox } = await notingInbox()
  inbox.note = () => Promise.reject(new Error('no space'))
  const { log, lines } = recordingLog()
  await using stage = await startAdmin({ inbox, log })
  await stage.signIn(adminToken)
  expect(lines).toMatchObject([{ level: 'warn', fields: { by: 'operator (session) 127.0.0.1', error: 'no space' } }])
})

test('of sessions that were signed out 10,000 are remembered; beyond that more end, and none comes back', () => {
  let now = 0
  const sessions = createSessions({ tokens, now: () => now })
  const begun = Array.from({ length: 10_001 }, (_, n) => {
    now = n
    return sessions.begin('viewer')
  })
  const [last, later] = [begun.at(-1), sessions.begin('operator')]
  for (const { session: one } of begun) sessions.end(one)
  expect(begun.filter(({ value }) => sessions.find([value]) !== null).length).toBe(0)
  expect(sessions.find([later.value])).toEqual(later.session)
  now = 12 * hours
  sessions.end(later.session)
  expect(sessions.find([last?.value ?? ''])).toBeNull()
  now = 12 * hours + 1
  expect(sessions.find([sessions.begin('viewer').value])).not.toBeNull()
})
