import { chmod, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AppServer } from '../support/app-server.ts'
import { createAdminStage } from '../support/admin-stage.ts'
import { runCli, type CliResult } from '../support/cli.ts'
import { resolveAdminToken } from '../../src/admin/token-file.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { arrivalOf, giveUp } from '../fixtures/stored-events.ts'

let dir: string
let file: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cli-events-'))
  file = join(dir, 'inbox.db')
})
afterEach(() => rm(dir, { recursive: true }))

type Run = CliResult

/** Runs a command with no settings but the given ones. Without `--json` it prints for people. */
function run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  // A port where nothing listens, so that a sidecar of this machine is not taken for the one of the test.
  return runCli(args, {
    cwd: dir,
    env: { INBOX_DATABASE_URL: `sqlite:${file}`, INBOX_ADMIN_PORT: '1', ...env },
  })
}

/** The file's inbox without threads. */
async function openInbox() {
  const clock = systemClock
  return createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
}

/** A file with two dead letters, of `evt_1` and `evt_2`, and an event of another type. Gives the run ids. */
async function fill(): Promise<number[]> {
  const inbox = await openInbox()
  const runs = await giveUp(inbox, ['evt_1', 'evt_2'], 'no \u001b[31m pair')
  await inbox.register([])
  await inbox.accept([arrivalOf('evt_3', 'token.price_alert', '18446744073709551615')])
  await inbox.close()
  return runs
}

/** The inbox of the file and its admin server in this process, which holds the file as a sidecar does. */
async function startSidecar(setToken?: string) {
  const inbox = await openInbox()
  const admin = { host: '127.0.0.1', port: 0, hosts: [], ...(setToken === undefined ? {} : { token: setToken }) }
  const token = await resolveAdminToken({ admin, database: { kind: 'sqlite', file } })
  const stage = await createAdminStage({ inbox, token })
  const { INBOX_ADMIN_PORT = '' } = stage.env
  return { ...stage, env: { INBOX_ADMIN_PORT } }
}

const idsOf = (out: string) => (JSON.parse(out) as { data: { id: string }[] }).data.map(({ id }) => id)

test('with no process on the file, events are read from it', async () => {
  const runs = await fill()
  const list = await run(['events', 'list', '--json'])
  expect(list).toMatchObject({ code: 0, errors: '' })
  expect(idsOf(list.out)).toEqual(['evt_3', 'evt_2', 'evt_1'])

  const filtered = await run(['events', 'list', '--status', 'dead', '--type', 'wallet.large_trade'])
  expect(filtered.code).toBe(0)
  expect(filtered.out.trim().split('\n')).toHaveLength(3)
  expect(filtered.out).toMatch(/^received +status +type +network +address +id\n2026-01-31T14:00:00.000Z +dead /)

  const shown = await run(['events', 'show', 'evt_1'])
  expect(shown.code).toBe(0)
  expect(shown.out).toMatch(/^status +dead$/m)
  expect(shown.out).toMatch(new RegExp(`^${runs[0]} +trades +dead +1 +- +-$`, 'm'))
  expect(shown.out).toContain('TerminalError: no \\u001b[31m pair')
  expect(shown.out).toContain('"amount": 1')

  const raw = await run(['events', 'show', 'evt_3', '--raw'])
  expect(raw.out).toBe(Buffer.from(arrivalOf('evt_3', 'token.price_alert', '18446744073709551615').raw).toString())
  const json = await run(['events', 'show', 'evt_3', '--json'])
  expect(json.out).toContain('"amount":18446744073709551615')
})

test('what a command makes beside the database is for its own user only', async () => {
  await fill()
  for (const name of await readdir(dir)) if (name !== 'inbox.db') await rm(join(dir, name))
  // SQLite gives the rights of the database to what belongs to it.
  await chmod(file, 0o600)
  const before = process.umask(0o022)
  try {
    expect((await run(['events', 'list'])).code).toBe(0)
  } finally {
    process.umask(before)
  }
  const made = (await readdir(dir)).filter((name) => name !== 'inbox.db')
  expect(made).not.toEqual([])
  for (const name of made) expect([name, (await stat(join(dir, name))).mode & 0o077]).toEqual([name, 0])
})

test('handlers are listed, paused and resumed', async () => {
  await fill()
  const commands = [
    ['handlers', 'pause', 'trades'],
    ['handlers', 'list'],
    ['handlers', 'pause', '--all', '--json'],
    ['handlers', 'list', '--json'],
    ['handlers', 'resume', '--all'],
    ['handlers', 'pause', 'nobody'],
    ['handlers', 'set', 'nobody', '--concurrency', '2'],
    ['handlers', 'drop', 'nobody', '--reason', 'gone'],
    ['handlers', 'set', 'trades', '--concurrency', 'default'],
  ]
  const direct: Run[] = []
  await using sidecar = await startSidecar()
  for (const args of commands) direct.push(await run(args, sidecar.env))
  expect(direct.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 0])
  const [pause, list, pauseAll, listAll, resumeAll, nobody, setNobody, dropNobody, set] = direct
  expect(pause?.out).toBe('paused: trades; runs in flight finish\n')
  expect(list?.out).toMatch(
    /^handler +state +at once +waiting +ready +suspect +handed out +held +dead\ntrades +paused +- +\d/,
  )
  expect(JSON.parse(pauseAll?.out ?? '')).toEqual({ handler: null, paused: true })
  expect(JSON.parse(listAll?.out ?? '')).toMatchObject({ paused: true, data: [{ name: 'trades', paused: true }] })
  expect(resumeAll?.out).toBe('resumed: all handlers\n')
  const unknown = 'not_found: there is no handler "nobody": expected one of trades\n'
  expect([nobody, setNobody, dropNobody].map((each) => each?.errors)).toEqual([unknown, unknown, unknown])
  expect(set?.out).toBe('trades: the concurrency of its own setting\n')
})

test('over the admin API of the sidecar that holds the file, the same commands print the same', async () => {
  await fill()
  const commands = [
    ['events', 'list', '--limit', '2'],
    ['events', 'show', 'evt_3', '--raw'],
    ['events', 'show', 'none'],
    ['dead', 'list', '--json'],
    ['dead', 'requeue', '99999'],
  ]
  const direct: Run[] = []
  for (const args of commands) direct.push(await run(args))
  await using sidecar = await startSidecar()
  const remote = await Promise.all(commands.map((args) => run(args, sidecar.env)))
  expect(remote).toEqual(direct)
  expect(direct.map(({ code }) => code)).toEqual([0, 0, 1, 0, 1])
})

test('dead letters are requeued from the file, by number and then all of them', async () => {
  const [first] = await fill()
  expect(await run(['dead', 'requeue', String(first)])).toEqual({
    code: 0,
    out: '1 run will run again\n',
    errors: '',
  })
  const left = await run(['dead', 'list'])
  expect(left.out).toContain('TerminalError: no \\u001b[31m pair')
  expect(left.out).toContain('evt_2')
  expect(left.out).not.toContain('evt_1')
  expect((await run(['dead', 'requeue', '--all', '--json'])).out).toBe('{"requeued":1,"complete":true}\n')
  expect((await run(['dead', 'list'])).out).toBe('no dead letters\n')
})

test('a token that was set is taken from the settings, a wrong one is explained', async () => {
  await fill()
  await using sidecar = await startSidecar('a-token-that-is-set')
  const right = await run(['events', 'list', '--json', '--admin-url', sidecar.url], {
    INBOX_ADMIN_TOKEN: 'a-token-that-is-set',
  })
  expect(idsOf(right.out)).toHaveLength(3)
  const wrong = await run(['events', 'list'], { ...sidecar.env, INBOX_ADMIN_TOKEN: 'another-token-than-that' })
  expect(wrong).toMatchObject({ code: 1, out: '' })
  expect(wrong.errors).toMatch(/^unauthorized: .*set INBOX_ADMIN_TOKEN or INBOX_ADMIN_TOKEN_FILE/)
  const none = await run(['events', 'list'], sidecar.env)
  expect(none).toMatchObject({ code: 1, out: '' })
  expect(none.errors).toMatch(/^unauthorized: .*set INBOX_ADMIN_TOKEN or INBOX_ADMIN_TOKEN_FILE/)
})

test('if a process holds the file and its admin API does not answer, try again later: exit code 75', async () => {
  await fill()
  await using _sidecar = await startSidecar()
  const { code, out, errors } = await run(['events', 'list'])
  expect({ code, out }).toEqual({ code: 75, out: '' })
  expect(errors).toMatch(
    /^admin_unreachable: .* holds .*inbox\.db.* at http:\/\/127\.0\.0\.1:1\. If the process is a sidecar, set its URL with --admin-url, .* own app .* stop the app first/,
  )
  const named = await run(['events', 'list', '--admin-url', 'http://127.0.0.1:1', '--json'])
  expect(named.code).toBe(75)
  expect(JSON.parse(named.errors)).toMatchObject({ error: { code: 'admin_unreachable' } })
})

test('another program at the address is not taken for the admin API, and no redirect of it is followed', async () => {
  const stranger = await AppServer.start()
  stranger.answer = () =>
    stranger.requests.length === 1
      ? { status: 302, headers: { Location: '/elsewhere' } }
      : { status: 404, body: '<h1>not here</h1>' }
  const url = `http://127.0.0.1:${stranger.port}`
  const env = { INBOX_ADMIN_TOKEN: 'a-token-that-is-set' }
  const redirected = await run(['events', 'list', '--admin-url', url], env)
  const other = await run(['events', 'list', '--admin-url', url], env)
  await stranger[Symbol.asyncDispose]()
  expect(redirected).toMatchObject({ code: 75, errors: expect.stringMatching(/^admin_unreachable: no answer/) })
  expect(other).toMatchObject({
    code: 75,
    errors: expect.stringMatching(/^admin_unreachable: http\S+ is not an admin API \(status 404\)/),
  })
  expect(stranger.requests.map(({ path }) => path)).toEqual(['/api/v1/events?limit=50', '/api/v1/events?limit=50'])
})

test('a database that is not there is not made', async () => {
  const { code, errors } = await run(['dead', 'list'])
  expect(code).toBe(1)
  expect(errors).toMatch(/^not_found: no database at .*inbox\.db/)
  expect(await readdir(dir)).toEqual([])
})

test('the token beside the database is not sent to another program at the port while no process holds the file', async () => {
  await fill()
  await using sidecar = await startSidecar()
  await sidecar[Symbol.asyncDispose]()
  const stranger = await AppServer.start()
  stranger.answer = () => ({ status: 200, body: '{"status":"alive"}' })
  const env = { INBOX_ADMIN_PORT: String(stranger.port) }
  const list = await run(['events', 'list', '--json'], env)
  await stranger[Symbol.asyncDispose]()
  expect(idsOf(list.out)).toHaveLength(3)
  expect(stranger.requests.filter(({ headers }) => headers.authorization !== undefined)).toEqual([])
})
