import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { readCookies, toCookie } from '../../src/base/http/sign-in.ts'
import { createSessions, type Sessions } from '../../src/emulator/session/sessions.ts'
import { silentLogger } from '../../src/base/log.ts'

const login = { user: 'ada', password: 'the-password-of-the-test' }
const wrong = { ...login, password: 'another-password' }

function setUp({ isPublished = false } = {}) {
  const wall = createTestClock()
  return { wall, sessions: createSessions({ login, isPublished, wall, randomBytes, log: silentLogger }) }
}

function signIn(sessions: Sessions, address = '127.0.0.1'): string {
  const result = sessions.signIn(login, address)
  if (result.kind !== 'signed-in') throw new Error(`expected to be signed in, got ${result.kind}`)
  return result.token
}

describe('A65 sessions of the dashboard', () => {
  test('last 12 hours of wall-clock time, each with its own token', async () => {
    const { wall, sessions } = setUp()
    const first = signIn(sessions)
    await wall.advance(3_600_000)
    const second = signIn(sessions)
    expect([first === second, sessions.userOf([first]), sessions.userOf([second])]).toEqual([false, 'ada', 'ada'])
    await wall.advance(11 * 3_600_000 - 1)
    expect(sessions.userOf([first])).toBe('ada')
    await wall.advance(1)
    expect([sessions.userOf([first]), sessions.userOf([second])]).toEqual([null, 'ada'])
  })

  test('are found among several tokens; signing out is idempotent', () => {
    const { sessions } = setUp()
    const token = signIn(sessions)
    const other = signIn(sessions)
    expect(sessions.userOf(['', 'unknown', token])).toBe('ada')
    sessions.signOut(['unknown', token])
    sessions.signOut([token])
    expect([sessions.userOf([token]), sessions.userOf([other]), sessions.userOf([])]).toEqual([null, 'ada', null])
  })

  test('are limited to 1,000: the oldest ends first', () => {
    const { sessions } = setUp()
    const tokens = Array.from({ length: 1_001 }, () => signIn(sessions))
    expect(tokens.filter((token) => sessions.userOf([token]) === null)).toEqual([tokens[0]])
  })

  test.each([
    ['another password', wrong],
    ['another user', { ...login, user: 'eve' }],
    ['nothing', { user: '', password: '' }],
    ['the two the other way round', { user: login.password, password: login.user }],
    ['the password in upper case', { ...login, password: login.password.toUpperCase() }],
  ])('a sign-in with %s fails', (_name, given) => {
    expect(setUp().sessions.signIn(given, '127.0.0.1')).toEqual({ kind: 'wrong' })
  })

  test('show only the published login', () => {
    expect([setUp().sessions.published, setUp({ isPublished: true }).sessions.published]).toEqual([null, login])
  })
})

describe('failed sign-ins', () => {
  const tryWrong = (sessions: Sessions, times: number, address: string) =>
    Array.from({ length: times }, () => sessions.signIn(wrong, address).kind)

  test('limit an address to ten per minute', async () => {
    const { wall, sessions } = setUp()
    expect(new Set(tryWrong(sessions, 9, '192.0.2.1'))).toEqual(new Set(['wrong']))
    signIn(sessions, '192.0.2.1')
    await wall.advance(20_000)
    expect(tryWrong(sessions, 1, '192.0.2.1')).toEqual(['wrong'])
    expect(sessions.signIn(login, '192.0.2.1')).toEqual({ kind: 'limited', retryAfterS: 40 })
    signIn(sessions, '192.0.2.2')
    await wall.advance(39_999)
    expect(sessions.signIn(login, '192.0.2.1')).toEqual({ kind: 'limited', retryAfterS: 1 })
    await wall.advance(1)
    signIn(sessions, '192.0.2.1')
  })

  test('limit all addresses to a hundred per minute', async () => {
    const { wall, sessions } = setUp()
    for (let n = 1; n <= 100; n++) expect(tryWrong(sessions, 1, `192.0.2.${n}`)).toEqual(['wrong'])
    expect(sessions.signIn(login, '198.51.100.1')).toEqual({ kind: 'limited', retryAfterS: 60 })
    await wall.advance(60_000)
    signIn(sessions, '198.51.100.1')
  })

  test('count from zero after the wall clock was set back', () => {
    let now = createTestClock().now()
    const options = { login, isPublished: false, randomBytes, log: silentLogger }
    const sessions = createSessions({ ...options, wall: { now: () => now } })
    tryWrong(sessions, 10, '192.0.2.1')
    expect(sessions.signIn(login, '192.0.2.1').kind).toBe('limited')
    now -= 3_600_000
    signIn(sessions, '192.0.2.1')
  })
})

describe('cookies', () => {
  const withCookie = (cookie?: string) => ({ headers: { cookie } }) as IncomingMessage

  test.each([
    [undefined, []],
    ['', []],
    ['session', []],
    ['session=a', ['a']],
    [' other=b;session=a==; session= c ;sessions=d;SESSION=e', ['a==', 'c']],
    ['xsession=a; session=', ['']],
  ])('header %j has the values %j', (cookie, values) => {
    expect(readCookies(withCookie(cookie), 'session')).toEqual(values)
  })

  test('are HttpOnly and for the same site only', () => {
    const common = 'HttpOnly; SameSite=Strict; Path=/; Max-Age='
    expect(toCookie('s', 'v', { maxAgeS: 60, isSecure: false })).toBe(`s=v; ${common}60`)
    expect(toCookie('s', '', { maxAgeS: 0, isSecure: true })).toBe(`s=; ${common}0; Secure`)
  })
})
