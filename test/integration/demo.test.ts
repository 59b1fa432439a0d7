import Sqlite from 'better-sqlite3'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { beginCli, runCli } from '../support/cli.ts'
import { rowsOf } from '../support/sqlite-files.ts'
import { createTempDir } from '../support/temp-dir.ts'

vi.setConfig({ testTimeout: 180_000 })
const escape = '\u001b['

/** Starts a demo. `see` waits for a match in its output. */
function beginDemo(args: readonly string[], cwd: string) {
  const { stdout, text, ended, kill } = beginCli(['demo', ...args], { cwd })
  stdout.setMaxListeners(0)
  const over = ended.then(({ out }) => Promise.reject(new Error(`it has ended, having printed:\n${out}`)))
  over.catch(() => {})
  return {
    text,
    async see(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const match = pattern.exec(text.out)
        if (match !== null) return match
        await Promise.race([once(stdout, 'data'), over])
      }
    },
    stop() {
      kill('SIGINT')
      return ended
    },
  }
}

test('the demo shows all ten types, duplicates, retries and a dead letter (R78, R81, R88, R92)', async () => {
  await using dir = await createTempDir()
  const output = beginDemo([], dir.path)
  // On a busy machine the inbox may answer 503 at first. Then the line of the attempt comes before that of the event.
  const lineOf = (type: string) =>
    new RegExp(`^(?: +↳ )?\\d\\d:\\d\\d:\\d\\d(?: UTC)? {2}${type.replace('.', '\\.')} `, 'm')
  await Promise.all(eventTypes.map((type) => output.see(lineOf(type))))

  const failed = (text: string, reason: string) =>
    new RegExp(
      `↳ ${text}: handler unlucky, eventId (evt_\\w+), .*error \\w+: ${reason}, frame at .*unlucky\\.\\w+:\\d+`,
    )
  const [, retried] = await output.see(failed('attempt failed, retry scheduled', 'on purpose'))
  await output.see(new RegExp(`↳ unlucky handled ${retried} this time\n`))
  const [, dead] = await output.see(failed('run became a dead letter', 'gave up on purpose'))
  await output.see(/↳ \d\d:\d\d:\d\d {2}[\w.]+ +evt_\w+ {2}\d{3} {2}\w+ +\d+ ms {2}delivered again/)

  const [, dashboard = ''] = await output.see(/ {2}dashboard {2}(http:\S+\/) {2}\(user demo, password \S+\)\n/)
  expect((await fetch(dashboard)).status).toBe(200)
  const [, adminUrl = ''] = await output.see(/ {2}console {4}(http:\S+) /)
  const atAdmin = { cwd: dir.path, env: { INBOX_ADMIN_TOKEN: demoCredentials.adminToken } }
  const list = await runCli(['dead', 'list', '--admin-url', adminUrl], atAdmin)
  expect(list.out).toContain(dead)
  await runCli(['dead', 'requeue', '--all', '--admin-url', adminUrl], atAdmin)
  await output.see(new RegExp(`↳ unlucky handled ${dead} this time\n`))

  // One delivery of 40 has a wrong signature.
  const trigger = ['trigger', 'wallet.new_position', '-n', '41', '--timeout', '0', '--emulator', dashboard]
  expect(await runCli(trigger, { cwd: dir.path })).toMatchObject({ code: 0, errors: '' })
  await output.see(
    /↳ \d\d:\d\d:\d\d {2}wallet\.new_position +evt_\w+ {2}\d{3} {2}failed +\d+ ms {2}fault signature-bad, next at .*\n/,
  )

  const { code, errors } = await output.stop()
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(output.text.out).toMatch(/\n\nStopped: \d+ events acknowledged, \d+ stored\. .*\n$/)
  expect(output.text.out).not.toContain(escape)
  const most = 'SELECT count(*) AS n FROM run GROUP BY event_seq, handler_id ORDER BY 1 DESC LIMIT 1'
  expect(rowsOf(join(dir.path, 'data/demo/inbox.db'), most)).toEqual([{ n: 1 }])
})

test('the demo ignores settings of its folder, stays on loopback, and reports no outage the next day', async () => {
  await using dir = await createTempDir()
  const settings = { INBOX_PATH: '/elsewhere', INBOX_HOST: '0.0.0.0', INBOX_ADMIN_HOSTS: ['inbox.example.com'] }
  await writeFile(join(dir.path, 'onchain-inbox.config.mjs'), `export default ${JSON.stringify(settings)}`)
  const env = { INBOX_ADMIN_HOST: '0.0.0.0' }
  const demo = () => runCli(['demo', '--seconds', '0.1', '--json'], { cwd: dir.path, env })
  const { code, out } = await demo()
  expect(code).toBe(0)
  const line = out.split('\n').find((text) => text.includes('"msg":"listening"')) ?? ''
  const { url, adminUrl } = JSON.parse(line) as { url: string; adminUrl: string }
  expect([new URL(url).hostname, new URL(adminUrl).hostname]).toEqual(['127.0.0.1', '127.0.0.1'])
  expect(new URL(url).pathname).toBe('/webhooks')

  const db = new Sqlite(join(dir.path, 'data/demo/inbox.db'))
  const dayAgo = `UPDATE meta SET value = value - ${24 * 3_600_000} WHERE name = 'served_at'`
  db.exec(`${dayAgo}; UPDATE event SET received_at = 0`)
  db.close()
  const again = await demo()
  expect(again).toMatchObject({ code: 0, errors: '' })
  expect(again.out).not.toContain('out of service')
})
