import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { judgeFileSystem, judgeSpace, judgeSync, measureSync } from '../../src/cli/doctor/disk.ts'
import { examineMachine } from '../../src/cli/doctor/examine.ts'
import { examineClock, judgeClock } from '../../src/cli/doctor/machine.ts'
import { openWriterConnection } from '../../src/inbox/sqlite/connection.ts'
import { lockDatabase } from '../../src/inbox/sqlite/lock.ts'
import { migrations } from '../../src/inbox/sqlite/migrations.ts'
import { AppServer } from '../support/app-server.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { freePort } from '../support/stream-sinks.ts'
import { createTempDir } from '../support/temp-dir.ts'

const noon = Date.UTC(2027, 0, 1, 12)

test.each([
  [0x6969, 'fail', 'nfs'],
  // As a system with 32-bit numbers gives it.
  [0xff534d42 - 2 ** 32, 'fail', 'cifs'],
  [0x65735546, 'warn', 'FUSE'],
  [0x01021994, 'warn', 'tmpfs'],
  [0x794c7630, 'warn', 'overlay'],
  [0xef53, 'ok', 'ext4'],
  [0x12345678, 'ok', 'unknown'],
])('judges a database on file system %i: %s, %s', (type, result, found) => {
  const finding = judgeFileSystem(type, '/data', 'linux')
  expect(finding).toMatchObject({ result, found: expect.stringContaining(found) })
  expect(finding.advice === null).toBe(result === 'ok')
  expect(judgeFileSystem(type, '/data', 'darwin')).toMatchObject({ result: 'ok' })
})

const skewed = (askedAt: number, answeredAt: number) => judgeClock(answeredAt, { askedAt, answeredAt, date: noon })

test.each([
  ['an impossible year', judgeClock(0, null), 'fail', 'the year is 1970'],
  ['a year far ahead', judgeClock(Date.UTC(2150, 0), null), 'fail', 'the year is'],
  ['a clock without another one', judgeClock(noon, null), 'ok', 'set INBOX_API_URL'],
  // A Date header has whole seconds, and the response takes time. Only a larger difference is clock skew.
  ['a difference within the header', skewed(noon + 999, noon + 1_500), 'ok', 'same as the service'],
  ['a slow answer', skewed(noon - 9_000, noon), 'ok', 'same as the service'],
  ['a clock ahead', skewed(noon + 10_000, noon + 10_001), 'warn', '9 s ahead of'],
  ['a clock behind', skewed(noon - 9_000, noon - 8_000), 'warn', '8 s behind'],
])('judges %s', (_, finding, result, found) => {
  expect(finding).toMatchObject({ check: 'clock', result, found: expect.stringContaining(found) })
})

test('compares the clock with the Date header of the service without sending the key', async () => {
  const service = await AppServer.start()
  service.answer = () => ({ status: 200, headers: { Date: new Date(noon).toUTCString() } })
  const { url } = service
  const look = () => examineClock(url, () => noon + 400)
  expect(await look()).toMatchObject([{ result: 'ok', found: expect.stringContaining('same as') }])
  expect(service.requests).toMatchObject([{ method: 'HEAD' }])
  expect(service.requests[0]?.headers.authorization).toBeUndefined()
  await service[Symbol.asyncDispose]()
  expect(await look()).toMatchObject([
    { check: 'clock', result: 'ok' },
    { check: 'service', result: 'warn', found: expect.stringContaining('no answer from') },
  ])
})

const mb = 1024 ** 2

test.each([
  [255, 30, undefined, 'fail', 'reserved'],
  [300, 30, undefined, 'warn', 'reserved'],
  [5_000, 30, undefined, 'ok', 'the database takes 10mb'],
  [5_000, 30, 20_480 * mb, 'warn', 'may grow to 20gb, but there is room for only 4.6gb'],
  [50_000, 30, 20_480 * mb, 'ok', 'the database takes 10mb'],
  [5_000, 0, undefined, 'ok', 'never deleted'],
])(
  'judges %i MB of free space, with bodies kept for %i days and %s bytes: %s',
  (freeMb, days, maxBytes, result, found) => {
    const space = { usedBytes: 10 * mb, freeBytes: freeMb * mb, reserveBytes: 256 * mb, retention: { days, maxBytes } }
    expect(judgeSpace(space)).toMatchObject({ result, found: expect.stringContaining(found) })
  },
)

test.each([
  [0.8, 3, 'ok', 'within about 1.6 ms, sometimes 6 ms'],
  [80, 300, 'warn', 'expect acknowledgements'],
  [5, 1_200, 'warn', 'expect acknowledgements'],
  [5, 4_000, 'fail', '503'],
  [0.001, 0.002, 'warn', 'too fast for a disk'],
])('R115 judges a disk that writes in %d ms, at worst %d ms: %s', (medianMs, worstMs, result, found) => {
  const finding = judgeSync({ medianMs, worstMs, writes: 20 }, 4_000)
  expect(finding).toMatchObject({ result, found: expect.stringContaining(found) })
})

test('measures 20 durable writes, and removes the file', async () => {
  await using dir = await createTempDir()
  const { writes, medianMs, worstMs } = measureSync(dir.path)
  expect(writes).toBe(20)
  expect(0 < medianMs && medianMs <= worstMs).toBe(true)
  expect(readdirSync(dir.path)).toEqual([])
})

describe('examines the machine', () => {
  /** Looks up findings by check, in a folder with these settings on top of valid ones. */
  async function look(dir: string, settings: Readonly<Record<string, string>> = {}) {
    mkdirSync(join(dir, 'handlers'), { recursive: true })
    const secrets = settings['INBOX_SECRETS_FILE'] === undefined ? { INBOX_SECRETS: `main:${testSecret}` } : {}
    const valid = { INBOX_PORT: '0', INBOX_ADMIN_PORT: '0', INBOX_DATABASE_URL: 'sqlite:./inbox.db' }
    const env = { ...secrets, ...valid, ...settings }
    const { findings } = await examineMachine({ env, cwd: dir, configFile: null }, () => Date.now())
    return (check: string) => findings.find((finding) => finding.check === check)
  }

  test('a port fails if another program or a sidecar with another database has it', async () => {
    await using dir = await createTempDir()
    await using stranger = await AppServer.start()
    const taken = await look(dir.path, { INBOX_PORT: String(stranger.port) })
    expect(taken('webhook port')).toMatchObject({
      result: 'fail',
      found: expect.stringContaining('by another program'),
      advice: expect.stringContaining('change INBOX_PORT'),
    })
    await using app = await startTestApp({ settings: { INBOX_DATABASE_URL: 'sqlite:./inbox.db' } })
    const ports = { INBOX_PORT: String(app.port), INBOX_ADMIN_PORT: String(app.adminPort) }
    const elsewhere = await look(dir.path, { ...ports, INBOX_DATABASE_URL: 'sqlite:./other/inbox.db' })
    for (const check of ['webhook port', 'admin port']) {
      expect(elsewhere(check)).toMatchObject({ result: 'fail', found: expect.stringContaining('another database') })
    }
  })

  test('an address of another machine fails, and a free port with a locked database is a warning', async () => {
    await using dir = await createTempDir()
    const foreign = await look(dir.path, { INBOX_HOST: '192.0.2.1', INBOX_PORT: '8080' })
    expect(foreign('webhook port')).toMatchObject({ result: 'fail', found: expect.stringContaining('EADDRNOTAVAIL') })

    const free = String(await freePort())
    ;(await openWriterConnection(join(dir.path, 'inbox.db'))).close()
    expect((await look(dir.path, { INBOX_PORT: free }))('webhook port')).toMatchObject({ result: 'ok' })
    const lock = lockDatabase(join(dir.path, 'inbox.db'))
    const held = await look(dir.path, { INBOX_PORT: free })
    lock.release()
    expect(held('webhook port')).toMatchObject({ result: 'warn' })
    expect(held('database')).toMatchObject({ result: 'ok', found: expect.stringContaining('held by a process') })
  })

  test('an older schema is a warning and stays; a newer one, damage and other files fail', async () => {
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

    // The first page still says that it is a database.
    writeFileSync(file, before.fill(0x5a, 4_096))
    expect(await judge()).toMatchObject({ result: 'fail', found: expect.stringContaining('is damaged') })
    writeFileSync(file, 'plain text'.repeat(500))
    expect(await judge()).toMatchObject({ result: 'fail', advice: expect.stringContaining('restore') })
  })

  test('secrets and databases that other users can read are warnings', async () => {
    await using dir = await createTempDir()
    const secret = join(dir.path, 'secret')
    writeFileSync(secret, `{"main": "${testSecret}", "old": "${testSecret}-old"}`, { mode: 0o600 })
    const settings = { INBOX_SECRETS_FILE: './secret' }
    const size = testSecret.length
    expect((await look(dir.path, settings))('secrets')).toMatchObject({
      result: 'ok',
      found: `2 webhook secrets: main (${size} bytes), old (${size + 4} bytes)`,
    })
    const file = join(dir.path, 'inbox.db')
    ;(await openWriterConnection(file)).close()
    chmodSync(file, 0o600)
    expect((await look(dir.path, settings))('folder')).toMatchObject({ result: 'ok' })
    for (const open of [secret, file]) chmodSync(open, 0o644)
    const found = await look(dir.path, settings)
    expect(found('secrets')).toMatchObject({ result: 'warn', advice: `chmod 600 ${secret}` })
    expect(found('folder')).toMatchObject({ result: 'warn', advice: `chmod 600 ${file}*` })
  })

  test('a broken handler fails with its reason, and an empty folder is a warning', async () => {
    await using dir = await createTempDir()
    const judge = async () => (await look(dir.path))('handlers')
    expect(await judge()).toMatchObject({ result: 'warn', found: expect.stringContaining('none in') })
    writeFileSync(join(dir.path, 'handlers/broken.ts'), 'export default {')
    const reason = 'broken.ts cannot be loaded: invalid TypeScript'
    expect(await judge()).toMatchObject({ result: 'fail', found: expect.stringContaining(reason) })
  })

  test('the disk speed is not measured in an unusable folder or for memory:', async () => {
    await using dir = await createTempDir()
    writeFileSync(join(dir.path, 'file'), '')
    const unusable = await look(dir.path, { INBOX_DATABASE_URL: 'sqlite:./file/inbox.db' })
    expect(unusable('folder')).toMatchObject({ result: 'fail', advice: expect.stringContaining('INBOX_DATABASE_URL') })
    const memory = await look(dir.path, { INBOX_DATABASE_URL: 'memory:', INBOX_ADMIN_TOKEN: 'the-token-of-the-test' })
    expect(memory('database')).toMatchObject({ result: 'warn' })
    expect([unusable('disk speed'), memory('disk speed')]).toEqual([undefined, undefined])
  })
})
