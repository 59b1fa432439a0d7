import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createTempDir } from '../support/temp-dir.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const packages = ['@nats-io', '@platformatic', '@redis', 'nodemailer']
const sinks = {
  mail: { kind: 'email', url: 'smtp://127.0.0.1', from: 'a@example.com', to: 'b@example.com', types: '*' },
  nats: { kind: 'nats', servers: '127.0.0.1:4222', types: '*' },
  cache: { kind: 'redis', url: 'redis://127.0.0.1', types: '*' },
  log: { kind: 'kafka', brokers: '127.0.0.1:9092', types: '*' },
}

/** Copies the program without the packages of sinks. */
function copyProgram(to: string): void {
  for (const part of ['src', 'schema', 'handlers', 'package.json'])
    cpSync(join(root, part), join(to, part), { recursive: true })
  mkdirSync(join(to, 'node_modules'))
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (!packages.includes(name)) symlinkSync(join(root, 'node_modules', name), join(to, 'node_modules', name))
  }
}

test('check and serve refuse sinks whose package is missing', async () => {
  await using dir = await createTempDir()
  copyProgram(dir.path)
  const run = (command: string, more: object = {}) => {
    const env = {
      PATH: process.env['PATH'],
      INBOX_SECRETS: 'main:the-secret-of-the-tests',
      INBOX_SINKS: JSON.stringify(sinks),
      ...more,
    }
    const args = [join(dir.path, 'src/cli.ts'), command]
    return spawnSync(process.execPath, args, { cwd: dir.path, env, encoding: 'utf8', timeout: 60_000 })
  }
  const missing = Object.entries({
    mail: 'nodemailer',
    nats: '@nats-io/transport-node',
    cache: '@redis/client',
    log: '@platformatic/kafka',
  }).map(([name, peer]) => `the sink ${name} needs the package ${peer}, which is not installed: npm install ${peer}`)

  const server = { INBOX_PORT: '0', INBOX_ADMIN_PORT: '0', INBOX_DATABASE_URL: 'sqlite:./inbox.db' }
  for (const { status, stderr } of [run('check'), run('serve', server)]) {
    expect(status).toBe(1)
    for (const line of missing) expect(stderr).toContain(line)
  }
}, 90_000)
