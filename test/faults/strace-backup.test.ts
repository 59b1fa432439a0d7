import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { backupDatabase, verifyBackup } from '../../src/inbox/sqlite/backup.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { anEvent } from '../conformance/stage.ts'
import { cliFile } from '../support/cli.ts'
import { databaseFiles } from '../support/sqlite-files.ts'
import { canTrace } from '../support/tools.ts'
import { straceCommand } from './strace.ts'

const { newDatabaseFile, copyDatabase } = databaseFiles()

/** A database with 30 events, some of them in its -wal, and a backup with 10. */
async function stage() {
  const file = newDatabaseFile()
  const inbox = await createSqliteInbox({ file })
  const accept = (from: number) => inbox.accept(Array.from({ length: 10 }, (_, n) => anEvent(`e${from + n}`)))
  await accept(0)
  await backupDatabase(file, `${file}.backup`)
  await accept(10)
  await accept(20)
  return { file, backup: `${file}.backup`, [Symbol.asyncDispose]: () => inbox.close() }
}

/** Runs a command on a database, with a prefix such as strace. Returns the exit code; null after a signal. */
function run(before: readonly string[], command: readonly string[], file: string): Promise<number | null> {
  const [program = '', ...args] = [...before, process.execPath, cliFile, ...command]
  const env = { PATH: process.env['PATH'], INBOX_DATABASE_URL: `sqlite:${file}` }
  const child = spawn(program, args, { env, stdio: 'ignore' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code))
  })
}

describe.skipIf(!canTrace())('files of backup and restore (needs strace)', () => {
  test.each(['link', 'rename'])(
    'a restore that is killed before any %s leaves the old or the new database',
    async (call) => {
      await using it = await stage()
      const found: number[] = []
      for (let when = 1, code: number | null = null; code !== 0; when += 1) {
        const file = copyDatabase(it.file)
        const killed = straceCommand(`/^${call}(at2?)?$:signal=KILL:when=${when}`, [])
        code = await run(killed, ['restore', it.backup], file)
        found.push(verifyBackup(file).events)
      }
      expect(found.filter((events) => events !== 30 && events !== 10)).toEqual([])
      expect([found[0], found.at(-1)]).toEqual([30, 10])
    },
    120_000,
  )

  test('a restore keeps the old database on a file system without hard links', async () => {
    await using it = await stage()
    const file = copyDatabase(it.file)
    const refused = straceCommand('/^link(at)?$:error=EPERM', [])
    expect(await run(refused, ['restore', it.backup], file)).toBe(0)
    const names = (await readdir(dirname(file))).filter((name) => name.startsWith('inbox.db.replaced-'))
    const found = [file, ...names.map((name) => join(dirname(file), name))].map((name) => verifyBackup(name).events)
    expect(found).toEqual([10, 30])
  })

  test('a backup is durable before it gets its name, and the name before the command ends', async () => {
    await using it = await stage()
    const trace = `${it.file}.trace`
    const traced = ['strace', '-f', '-y', '-o', trace, '-e', 'trace=/^(pwrite64|write|fsync|fdatasync|rename)']
    expect(await run(traced, ['backup', join(dirname(it.file), 'copy.db')], it.file)).toBe(0)
    const folder = dirname(it.file)
    const steps = (await readFile(trace, 'utf8')).split('\n').flatMap((line) => {
      if (/ p?write(64)?\(\d+<[^>]*copy\.db\.partial>/.test(line)) return 'write'
      if (/ f(data)?sync\(\d+<[^>]*copy\.db\.partial>\) = 0/.test(line)) return 'sync'
      if (/ rename[^(]*\(.*copy\.db\.partial"/.test(line)) return 'rename'
      return line.includes(`sync(`) && line.includes(`<${folder}>) = 0`) ? 'sync of the folder' : []
    })
    const named = steps.indexOf('rename')
    expect(steps.slice(steps.lastIndexOf('write'), named)).toContain('sync')
    expect(steps.slice(named)).toEqual(['rename', 'sync of the folder'])
  })
})
