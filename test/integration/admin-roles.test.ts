import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { routes } from '../../src/admin/routes.ts'
import type { Pages } from '../../src/base/http/page-files.ts'
import { adminToken, viewerToken } from './admin-app.ts'
import { sessionValue, startAdmin } from './admin-server.ts'

type Stage = Awaited<ReturnType<typeof startAdmin>>
type Headers = Readonly<Record<string, string>>
type Verdict = 'may' | 'nobody' | 'viewer'

const hours = 3_600_000
const changed = { operator: 'the-admin-token-of-before', viewer: viewerToken }
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

const outside = [
  ['nobody', () => ({})],
  ['a wrong token', () => bearer('wrong-token-of-the-test')],
  ['a session that is over', (s) => s.withCookie(sessionValue('operator', s.clock.now() - 12 * hours))],
  ['a forged session', (s) => s.withCookie(`${sessionValue('operator', s.clock.now())}A`)],
  ['a session from before the token changed', (s) => s.withCookie(sessionValue('operator', s.clock.now(), changed))],
  ['a wrong token beside a session', (s) => ({ ...sessionOf(s, 'operator'), ...bearer('wrong-token-of-the-test') })],
] as const satisfies readonly (readonly [string, (stage: Stage) => Headers])[]

const viewers = [
  ['the token of viewers', () => bearer(viewerToken)],
  ['a session of a viewer', (s: Stage) => sessionOf(s, 'viewer')],
] as const satisfies readonly (readonly [string, (stage: Stage) => Headers])[]

const operators = [
  ['the token of the operator', () => bearer(adminToken)],
  ['a session of the operator', (s: Stage) => sessionOf(s, 'operator')],
] as const satisfies readonly (readonly [string, (stage: Stage) => Headers])[]

function sessionOf(stage: Stage, role: 'operator' | 'viewer'): Headers {
  return stage.withCookie(sessionValue(role, stage.clock.now()))
}

interface Place {
  readonly method: string
  readonly path: string
  readonly role: 'anyone' | 'viewer' | 'operator'
}

const places: readonly Place[] = [
  { method: 'GET', path: '/metrics', role: 'viewer' },
  { method: 'GET', path: '/api/v1/stream', role: 'viewer' },
  { method: 'GET', path: '/api/v1/session', role: 'viewer' },
  { method: 'GET', path: '/api/v1/events/a/raw', role: 'viewer' },
  { method: 'GET', path: '/', role: 'anyone' },
  { method: 'GET', path: '/healthz', role: 'anyone' },
  { method: 'GET', path: '/readyz', role: 'anyone' },
  ...routes.map(({ method, path, role }) => ({
    method: method.toUpperCase(),
    path: `/api/v1${path.replace(/:\w+/g, 'a')}`,
    role,
  })),
]

describe('who may what', () => {
  let stage: Stage
  beforeAll(async () => {
    // Any file will do.
    const pages: Pages = { isFor: ({ url }) => url === '/', handle: (_request, response) => void response.end('page') }
    stage = await startAdmin({ more: { pages } })
  })
  afterAll(() => stage[Symbol.asyncDispose]())

  async function verdictsOn(callers: readonly (readonly [string, (stage: Stage) => Headers])[], wanted: Verdict[]) {
    for (const { method, path, role } of places) {
      for (const [who, headersOf] of callers) {
        const sent = { method, headers: headersOf(stage), headAlone: true, ...(method !== 'GET' && { body: {} }) }
        const { status, json } = await stage.send(path, sent)
        const verdict = status === 401 ? 'nobody' : status === 403 ? 'viewer' : 'may'
        const expected = role === 'anyone' ? 'may' : wanted[role === 'viewer' ? 0 : 1]
        expect([method, path, who, verdict]).toEqual([method, path, who, expected])
        if (verdict === 'nobody') expect(json).toMatchObject({ error: { code: 'unauthorized' } })
        if (verdict === 'viewer') {
          const message = "this needs the operator's token, a viewer's was given"
          expect(json).toEqual({ error: { code: 'forbidden', message } })
        }
      }
    }
  }

  test('there is something to get and something to do', () => {
    const of = (role: Place['role']) => places.filter((place) => place.role === role).length
    expect([of('viewer') > 10, of('operator') > 10]).toEqual([true, true])
  })

  test('without a credential that is right nothing is told and nothing done', () =>
    verdictsOn(outside, ['nobody', 'nobody']))
  test('viewers may look at everything, and do nothing', () => verdictsOn(viewers, ['may', 'viewer']))
  test('operators may do everything', () => verdictsOn(operators, ['may', 'may']))

  test('a path that is not there is told to those only who may look', async () => {
    for (const path of ['/api/v1/none', '/api/v1', '/api/v1/events/a/b', '/metrics/x']) {
      expect([path, (await stage.send(path)).status]).toEqual([path, 401])
      expect([path, (await stage.send(path, { headers: bearer(viewerToken) })).status]).toEqual([path, 404])
    }
    for (const path of [
      '/API/v1/events',
      '/api/v1/events/',
      '/METRICS',
      '/metrics/',
      '//api/v1/events',
      '/api//v1/events',
    ])
      expect([path, [401, 404].includes((await stage.send(path)).status)]).toEqual([path, true])
  })

  test('a method that a path does not take is named to those only who may look', async () => {
    for (const method of ['PUT', 'DELETE', 'OPTIONS']) {
      const [none, viewer] = [
        await stage.send('/api/v1/events', { method }),
        await stage.send('/api/v1/events', { method, headers: bearer(viewerToken) }),
      ]
      expect([none.status, viewer.status, viewer.headers.allow]).toEqual([401, 405, 'GET, HEAD'])
    }
  })

  test.each([
    { 'Sec-Fetch-Site': 'cross-site' },
    // A page on another port of this machine, whose requests carry the cookie.
    { 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'http://localhost:9999' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
    { Origin: 'http://localhost:9999', 'Sec-Fetch-Site': 'same-origin' },
  ])('to a page of another origin (%j) a session tells nothing', async (headers) => {
    for (const { method, path, role } of places.filter((place) => place.role !== 'anyone')) {
      const sent = { method, headers: { ...sessionOf(stage, 'operator'), ...headers }, body: {} }
      const { status, json } = await stage.send(path, sent)
      expect([path, role, status, json]).toMatchObject([path, role, 403, { error: { code: 'forbidden' } }])
    }
  })

  test.each([{ 'Sec-Fetch-Site': 'same-origin' }, { 'Sec-Fetch-Site': 'none' }, {}])(
    'to the own page, and to who types the address (%j), it does',
    async (headers) => {
      const sent = { headers: { ...sessionOf(stage, 'viewer'), ...headers } }
      expect((await stage.send('/api/v1/events', sent)).status).toBe(200)
    },
  )

  test('where there are no viewers, no token but that of the operator is one', async () => {
    await using alone = await startAdmin({ more: { viewerToken: undefined } })
    expect((await alone.send('/metrics', { headers: bearer(viewerToken) })).status).toBe(401)
    expect((await alone.send('/metrics', { headers: bearer('undefined') })).status).toBe(401)
    expect((await alone.send('/metrics', { headers: bearer(adminToken) })).status).toBe(200)
  })
})
