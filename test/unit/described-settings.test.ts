import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { describeSettings } from '../../src/config/described.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'described-'))
})
afterEach(() => rm(dir, { recursive: true }))

const secret = 'the-secret-of-the-webhook'

test('each row names where it was set: default, environment, config file or file', async () => {
  await writeFile(join(dir, 'admin-token'), 'the-token-of-the-operator\n')
  await writeFile(
    join(dir, 'onchain-inbox.config.mjs'),
    `export default { INBOX_PORT: 9000, INBOX_LOG_LEVEL: 'warn', INBOX_ADMIN_TOKEN_FILE: './admin-token' }\n`,
  )
  const env = { INBOX_SECRETS: `main:${secret}`, INBOX_LOG_LEVEL: 'error', INBOX_DATABASE_URL: 'memory:' }
  const config = await loadConfig({ env, cwd: dir })
  const rows = new Map(describeSettings(config).map(({ name, ...row }) => [name, row]))
  expect(rows.get('webhook address')).toMatchObject({ source: 'config', secret: false })
  expect(rows.get('log level')).toEqual({ value: 'error', source: 'environment', secret: false })
  expect(rows.get('webhook secrets')).toEqual({ value: 'set (labels: main)', source: 'environment', secret: true })
  expect(rows.get('admin token')).toEqual({ value: 'set', source: 'file', secret: true })
  expect(rows.get('body limit')).toMatchObject({ source: 'default' })
})

test('no row holds a secret, token or key, also not in a URL', async () => {
  const hidden = [
    'hidden-webhook-secret',
    'hidden-admin-token-1',
    'hidden-viewer-token',
    'hidden-api-key',
    'hidden-in-a-url',
  ]
  const [webhook = '', token = '', viewer = '', key = '', inUrl = ''] = hidden
  const sinks = {
    mail: { kind: 'email', url: `smtp://user:${inUrl}@mail.example.com`, from: 'a@example.com', to: 'b@example.com' },
    chat: { kind: 'slack', url: `https://hooks.slack.com/services/${inUrl}` },
    run: { kind: 'exec', command: ['/bin/echo', inUrl] },
  }
  const env = {
    INBOX_SECRETS: `main:${webhook}`,
    INBOX_ADMIN_TOKEN: token,
    INBOX_ADMIN_VIEWER_TOKEN: viewer,
    INBOX_API_KEY: key,
    INBOX_API_URL: 'https://api.example.com/v1',
    INBOX_FORWARD_URL: `http://127.0.0.1:3000/webhooks?token=${inUrl}`,
    INBOX_SUBSCRIBE: JSON.stringify({ url: `https://inbox.example.com/webhooks?token=${inUrl}`, events: ['*'] }),
    INBOX_SINKS: JSON.stringify(sinks),
    INBOX_DATABASE_URL: 'sqlite:./inbox.db',
  }
  const config = await loadConfig({ env, cwd: dir, configFile: null })
  const text = JSON.stringify(describeSettings(config))
  for (const one of hidden) expect(text).not.toContain(one)
  expect(text).toContain('sink mail')
})
