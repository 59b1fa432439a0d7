import { expect, test } from 'vitest'
import { migrations } from '../../src/inbox/postgres/migrations.ts'
import { runCli } from '../support/cli.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { createTempDir } from '../support/temp-dir.ts'

const server = usePostgres()

const newest = migrations.at(-1)!.name

function shown(url: string): string {
  return Object.assign(new URL(url), { username: '', password: '' }).href
}

test('migrate creates the schema once and shows no password', async () => {
  const url = await server.createBare()
  await using dir = await createTempDir()
  const migrate = (...args: readonly string[]) =>
    runCli(['migrate', ...args], { cwd: dir.path, env: { INBOX_DATABASE_URL: url } })
  expect(await migrate()).toEqual({ code: 0, out: `created schema ${newest} in ${shown(url)}\n`, errors: '' })
  const again = await migrate('--json')
  expect(again).toMatchObject({ code: 0, errors: '' })
  expect(JSON.parse(again.out)).toEqual({ database: shown(url), result: 'current', from: newest, to: newest })
})

test('doctor checks the database; backup and dead list name their alternatives', async () => {
  const url = await server.createDatabase()
  await using dir = await createTempDir()
  const wrong = Object.assign(new URL(url), { password: 's3cr3t' }).href
  const run = (args: string[], to = url) =>
    runCli(args, {
      cwd: dir.path,
      env: { INBOX_DATABASE_URL: to, INBOX_ADMIN_PORT: '1', INBOX_SECRETS: 'main:0123456789abcdef' },
    })
  const [healthy, refused, backup, dead] = await Promise.all([
    run(['doctor', '--json']),
    run(['doctor', '--json'], wrong),
    run(['backup', 'copy.db']),
    run(['dead', 'list']),
  ])
  const version = expect.stringMatching(/ is PostgreSQL \d+, schema /) as string
  const database = (out: string) =>
    (JSON.parse(out) as { checks: { check: string }[] }).checks.find(({ check }) => check === 'database')
  expect(database(healthy.out)).toMatchObject({ result: 'ok', found: version })
  expect(database(refused.out)).toMatchObject({
    result: 'fail',
    found: expect.stringContaining('password authentication failed') as string,
  })
  expect(backup.errors).toContain('pg_dump')
  expect(dead.errors).toContain('only a sidecar can read events in PostgreSQL')
  for (const { out, errors } of [healthy, refused, backup, dead]) expect(out + errors).not.toMatch(/s3cr3t|of-the-test/)
})
