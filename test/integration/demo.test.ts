import Sqlite from 'better-sqlite3'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { createTempDir } from '../support/temp-dir.ts'

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

test('a demo that is started again the next day says nothing of events that were not received in between', async () => {
  await using dir = await createTempDir()
  const demo = () => runCli(['demo', '--seconds', '0.1', '--json'], { cwd: dir.path })
  expect((await demo()).code).toBe(0)
  const db = new Sqlite(join(dir.path, 'data/demo/inbox.db'))
  db.exec(
    `UPDATE meta SET value = value - ${24 * 3_600_000} WHERE name = 'served_at'; UPDATE event SET received_at = 0`,
  )
  db.close()
  const again = await demo()
  expect(again).toMatchObject({ code: 0, errors: '' })
  expect(again.out).not.toContain('out of service')
})

test('the demo, whose credentials are published, takes nothing from the settings of the folder and stays on loopback', async () => {
  await using dir = await createTempDir()
  const settings = {
    INBOX_PATH: '/elsewhere',
    INBOX_HOST: '0.0.0.0',
    INBOX_ADMIN_HOST: '0.0.0.0',
    INBOX_ADMIN_HOSTS: ['inbox.example.com'],
  }
  await writeFile(join(dir.path, 'onchain-inbox.config.mjs'), `export default ${JSON.stringify(settings)}`)
  const child = spawn(process.execPath, [cli, 'demo', '--seconds', '0.1', '--json'], {
    cwd: dir.path,
    env: { PATH: process.env['PATH'], INBOX_ADMIN_HOST: '0.0.0.0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect(code).toBe(0)
  const line = output.split('\n').find((text) => text.includes('"msg":"listening"')) ?? ''
  const { url, adminUrl } = JSON.parse(line) as { url: string; adminUrl: string }
  expect([new URL(url).hostname, new URL(adminUrl).hostname]).toEqual(['127.0.0.1', '127.0.0.1'])
  expect(new URL(url).pathname).toBe('/webhooks')
})

test('its banner names what the emulator is steered with, and commands that work where it was started', async () => {
  await using dir = await createTempDir()
  const { out } = await runCli(['demo', '--seconds', '0.1'], { cwd: dir.path })
  expect(out).toMatch(/ {2}control {3}http:\S+\/_emulator {2}\(bearer token: demo-control-token-do-not-use\)/)
  expect(out).toMatch(
    /curl .*demo-control-token.* \\\n {6}-d '\{"type":"pump\.graduation"\}' http:\S+\/_emulator\/trigger\n/,
  )
  expect(out).toMatch(/\n {4}node \S+cli\.(ts|js) events list --admin-url http/)
})
