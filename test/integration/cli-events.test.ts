import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AppServer } from '../support/app-server.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { runCli, type CliResult } from '../support/cli.ts'
import { resolveAdminToken } from '../../src/admin/token-file.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { arrivalOf, createDeadLetters } from '../fixtures/stored-events.ts'

let dir: string
let file: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cli-events-'))
  file = join(dir, 'inbox.db')
})
afterEach(() => rm(dir, { recursive: true }))

/** Runs a command on the file. Nothing listens on port 1. */
function run(line: string, env: Record<string, string> = {}): Promise<CliResult> {
  const settings = { INBOX_DATABASE_URL: `sqlite:${file}`, INBOX_ADMIN_PORT: '1' }
  return runCli(line.split(' '), { cwd: dir, env: { ...settings, ...env } })
}

/** Opens the file without threads. */
async function openInbox() {
  const clock = systemClock
  return createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
}

/** Stores `evt_1` and `evt_2` as dead letters, and an event of another type. Returns the run ids. */
async function fill(): Promise<number[]> {
  const inbox = await openInbox()
  const runs = await createDeadLetters(inbox, ['evt_1', 'evt_2'], 'no \u001b[31m pair')
  await inbox.register([])
  await inbox.accept([arrivalOf('evt_3', 'token.price_alert', '18446744073709551615')])
  await inbox.close()
  return runs
}

/** Opens the file and its admin API in this process, as a sidecar does. */
async function startSidecar(setToken?: string, onResume = () => {}) {
  const inbox = await openInbox()
  const admin = { host: '127.0.0.1', port: 0, hosts: [], token: setToken, viewerToken: undefined }
  const token = await resolveAdminToken({ admin, database: { kind: 'sqlite', file } })
  const stage = await createAdminStage({ inbox, token, onResume })
  const { INBOX_ADMIN_PORT } = stage.env
  return { ...stage, env: { INBOX_ADMIN_PORT } }
}

const idsOf = (out: string) => (JSON.parse(out) as { data: { id: string }[] }).data.map(({ id }) => id)

test('events are read from the file when no sidecar runs', async () => {
  const runs = await fill()
  const list = await run('events list --json')
  expect(list).toMatchObject({ code: 0, errors: '' })
  expect(idsOf(list.out)).toEqual(['evt_3', 'evt_2', 'evt_1'])

  const filtered = await run('events list --status dead --type wallet.large_trade')
  expect(filtered.code).toBe(0)
  expect(filtered.out.trim().split('\n')).toHaveLength(3)
  expect(filtered.out).toMatch(
    /^received_at +status +source +type +network +address +id\n2026-01-31T14:00:00.000Z +dead +default /,
  )

  const shown = await run('events show evt_1')
  expect(shown.code).toBe(0)
  expect(shown.out).toMatch(/^status +dead$/m)
  expect(shown.out).toMatch(new RegExp(`^${runs[0]} +trades +dead +1 +- +-$`, 'm'))
  expect(shown.out).toContain('TerminalError: no \\u001b[31m pair')
  expect(shown.out).toContain('"amount": 1')

  const raw = await run('events show evt_3 --raw')
  expect(raw.out).toBe(Buffer.from(arrivalOf('evt_3', 'token.price_alert', '18446744073709551615').raw).toString())
})

test('files created next to the database are private', async () => {
  await fill()
  for (const name of await readdir(dir)) if (name !== 'inbox.db') await rm(join(dir, name))
  // SQLite copies the mode of the database.
  await chmod(file, 0o600)
  const before = process.umask(0o022)
  try {
    expect((await run('events list')).code).toBe(0)
  } finally {
    process.umask(before)
  }
  const created = (await readdir(dir)).filter((name) => name !== 'inbox.db')
  expect(created).not.toEqual([])
  for (const name of created) expect([name, (await stat(join(dir, name))).mode & 0o077]).toEqual([name, 0])
})

test('handlers are listed, paused, resumed and changed', async () => {
  await fill()
  const onResume = vi.fn()
  await using sidecar = await startSidecar(undefined, onResume)
  const done = async (line: string) => {
    const { code, out, errors } = await run(`handlers ${line}`, sidecar.env)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    return out
  }
  expect(await done('pause trades')).toBe('paused: trades; runs in flight finish\n')
  expect(await done('list')).toMatch(
    /^handler +state +at once +waiting +ready +suspect +running +held +dead\ntrades +paused +- +\d/,
  )
  expect(JSON.parse(await done('pause --all --json'))).toEqual({ handler: null, paused: true, shut: null })
  const list = JSON.parse(await done('list --json')) as object
  expect(list).toMatchObject({ paused: true, data: [{ name: 'trades', paused: true }] })
  expect(onResume).not.toHaveBeenCalled()
  expect(await done('resume --all')).toBe('resumed: all handlers\n')
  expect(onResume).toHaveBeenCalledOnce()
  expect(await done('set trades --concurrency default')).toBe('trades: default concurrency\n')
  const errors = 'not_found: there is no handler "nobody": expected one of trades\n'
  for (const line of ['pause nobody', 'set nobody --concurrency 2', 'drop nobody --reason gone'])
    expect(await run(`handlers ${line}`, sidecar.env)).toEqual({ code: 1, out: '', errors })
})

test('commands print the same from the file as from the admin API', async () => {
  await fill()
  const lines = ['list --limit 2', 'show evt_3 --raw', 'show none'].map((line) => `events ${line}`)
  lines.push('dead list --json', 'dead requeue 99999')
  const direct: CliResult[] = []
  for (const line of lines) direct.push(await run(line))
  await using sidecar = await startSidecar()
  expect(await Promise.all(lines.map((line) => run(line, sidecar.env)))).toEqual(direct)
  expect(direct.map(({ code }) => code)).toEqual([0, 0, 1, 0, 1])
})

test('the token comes from the settings, and a wrong or missing one is explained', async () => {
  await fill()
  await using sidecar = await startSidecar('a-token-that-is-set')
  const token = { INBOX_ADMIN_TOKEN: 'a-token-that-is-set' }
  expect(idsOf((await run(`events list --json --admin-url ${sidecar.url}`, token)).out)).toHaveLength(3)
  for (const env of [{ INBOX_ADMIN_TOKEN: 'another-token-than-that' }, {}]) {
    const { code, out, errors } = await run('events list', { ...sidecar.env, ...env })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(errors).toMatch(/^unauthorized: .*set INBOX_ADMIN_TOKEN or INBOX_ADMIN_TOKEN_FILE/)
  }
})

test('commands exit with 75 if a process holds the file and no admin API answers', async () => {
  await fill()
  await using _sidecar = await startSidecar()
  const { code, out, errors } = await run('events list')
  expect({ code, out }).toEqual({ code: 75, out: '' })
  expect(errors).toMatch(
    /^admin_unreachable: .* holds .*inbox\.db.* at http:\/\/127\.0\.0\.1:1\. If the process is a sidecar, set its URL with --admin-url, .* own app .* stop the app first/,
  )
  const named = await run('events list --admin-url http://127.0.0.1:1 --json')
  expect(named.code).toBe(75)
  expect(JSON.parse(named.errors)).toMatchObject({ error: { code: 'admin_unreachable' } })
})

test('commands follow no redirect, and report an address that is no admin API', async () => {
  await using stranger = await AppServer.start()
  const list = () =>
    run(`events list --admin-url http://127.0.0.1:${stranger.port}`, { INBOX_ADMIN_TOKEN: 'a-token-that-is-set' })
  stranger.answer = () => ({ status: 302, headers: { Location: '/elsewhere' } })
  expect(await list()).toMatchObject({ code: 75, errors: expect.stringMatching(/^admin_unreachable: no answer/) })
  stranger.answer = () => ({ status: 404, body: '<h1>not here</h1>' })
  const errors = expect.stringMatching(/^admin_unreachable: http\S+ is not an admin API \(status 404\)/)
  expect(await list()).toMatchObject({ code: 75, errors })
  expect(stranger.requests.map(({ path }) => path)).toEqual(Array(2).fill('/api/v1/events?limit=50'))
})

test('commands create no database', async () => {
  const errors = expect.stringMatching(/^not_found: no database at .*inbox\.db/)
  expect(await run('dead list')).toMatchObject({ code: 1, errors })
  expect(await readdir(dir)).toEqual([])
})

test('the token file is not sent to another program while no process holds the database', async () => {
  await fill()
  await (await startSidecar())[Symbol.asyncDispose]()
  await using stranger = await AppServer.start()
  stranger.answer = () => ({ status: 200, body: '{"status":"alive"}' })
  const list = await run('events list --json', { INBOX_ADMIN_PORT: String(stranger.port) })
  expect(idsOf(list.out)).toHaveLength(3)
  expect(stranger.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([])
})
