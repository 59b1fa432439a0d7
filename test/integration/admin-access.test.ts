import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGuard } from '../../src/admin/auth.ts'
import { routes } from '../../src/admin/routes.ts'
import { createConsolePages } from '../../src/admin/server.ts'
import { adminToken, viewerToken } from './admin-app.ts'
import { sessionValue, startAdmin } from './admin-server.ts'

type Stage = Awaited<ReturnType<typeof startAdmin>>
type Headers = Readonly<Record<string, string>>
type Callers = readonly (readonly [who: string, headers: (stage: Stage) => Headers])[]

const lifetimeMs = 12 * 3_600_000
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const sessionOf = (stage: Stage, role: 'operator' | 'viewer', ageMs = 0) =>
  stage.withCookie(sessionValue(role, stage.clock.now() - ageMs))

const wrongTokens = [
  'Bearer ',
  `Bearer ${adminToken}x`,
  `Bearer ${adminToken.slice(0, -1)}`,
  `Bearer ${adminToken} ${adminToken}`,
  adminToken,
]
const outside: Callers = [
  ['nobody', () => ({})],
  ...wrongTokens.map((Authorization) => [Authorization, () => ({ Authorization })] as const),
  ['an expired session', (s) => sessionOf(s, 'operator', lifetimeMs)],
  ['a forged session', (s) => s.withCookie(`${sessionValue('operator', s.clock.now())}A`)],
  ['a wrong token with a session', (s) => ({ ...sessionOf(s, 'operator'), ...bearer('wrong') })],
]
const viewers: Callers = [
  ['a viewer token', () => bearer(viewerToken)],
  ['a viewer session', (s) => sessionOf(s, 'viewer')],
  ['a viewer token with an operator session', (s) => ({ ...sessionOf(s, 'operator'), ...bearer(viewerToken) })],
]
const operators: Callers = [
  ['the operator token', () => bearer(adminToken)],
  ['the scheme in lower case', () => ({ Authorization: `bearer ${adminToken}` })],
  ['an operator session', (s) => sessionOf(s, 'operator', lifetimeMs - 1)],
  [
    'an operator session with credentials for a proxy',
    (s) => ({ ...sessionOf(s, 'operator'), Authorization: 'Basic cHJveHk=' }),
  ],
  ['the operator token with a viewer session', (s) => ({ ...sessionOf(s, 'viewer'), ...bearer(adminToken) })],
]

interface Place {
  readonly method: string
  readonly path: string
  readonly role: 'anyone' | 'viewer' | 'operator'
}

const places: readonly Place[] = [
  ...['/metrics', '/api/v1/stream', '/api/v1/session', '/api/v1/events/a/raw'].map((path) => ({
    method: 'GET',
    path,
    role: 'viewer' as const,
  })),
  ...['/', '/healthz', '/readyz'].map((path) => ({ method: 'GET', path, role: 'anyone' as const })),
  ...routes.map(({ method, path, role }) => ({
    method: method.toUpperCase(),
    path: `/api/v1${path.replace(/:\w+/g, 'a')}`,
    role,
  })),
]

/** One place that only reads, and one that changes. */
const samples = places.filter(({ path }) => ['/metrics', '/api/v1/pause'].includes(path))

describe('access', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await startAdmin({ pages: await createConsolePages('/nowhere/at/all') })
  })
  afterAll(() => stage[Symbol.asyncDispose]())

  test.each([
    ['callers without a valid credential may do nothing', outside, 401, 401],
    ['viewers may only read', viewers, null, 403],
    ['operators may do everything', operators, null, null],
  ])('%s', async (_name, callers, toSee, toDo) => {
    for (const place of places) {
      const { method, path, role } = place
      for (const [who, headersOf] of samples.includes(place) ? callers : callers.slice(0, 1)) {
        const sent = { method, headers: headersOf(stage), ...(method !== 'GET' && { body: {} }) }
        const { status, headers, json, text } = await stage.send(path, sent)
        const expected = role === 'anyone' ? null : role === 'viewer' ? toSee : toDo
        expect([method, path, who, [401, 403].includes(status) ? status : null]).toEqual([method, path, who, expected])
        const code = expected === 401 ? 'unauthorized' : 'forbidden'
        if (expected !== null) expect(json).toMatchObject({ error: { code } })
        expect(headers['www-authenticate']).toBe(expected === 401 ? 'Bearer' : undefined)
        expect(text).not.toContain(adminToken)
        expect(Object.keys(headers).filter((name) => /^access-control|^x-powered-by/.test(name))).toEqual([])
        if (path === '/') continue
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          'cross-origin-resource-policy': 'same-origin',
        })
      }
    }
  })

  test('unknown paths and methods are 401 without a credential', async () => {
    const asViewer = (path: string, method = 'GET') => stage.send(path, { method, headers: bearer(viewerToken) })
    for (const path of ['/api/v1/none', '/api/v1', '/api/v1/events/a/b', '/metrics/x']) {
      expect([path, (await stage.send(path)).status, (await asViewer(path)).status]).toEqual([path, 401, 404])
    }
    for (const path of ['/API/v1/events', '/api/v1/events/', '/METRICS', '/metrics/', '//api/v1/events', '/api//v1'])
      expect([path, [401, 404].includes((await stage.send(path)).status)]).toEqual([path, true])
    for (const [method, path, allow] of [
      ['PUT', '/api/v1/events', 'GET, HEAD'],
      ['OPTIONS', '/api/v1/events', 'GET, HEAD'],
      ['GET', '/api/v1/dead-letters/requeue', 'POST'],
    ] as const) {
      const { status, headers } = await asViewer(path, method)
      expect([(await stage.send(path, { method })).status, status, headers.allow]).toEqual([401, 405, allow])
    }
    expect((await stage.send('/healthz', { method: 'OPTIONS' })).headers.allow).toBe('GET, HEAD')
  })

  const crossSite = { 'Sec-Fetch-Site': 'cross-site' }
  test.each([
    crossSite,
    // A page on another port of this host: its requests carry the cookie.
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'http://localhost:9999' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://localhost:9999', 'Sec-Fetch-Site': 'same-origin' },
  ])('a session from a page of another origin (%j) is rejected', async (headers) => {
    for (const { method, path, role } of headers === crossSite ? places : samples) {
      if (role === 'anyone') continue
      const sent = { method, headers: { ...sessionOf(stage, 'operator'), ...headers }, body: {} }
      const reply = await stage.send(path, sent)
      expect([path, reply.status, reply.json]).toMatchObject([path, 403, { error: { code: 'forbidden' } }])
      expect(reply.headers).not.toHaveProperty('access-control-allow-origin')
    }
  })

  test.each([{ 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }])(
    'a session from the same origin or a typed address (%j) is valid',
    async (headers) => {
      const sent = { headers: { ...sessionOf(stage, 'viewer'), ...headers } }
      expect((await stage.send('/api/v1/events', sent)).status).toBe(200)
    },
  )

  test('an unknown Host is rejected, even with a valid token and for the page of the console', async () => {
    const headers = { ...bearer(adminToken), Host: 'evil.example' }
    expect((await stage.send('/')).text).toContain('npm run build')
    for (const path of ['/', '/metrics', '/api/v1/events'])
      expect([path, (await stage.send(path, { headers })).status]).toEqual([path, 403])
    for (const path of ['/healthz', '/readyz']) expect((await stage.send(path, { headers })).status).toBe(200)
  })
})

test('without a viewer token only the operator token is valid', async () => {
  await using alone = await startAdmin({ viewerToken: undefined })
  for (const [token, status] of [
    [viewerToken, 401],
    ['undefined', 401],
    [adminToken, 200],
  ] as const)
    expect((await alone.send('/metrics', { headers: bearer(token) })).status).toBe(status)
})

describe('the Host header', () => {
  const isAllowed = (hosts: readonly string[], ...host: readonly string[]) => {
    const guard = createGuard({ roleOf: () => null, sessions: { find: () => null }, hosts })
    try {
      guard.checkHost({ headersDistinct: { host } } as unknown as IncomingMessage)
      return true
    } catch {
      return false
    }
  }
  const named = ['Inbox.example', 'proxy.example:8443']

  test.each([
    [true, ['localhost', 'LOCALHOST:1', '127.0.0.1:8081', '127.9.9.9', '[::1]:8081'], []],
    [true, ['inbox.example:99', 'proxy.example:8443'], named],
    [false, ['evil.example', 'evil.example:8081', 'localhost.evil.example', '127.0.0.1.evil.example'], named],
    [false, ['[::2]', '', 'a@localhost', 'proxy.example:99'], named],
    [true, ['[fd00::5]:8081', '[FD00::5]'], ['fd00::5']],
    [true, ['[fd00::5]:8081'], ['[fd00::5]']],
    [true, ['[fd00::5]:8081'], ['[fd00::5]:8081']],
    [false, ['[fd00::6]:8081'], ['fd00::5', '[fd00::5]', '[fd00::5]:8081']],
  ])('is allowed (%s): %j with the setting %j', (expected, hosts, setting) => {
    for (const host of hosts) expect([host, isAllowed(setting, host)]).toEqual([host, expected])
  })

  test('is rejected if it is repeated', () => {
    expect(isAllowed([], 'localhost', 'localhost')).toBe(false)
  })
})
