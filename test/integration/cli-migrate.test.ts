import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWriterConnection } from '../../src/inbox/sqlite/connection.ts'
import { lockDatabase } from '../../src/inbox/sqlite/lock.ts'
import { migrations } from '../../src/inbox/sqlite/migrations.ts'
import { runCli } from '../support/cli.ts'
import { rowsOf } from '../support/sqlite-files.ts'
import { createTempDir } from '../support/temp-dir.ts'

const newest = migrations.at(-1)?.name ?? ''
const oldest = migrations[0]?.name ?? ''

const schemasOf = (file: string) => rowsOf(file, 'SELECT name FROM kysely_migration ORDER BY name')

test('migrate upgrades an older database once, and keeps a copy', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  const migrate = (...args: string[]) =>
    runCli(['migrate', ...args], { cwd: dir.path, env: { INBOX_DATABASE_URL: 'sqlite:./inbox.db' } })

  const missing = await migrate('--json')
  expect(missing).toMatchObject({ code: 0, errors: '' })
  expect(JSON.parse(missing.out)).toEqual({ file, result: 'missing', from: null, to: newest, backup: null })
  expect(readdirSync(dir.path)).toEqual([])

  const old = await openWriterConnection(file, { known: migrations.slice(0, 1) })
  old.prepare(`INSERT INTO meta (name, value) VALUES ('of_the_test', 7)`).run()
  old.close()
  const backup = `${file}.before-${newest.slice(0, 4)}`
  const migrated = await migrate()
  expect(migrated).toEqual({
    code: 0,
    out: `migrated ${file} from ${oldest} to ${newest}\nthe old file is kept as ${backup}\n`,
    errors: '',
  })
  expect(schemasOf(file)).toEqual(migrations.map(({ name }) => ({ name })))
  expect(schemasOf(backup)).toEqual([{ name: oldest }])
  expect(rowsOf(file, `SELECT value FROM meta WHERE name = 'of_the_test'`)).toEqual([{ value: 7 }])

  expect(await migrate()).toMatchObject({ code: 0, out: `nothing to do: ${file} has schema ${newest}\n` })
})

test('migrate refuses a database in use (75), and memory:', async () => {
  await using dir = await createTempDir()
  const file = join(dir.path, 'inbox.db')
  const migrate = (url = 'sqlite:./inbox.db') =>
    runCli(['migrate', '--json'], { cwd: dir.path, env: { INBOX_DATABASE_URL: url } })
  const codeOf = ({ errors }: { errors: string }) => (JSON.parse(errors) as { error: { code: string } }).error.code

  const db = await openWriterConnection(file)
  db.close()
  const lock = lockDatabase(file)
  const held = await migrate()
  lock.release()
  expect([held.code, codeOf(held)]).toEqual([75, 'database_in_use'])

  const memory = await migrate('memory:')
  expect([memory.code, codeOf(memory)]).toEqual([1, 'usage'])
})
