import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { settingNames } from '../../src/config/settings.ts'
import { createTempDir } from '../support/temp-dir.ts'

const { path: dir, [Symbol.asyncDispose]: remove } = await createTempDir()
afterAll(remove)

const secret = 'the-secret-of-the-webhook'

test('P8 each setting has a row with its value, origin and default', async () => {
  await writeFile(join(dir, 'admin-token'), 'the-token-of-the-operator\n')
  await writeFile(
    join(dir, 'onchain-inbox.config.mjs'),
    `export default { INBOX_PORT: 9000, INBOX_LOG_LEVEL: 'warn', INBOX_ADMIN_TOKEN_FILE: './admin-token' }\n`,
  )
  const env = { INBOX_SECRETS: `main:${secret}`, INBOX_LOG_LEVEL: 'error', INBOX_RETENTION_BYTES: '20gb' }
  const rows = (await loadConfig({ env, cwd: dir })).settings
  expect(rows.map(({ name }) => name)).toEqual(settingNames)
  const row = (name: string, value: string, origin: string, isSecret: boolean, usual: string) =>
    expect(rows).toContainEqual({ name, value, origin, secret: isSecret, default: usual })
  row('INBOX_HOST', '127.0.0.1', 'default', false, '127.0.0.1')
  row('INBOX_PORT', '9000', 'config', false, '8080')
  row('INBOX_LOG_LEVEL', 'error', 'environment', false, 'info')
  row('INBOX_SECRETS', 'set (labels: main)', 'environment', true, '')
  row('INBOX_ADMIN_TOKEN', 'set', 'file', true, '')
  row('INBOX_ADMIN_TOKEN_FILE', './admin-token', 'config', false, '')
  row('INBOX_API_KEY', 'not set', 'default', true, '')
  row('INBOX_DATABASE_URL', `sqlite:${join(dir, 'data/inbox.db')}`, 'default', true, 'sqlite:./data/inbox.db')
  row('INBOX_RETENTION_BYTES', '20gb', 'environment', false, '')
})

test('P8 no row shows a secret, token, key or the secret part of a URL', async () => {
  const secretOf = (name: string) => `hidden-${name}-of-the-test`
  const inUrl = secretOf('url')
  const sources = {
    desk: { provider: 'alchemy', path: '/hooks/desk', secrets: secretOf('source') },
    circle: { provider: 'circle', path: '/hooks/circle', keys: { apiKey: secretOf('circle') } },
  }
  const sinks = {
    mail: { kind: 'email', url: `smtp://user:${inUrl}@mail.example.com`, from: 'a@example.com', to: 'b@example.com' },
    chat: { kind: 'slack', url: `https://hooks.slack.com/services/${inUrl}` },
    run: { kind: 'exec', command: ['/bin/echo', inUrl] },
  }
  const env = {
    INBOX_SECRETS: `main:${secretOf('webhook')}`,
    INBOX_ADMIN_TOKEN: secretOf('admin'),
    INBOX_ADMIN_VIEWER_TOKEN: secretOf('viewer'),
    INBOX_API_KEY: secretOf('api-key'),
    INBOX_API_URL: 'https://api.example.com/v1',
    INBOX_FORWARD_URL: `http://127.0.0.1:3000/webhooks?token=${inUrl}`,
    INBOX_SINKS: JSON.stringify(sinks),
    INBOX_SOURCES: JSON.stringify(sources),
    INBOX_DATABASE_URL: 'sqlite:./inbox.db',
  }
  const config = await loadConfig({ env, cwd: dir, configFile: null })
  const text = JSON.stringify(config.settings)
  expect(text).not.toContain('hidden-')
  expect(text).toContain('mail: email to ')
  expect(text).toContain('"value":"desk, circle"')
})
