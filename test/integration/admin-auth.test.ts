import { mkdtemp, readdir, readFile, rm, stat, chmod, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import supertest from 'supertest'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { adminTokenFile, resolveAdminToken } from '../../src/admin/token-file.ts'
import { startTestApp } from '../support/app.ts'
import { recordingLog } from '../support/recording-log.ts'
import { adminToken, setUpAdmin } from './admin-app.ts'

const bearer = `Bearer ${adminToken}`
const protectedPaths = ['/metrics', '/api/v1/events', '/api/v1/events/a/raw', '/api/v1/quarantine', '/api/v1/none']

test('a request whose token is not the right one is refused with 401', async () => {
  const { app } = await setUpAdmin()
  const wrong = ['Bearer ', `${bearer}x`, bearer.slice(0, -1), `${bearer} ${adminToken}`, adminToken]
  for (const authorization of wrong) {
    for (const path of protectedPaths) {
      const request = supertest(app).get(path).set('Authorization', authorization)
      const { body, text } = await request.expect(401).expect('WWW-Authenticate', 'Bearer')
      expect(body.error.code).toBe('unauthorized')
      expect(text).not.toContain(adminToken)
    }
  }
})

test('the right token is taken, whatever the case of its scheme', async () => {
  const { app } = await setUpAdmin()
  await supertest(app).get('/api/v1/events').set('Authorization', bearer).expect(200)
  await supertest(app).get('/api/v1/events').set('Authorization', `bearer ${adminToken}`).expect(200)
})

test.each([
  'evil.example',
  'localhost.evil.example',
  'evil.example:8081',
  '127.0.0.1.evil.example',
  '[::2]',
  '',
  'a@localhost',
])('the Host %j is refused even with the right token', async (host) => {
  const { app } = await setUpAdmin({ hosts: ['inbox.example', 'proxy.example:8443'] })
  const { body } = await supertest(app).get('/api/v1/events').set('Authorization', bearer).set('Host', host).expect(403)
  expect(body.error.code).toBe('forbidden')
})

test.each([
  'localhost',
  'LOCALHOST:1',
  '127.0.0.1:8081',
  '127.9.9.9',
  '[::1]:8081',
  'inbox.example:99',
  'proxy.example:8443',
])('the Host %j is allowed', async (host) => {
  const { app } = await setUpAdmin({ hosts: ['Inbox.example', 'proxy.example:8443'] })
  await supertest(app).get('/api/v1/events').set('Authorization', bearer).set('Host', host).expect(200)
})

test.each([
  ['fd00::5', '[fd00::5]:8081'],
  ['fd00::5', '[FD00::5]'],
  ['[fd00::5]', '[fd00::5]:8081'],
  ['[fd00::5]:8081', '[fd00::5]:8081'],
])('the address %s is allowed as the Host %s', async (address, host) => {
  const { app } = await setUpAdmin({ hosts: [address] })
  const get = (name: string) => supertest(app).get('/api/v1/events').set('Authorization', bearer).set('Host', name)
  await get(host).expect(200)
  await get('[fd00::6]:8081').expect(403)
})

test('a name that is allowed with one port is refused with another', async () => {
  const { app } = await setUpAdmin({ hosts: ['proxy.example:8443'] })
  await supertest(app).get('/api/v1/events').set('Authorization', bearer).set('Host', 'proxy.example:99').expect(403)
})

test('a repeated Host header is refused', async () => {
  const { app } = await setUpAdmin()
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nAuthorization: ${bearer}\r\n\r\n`)
  const answer = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  socket.destroy()
  await new Promise((resolve) => server.close(resolve))
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 40[03] /)
})

test('every answer carries the security headers, and none allows other origins', async () => {
  const { app } = await setUpAdmin()
  for (const path of ['/healthz', '/none', ...protectedPaths]) {
    const { headers } = await supertest(app).get(path).set('Origin', 'https://evil.example')
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control') || name === 'x-powered-by')).toEqual(
      [],
    )
  }
})

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'admin-auth-'))
})
afterEach(() => rm(dir, { recursive: true }))

const configOf = (host: string, token?: string) => ({
  admin: { host, port: 0, hosts: [], ...(token === undefined ? {} : { token }) },
  database: { kind: 'sqlite' as const, file: join(dir, 'data', 'inbox.db') },
})

test('a token is made on loopback, kept beside the database for its owner only, and used again', async () => {
  const config = configOf('127.0.0.1')
  const file = adminTokenFile(config.database.file)
  const first = await resolveAdminToken(config)
  expect(first).toMatch(/^[\w-]{43}$/)
  expect(await readFile(file, 'utf8')).toBe(`${first}\n`)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await chmod(file, 0o644)
  expect(await resolveAdminToken(config)).toEqual(first)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readdir(join(dir, 'data'))).toEqual(['inbox.db.admin-token'])
})

test('starts at the same moment agree on one token', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => resolveAdminToken(configOf('localhost'))))
  expect(new Set(made).size).toBe(1)
})

test('a token that is set is used and written nowhere', async () => {
  expect(await resolveAdminToken(configOf('0.0.0.0', 'a-token-that-is-set'))).toBe('a-token-that-is-set')
  expect(await readdir(dir)).toEqual([])
})

test('beyond loopback no token is made', async () => {
  await expect(resolveAdminToken(configOf('0.0.0.0'))).rejects.toMatchObject({ code: 'config_invalid' })
  expect(await readdir(dir)).toEqual([])
})

test('a token that was made is not taken for viewers, too', async () => {
  const config = configOf('127.0.0.1')
  const viewer = await resolveAdminToken(config)
  const same = { ...config, admin: { ...config.admin, viewerToken: viewer } }
  const error = await resolveAdminToken(same).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('INBOX_ADMIN_VIEWER_TOKEN') })
  expect(String(error)).not.toContain(viewer)
})

test.each([
  ['0.0.0.0', 1],
  ['127.0.0.1', 0],
])(
  'that it can be reached from elsewhere without TLS is said in the log: listening on %s, %i time',
  async (host, times) => {
    const { log, lines } = recordingLog()
    await using app = await startTestApp({ log, settings: { INBOX_ADMIN_HOST: host } })
    const said = lines.filter(({ message }) => message.includes('has no TLS of its own'))
    expect(said.map(({ fields }) => fields)).toEqual(Array.from({ length: times }, () => ({ adminUrl: app.adminUrl })))
  },
)

test('a file that holds no token is refused, never taken for one', async () => {
  const config = configOf('::1')
  await resolveAdminToken(config)
  for (const text of ['short\n', 'two words of a token\n', '']) {
    await writeFile(adminTokenFile(config.database.file), text)
    await expect(resolveAdminToken(config)).rejects.toMatchObject({ code: 'config_invalid' })
  }
})

test('with the database in memory no token is made, since nobody could learn it', async () => {
  const config = { ...configOf('127.0.0.1'), database: { kind: 'memory' as const } }
  await expect(resolveAdminToken(config)).rejects.toMatchObject({ code: 'config_invalid' })
  expect(await readdir(dir)).toEqual([])
})
