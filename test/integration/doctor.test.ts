import Sqlite from 'better-sqlite3'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/log.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent } from '../conformance/stage.ts'
import { sqliteUrl, startTestApp } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

vi.setConfig({ testTimeout: 120_000 })
const hour = 3_600_000

/** Creates a file that was served for a day at a time, with these outages in between, in ms. */
async function serve(file: string, outages: readonly number[]): Promise<void> {
  const clock = createTestClock(Date.UTC(2026, 0, 1))
  const inboxAfter = async (outMs: number) => {
    await clock.advance(outMs)
    const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
    await inbox.startServing()
    return inbox
  }
  let inbox = await inboxAfter(0)
  for (const outMs of outages) {
    await clock.advance(24 * hour)
    await inbox.close()
    inbox = await inboxAfter(outMs)
  }
  const arrivals = ['2026-01-02T01:00:00Z', '2026-01-02T05:00:00Z', '2026-01-02T06:00:00Z']
  await inbox.accept(arrivals.map((createdAt) => anEvent(createdAt, { createdAt, receivedAt: clock.now() })))
  await inbox.close()
}

test('doctor lists outages, and exits with 1 until lost events are acknowledged', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  await serve(file, [13 * hour, 1_500, 2_000, 3_600_000, 2_000])
  await mkdir(join(dir.path, 'handlers'))
  const env = {
    INBOX_SECRETS: 'the-secret-of-the-test',
    INBOX_DATABASE_URL: `sqlite:${file}`,
    INBOX_PORT: '0',
    INBOX_ADMIN_PORT: '0',
    // A busy disk is not to be reported.
    INBOX_ACK_TIMEOUT_MS: '600000',
  }
  const doctor = (...args: string[]) => runCli(['doctor', ...args], { cwd: dir.path, env })

  const found = await doctor()
  expect(found).toMatchObject({ code: 1, errors: '' })
  expect(found.out).toMatch(/^fail {2}inbox +1 outage with lost events$/m)
  expect(found.out.slice(found.out.indexOf('\n\nout of service') + 2)).toBe(`\
out of service from 2026-01-06T14:00:03.500Z to 2026-01-06T14:00:05.500Z (stopped)
  retried by the sender until 2026-01-06T14:01:35.500Z: none has arrived yet

out of service from 2026-01-05T13:00:03.500Z to 2026-01-05T14:00:03.500Z (stopped)
  retried by the sender until 2026-01-05T16:00:33.500Z: none has arrived yet

out of service from 2026-01-02T00:00:00.000Z to 2026-01-02T13:00:00.000Z (stopped)
  lost: first sent from 2026-01-02T00:00:00.000Z to 2026-01-02T02:24:00.000Z, not retried (1 arrived); \
replay them in the dashboard of the service
  retried by the sender until 2026-01-02T21:00:30.000Z: 2 arrived
  latest arrival 2026-01-06T14:00:05.500Z

and 2 of less than a minute
`)
  expect(await doctor('--acknowledge')).toEqual({
    code: 0,
    out: 'acknowledged: 0 missing events, 1 time with lost events\n',
    errors: '',
  })
  const after = await doctor()
  expect(after.code, after.out).toBe(0)
  expect(after.out).toMatch(/not retried \(1 arrived\); acknowledged at 20/)
  expect(after.out).not.toContain('replay them in the dashboard')
  expect((await doctor('--acknowledge')).out).toBe('there was nothing to acknowledge\n')
})

test('each start logs lost events and paused handlers until acknowledged or resumed', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  await serve(file, [20 * hour])
  const db = new Sqlite(file)
  db.prepare(`UPDATE meta SET value = 3 WHERE name = 'missing_seqs'`).run()
  db.close()
  const lines: string[] = []
  const log = createLogger({ level: 'info', pretty: false, output: { write: (line) => void lines.push(line) } })
  const logged = async (msg: string) => {
    const find = () => lines.map((line) => JSON.parse(line) as { msg: string }).find((line) => line.msg === msg)
    await until(() => find() !== undefined, msg)
    return find()
  }
  const start = async () => {
    lines.length = 0
    const handlers = { 'quiet.mjs': `export default { type: '*', run() {} }` }
    const app = await startTestApp({ dir: dir.path, log, settings: { INBOX_DATABASE_URL: sqliteUrl }, handlers })
    const cli = (...args: string[]) =>
      runCli([...args, '--admin-url', app.adminUrl], {
        cwd: dir.path,
        env: { INBOX_ADMIN_TOKEN: app.adminToken },
      })
    return Object.assign(app, { cli })
  }
  const lost = 'events lost in downtime'
  const paused = 'handlers paused'
  {
    await using app = await start()
    expect(await logged(lost)).toMatchObject({ level: 'error', lostFrom: expect.any(String) })
    expect(await app.cli('handlers', 'pause', 'quiet')).toMatchObject({ code: 0 })
  }
  await using app = await start()
  const { cli } = app
  expect(await logged(lost)).toMatchObject({ level: 'error' })
  expect(await logged(paused)).toMatchObject({ level: 'warn', all: false, handlers: ['quiet'] })

  const list = `onchain-inbox handlers list --admin-url ${app.adminUrl}`
  expect((await cli('doctor')).out).toContain(`paused: quiet (${list})`)
  const { out } = await cli('doctor', '--acknowledge', '--json')
  expect(JSON.parse(out)).toEqual({ missing_sequence_numbers: 3, gaps: expect.any(Number) })
  await logged('lost events acknowledged')
})
