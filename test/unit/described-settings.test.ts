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

test('P8 each row has the origin of its setting', async () => {
  await writeFile(join(dir, 'admin-token'), 'the-token-of-the-operator\n')
  await writeFile(
    join(dir, 'onchain-inbox.config.mjs'),
    `export default { INBOX_PORT: 9000, INBOX_LOG_LEVEL: 'warn', INBOX_ADMIN_TOKEN_FILE: './admin-token' }\n`,
  )
  const env = { INBOX_SECRETS: `main:${secret}`, INBOX_LOG_LEVEL: 'error', INBOX_DATABASE_URL: 'memory:' }
  const config = await loadConfig({ env, cwd: dir })
  const rows = new Map(describeSettings(config).map(({ name, ...row }) => [name, row]))
  expect(rows.get('webhook address')).toMatchObject({ origin: 'config', secret: false })
  expect(rows.get('log level')).toEqual({
    value: 'error',
    origin: 'environment',
    secret: false,
    variables: ['INBOX_LOG_LEVEL'],
    default: 'info',
  })
  expect(rows.get('webhook address')?.default).toBe('127.0.0.1, 8080, /webhooks')
  expect(rows.get('webhook secrets')).toMatchObject({
    value: 'set (labels: main)',
    origin: 'environment',
    secret: true,
  })
  expect(rows.get('admin token')).toMatchObject({ value: 'set', origin: 'file', secret: true, default: '' })
  expect(rows.get('body limit')).toMatchObject({ origin: 'default' })
})

test('P8 no row shows a secret, token, key or the secret part of a URL', async () => {
  const hidden = [
    'hidden-webhook-secret',
    'hidden-admin-token-1',
    'hidden-viewer-token',
    'hidden-api-key',
    'hidden-in-a-url',
    'hidden-source-secret',
    'hidden-circle-key',
  ]
  const [webhook = '', token = '', viewer = '', key = '', inUrl = ''] = hidden
  const sources = {
    desk: { provider: 'alchemy', path: '/hooks/desk', secrets: 'hidden-source-secret' },
    circle: { provider: 'circle', path: '/hooks/circle', keys: { apiKey: 'hidden-circle-key' } },
  }
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
    INBOX_SOURCES: JSON.stringify(sources),
    INBOX_DATABASE_URL: 'sqlite:./inbox.db',
  }
  const config = await loadConfig({ env, cwd: dir, configFile: null })
  const text = JSON.stringify(describeSettings(config))
  for (const one of hidden) expect(text).not.toContain(one)
  expect(text).toContain('sink mail')
  expect(text).toContain('alchemy at /hooks/desk, secrets set (labels: secret-1)')
  expect(text).toContain('circle at /hooks/circle, keys from api.circle.com')
})
