import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../src/inbox/postgres/migrate.ts'
import { runCli } from '../support/cli.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { createTempDir } from '../support/temp-dir.ts'

let server: PostgresInboxes
beforeAll(async () => {
  server = await startPostgresInboxes()
})
afterAll(() => server[Symbol.asyncDispose]())

const newest = migrations.at(-1)!.name

function shown(url: string): string {
  return Object.assign(new URL(url), { username: '', password: '' }).href
}

test('migrate gives a database its schema, once, and shows no password', async () => {
  const url = await server.createBare()
  await using dir = await createTempDir()
  const migrate = (...args: readonly string[]) =>
    runCli(['migrate', ...args], { cwd: dir.path, env: { INBOX_DATABASE_URL: url } })
  expect(await migrate()).toEqual({ code: 0, out: `created schema ${newest} in ${shown(url)}\n`, errors: '' })
  const again = await migrate('--json')
  expect(again).toMatchObject({ code: 0, errors: '' })
  expect(JSON.parse(again.out)).toEqual({ database: shown(url), result: 'current', from: newest, to: newest })
})

test('doctor says what the database is, and backup and events what they want instead', async () => {
  const url = await server.createDatabase()
  await using dir = await createTempDir()
  const wrong = Object.assign(new URL(url), { password: 's3cr3t' }).href
  const run = (args: string[], to = url) =>
    runCli(args, {
      cwd: dir.path,
      env: { INBOX_DATABASE_URL: to, INBOX_ADMIN_PORT: '1', INBOX_SECRETS: 'main:0123456789abcdef' },
    })
  const [well, ill, backup, events] = await Promise.all([
    run(['doctor', '--json']),
    run(['doctor', '--json'], wrong),
    run(['backup', 'copy.db']),
    run(['dead', 'list']),
  ])
  const version = expect.stringMatching(/ is PostgreSQL \d+, schema /) as string
  const database = (out: string) =>
    (JSON.parse(out) as { checks: { check: string }[] }).checks.find(({ check }) => check === 'database')
  expect(database(well.out)).toMatchObject({ result: 'ok', found: version })
  expect(database(ill.out)).toMatchObject({
    result: 'fail',
    found: expect.stringContaining('password authentication failed') as string,
  })
  expect(backup.errors).toContain('pg_dump')
  expect(events.errors).toContain('only a sidecar can read events in PostgreSQL')
  for (const { out, errors } of [well, ill, backup, events]) expect(out + errors).not.toMatch(/s3cr3t|of-the-test/)
})
