import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { examineMachine } from '../../src/cli/doctor/examine.ts'
import type { Finding } from '../../src/cli/doctor/machine.ts'
import { openWriterConnection } from '../../src/inbox/sqlite/connection.ts'
import { lockDatabase } from '../../src/inbox/sqlite/lock.ts'
import { migrations } from '../../src/inbox/sqlite/migrate.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { createTempDir } from '../support/temp-dir.ts'

/** What is found in a folder with these settings, over some that are well. */
async function look(dir: string, settings: Readonly<Record<string, string>> = {}) {
  mkdirSync(join(dir, 'handlers'), { recursive: true })
  const secrets = settings['INBOX_SECRETS_FILE'] === undefined ? { INBOX_SECRETS: `main:${testSecret}` } : {}
  const env = {
    ...secrets,
    INBOX_PORT: '0',
    INBOX_ADMIN_PORT: '0',
    INBOX_DATABASE_URL: 'sqlite:./inbox.db',
    ...settings,
  }
  const { findings } = await examineMachine({ env, cwd: dir, configFile: null }, () => Date.now())
  return (check: string): Finding | undefined => findings.find((finding) => finding.check === check)
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return String((server.address() as AddressInfo).port)
}

test('a port that another program has fails; one of a sidecar is well, unless that has another database', async () => {
  await using dir = await createTempDir()
  const stranger = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'))
  const taken = await look(dir.path, { INBOX_PORT: await listen(stranger) })
  expect(taken('webhook port')).toMatchObject({
    result: 'fail',
    found: expect.stringContaining('by another program'),
    advice: expect.stringContaining('change INBOX_PORT'),
  })
  stranger.close()

  await using app = await startTestApp({ settings: { INBOX_DATABASE_URL: 'sqlite:./inbox.db' } })
  const ports = { INBOX_PORT: String(app.port), INBOX_ADMIN_PORT: String(app.adminPort) }
  const beside = await look(app.dir, ports)
  for (const check of ['webhook port', 'admin port']) expect(beside(check)).toMatchObject({ result: 'ok' })
  const elsewhere = await look(dir.path, { ...ports, INBOX_DATABASE_URL: 'sqlite:./other/inbox.db' })
  for (const check of ['webhook port', 'admin port']) {
    expect(elsewhere(check)).toMatchObject({ result: 'fail', found: expect.stringContaining('another database') })
  }
})

test('an address that this machine does not have fails; a free port beside a database in use is told', async () => {
  await using dir = await createTempDir()
  const foreign = await look(dir.path, { INBOX_HOST: '192.0.2.1', INBOX_PORT: '8080' })
  expect(foreign('webhook port')).toMatchObject({ result: 'fail', found: expect.stringContaining('EADDRNOTAVAIL') })

  const probe = createServer()
  const free = await listen(probe)
  await new Promise((resolve) => probe.close(resolve))
  ;(await openWriterConnection(join(dir.path, 'inbox.db'))).close()
  expect((await look(dir.path, { INBOX_PORT: free }))('webhook port')).toMatchObject({ result: 'ok' })
  const lock = lockDatabase(join(dir.path, 'inbox.db'))
  const held = await look(dir.path, { INBOX_PORT: free })
  lock.release()
  expect(held('webhook port')).toMatchObject({ result: 'warn' })
  expect(held('database')).toMatchObject({ result: 'ok', found: expect.stringContaining('held by a process') })
})

test('an older schema is told and left as it is; a newer one, damage, and what is no database fail', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  const judge = async () => (await look(dir.path))('database')
  ;(await openWriterConnection(file, { known: migrations.slice(0, 1) })).close()
  const before = readFileSync(file)
  expect(await judge()).toMatchObject({ result: 'warn', advice: expect.stringMatching(/ migrate$/) })
  expect(readFileSync(file).equals(before)).toBe(true)

  const db = await openWriterConnection(file)
  expect(await judge()).toMatchObject({ result: 'ok', found: expect.stringContaining('structure intact') })
  db.prepare(`INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', '2030')`).run()
  db.close()
  expect(await judge()).toMatchObject({ result: 'fail', found: expect.stringContaining('by a newer version') })

  // From the second page on; the first one says that it is a database.
  const damaged = before.fill(0x5a, 4_096)
  writeFileSync(file, damaged)
  expect(await judge()).toMatchObject({ result: 'fail', found: expect.stringContaining('is damaged') })
  writeFileSync(file, 'notes about nothing in particular, which are no database'.repeat(100))
  expect(await judge()).toMatchObject({ result: 'fail', advice: expect.stringContaining('restore') })
})

test('files that other users can read are told: the secret, and the database', async () => {
  await using dir = await createTempDir()
  const secret = join(dir.path, 'secret')
  writeFileSync(secret, `{"main": "${testSecret}", "old": "${testSecret}-of-before"}`, { mode: 0o600 })
  const settings = { INBOX_SECRETS_FILE: './secret' }
  expect((await look(dir.path, settings))('secrets')).toMatchObject({
    result: 'ok',
    found: `2 webhook secrets: main (${testSecret.length} bytes), old (${testSecret.length + 10} bytes)`,
  })
  chmodSync(secret, 0o644)
  expect((await look(dir.path, settings))('secrets')).toMatchObject({ result: 'warn', advice: `chmod 600 ${secret}` })

  const file = join(dir.path, 'inbox.db')
  ;(await openWriterConnection(file)).close()
  chmodSync(file, 0o644)
  expect((await look(dir.path))('folder')).toMatchObject({ result: 'warn', advice: `chmod 600 ${file}*` })
  chmodSync(file, 0o600)
  expect((await look(dir.path))('folder')).toMatchObject({ result: 'ok' })
})

test('handlers are loaded: a broken file fails with its reason, and a folder without any is told', async () => {
  await using dir = await createTempDir()
  expect((await look(dir.path))('handlers')).toMatchObject({
    result: 'warn',
    found: expect.stringContaining('none in'),
  })
  writeFileSync(join(dir.path, 'handlers/broken.ts'), 'export default {')
  expect((await look(dir.path))('handlers')).toMatchObject({
    result: 'fail',
    found: expect.stringContaining('broken.ts cannot be loaded: invalid TypeScript'),
  })
})

test('a folder in the place of which there is a file fails, and nothing is written then', async () => {
  await using dir = await createTempDir()
  writeFileSync(join(dir.path, 'file'), '')
  const found = await look(dir.path, { INBOX_DATABASE_URL: 'sqlite:./file/inbox.db' })
  expect(found('folder')).toMatchObject({ result: 'fail', advice: expect.stringContaining('INBOX_DATABASE_URL') })
  expect(found('disk speed')).toBeUndefined()
})

test('memory: is told, and has no disk that is looked at', async () => {
  await using dir = await createTempDir()
  const found = await look(dir.path, { INBOX_DATABASE_URL: 'memory:', INBOX_ADMIN_TOKEN: 'the-token-of-the-test' })
  expect(found('database')).toMatchObject({ result: 'warn' })
  expect(found('disk speed')).toBeUndefined()
})
