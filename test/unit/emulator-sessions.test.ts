import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { readCookies } from '../../src/base/http/sign-in.ts'
import { createSessions, type Sessions } from '../../src/emulator/control/sessions.ts'
import { silentLogger } from '../../src/base/log.ts'

const login = { user: 'ada', password: 'the-password-of-the-test' }
const wrong = { ...login, password: 'another-password' }

function setUp() {
  const wall = createTestClock()
  return { wall, sessions: createSessions({ login, isPublished: false, wall, randomBytes, log: silentLogger }) }
}

const signIn = (sessions: Sessions, address = '127.0.0.1') => sessions.signIn(login, address)
const isWrong = expect.objectContaining({ status: 401, message: 'user or password is wrong' })
const isLimited = (seconds: number) =>
  expect.objectContaining({ status: 429, headers: { 'Retry-After': String(seconds) } })

test('A65 sessions of the dashboard last 12 hours of the wall clock', async () => {
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

test.each([
  ['another password', wrong],
  ['nothing', { user: '', password: '' }],
  ['user and password swapped', { user: login.password, password: login.user }],
])('A65 sessions of the dashboard do not begin with %s', (_name, given) => {
  expect(() => setUp().sessions.signIn(given, '127.0.0.1')).toThrow(isWrong)
})

const fail = (sessions: Sessions, address: string) => expect(() => sessions.signIn(wrong, address)).toThrow(isWrong)

test('failed sign-ins block an address after ten within a minute, until the minute is over', async () => {
  const { wall, sessions } = setUp()
  for (let n = 1; n <= 9; n++) fail(sessions, '192.0.2.1')
  signIn(sessions, '192.0.2.1')
  await wall.advance(20_000)
  fail(sessions, '192.0.2.1')
  expect(() => signIn(sessions, '192.0.2.1')).toThrow(isLimited(40))
  signIn(sessions, '192.0.2.2')
  await wall.advance(39_999)
  expect(() => signIn(sessions, '192.0.2.1')).toThrow(isLimited(1))
  await wall.advance(1)
  signIn(sessions, '192.0.2.1')
})

test('failed sign-ins block all addresses after a hundred within a minute', async () => {
  const { wall, sessions } = setUp()
  for (let n = 1; n <= 100; n++) fail(sessions, `192.0.2.${n}`)
  expect(() => signIn(sessions, '198.51.100.1')).toThrow(isLimited(60))
  await wall.advance(60_000)
  signIn(sessions, '198.51.100.1')
})

const withCookie = (cookie?: string) => ({ headers: { cookie } }) as IncomingMessage

test.each([
  [undefined, []],
  ['', []],
  ['session', []],
  ['session=a', ['a']],
  [' other=b;session=a==; session= c ;sessions=d;SESSION=e', ['a==', 'c']],
  ['xsession=a; session=', ['']],
])('cookies read from %j gives %j', (cookie, values) => {
  expect(readCookies(withCookie(cookie), 'session')).toEqual(values)
})
