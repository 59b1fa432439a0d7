import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect, promisify } from 'node:util'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig, type LoadConfigOptions } from '../../src/config/config.ts'
import { demoCredentials } from '../../src/base/demo-credentials.ts'
import { InboxError } from '../../src/base/errors.ts'
import { otherTlsKey, tlsPair } from '../fixtures/tls.ts'

const secret = '0123456789abcdef'
const root = await mkdtemp(join(tmpdir(), 'inbox-config-'))
afterAll(() => rm(root, { recursive: true }))

let cwd = root
// A folder per test, because Node caches imported config files.
beforeEach(async () => {
  cwd = await mkdtemp(join(root, 'case-'))
})

const load = (env: Record<string, string> = {}, options: Partial<LoadConfigOptions> = {}) =>
  loadConfig({ env: { INBOX_SECRETS: secret, ...env }, cwd, ...options })

async function problemsOf(loading: Promise<unknown>): Promise<string> {
  const error: unknown = await loading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof InboxError)) throw new Error('expected an InboxError', { cause: error })
  expect(error.code).toBe('config_invalid')
  expect(inspect(error, { depth: null })).not.toContain(secret)
  return error.message
}

async function file(name: string, content: string): Promise<string> {
  await writeFile(join(cwd, name), content)
  return join(cwd, name)
}

// docs.test.ts compares the default of every setting with its documentation.
test('only a secret is required; the rest has defaults', async () => {
  const config = await load()
  expect(config).toMatchObject({
    database: { kind: 'sqlite', file: join(cwd, 'data/inbox.db') },
    handlersDir: join(cwd, 'handlers'),
    webhookSecrets: { files: [], secrets: [{ label: 'secret-1' }] },
    warnings: [],
  })
  expect(config.admin).toEqual({ host: '127.0.0.1', port: 8081, hosts: [] })
})

test.each([
  ['1048576', 1_048_576],
  ['2MB', 2_097_152],
  ['10 kb', 10_240],
  ['64b', 64],
])('a body limit of %s is %i bytes', async (text, bytes) => {
  const config = await load({ INBOX_BODY_LIMIT: text })
  expect(config.bodyLimitBytes).toBe(bytes)
})

const token = 'a-token-that-is-long-enough'
const api = { INBOX_API_URL: 'https://api.example.com/v1', INBOX_API_KEY: 'sk_x' }
const twoTokens = 'INBOX_ADMIN_VIEWER_TOKEN must differ from INBOX_ADMIN_TOKEN'
const urlFile = 'INBOX_DATABASE_URL_FILE'

/** Files in the folder of each case. */
const files = {
  secret,
  token: ` ${token}\n\n`,
  short: 'pa55word',
  blank: ' '.repeat(20),
  'broken.json': `{"new":"${secret}"`,
  demo: `${demoCredentials.secret}\n`,
  url: 'mysql://inbox:pa55word@db.example/events',
}

describe('invalid settings', () => {
  test.each([
    ['INBOX_HOST', 'not a host'],
    ['INBOX_PORT', '65536'],
    ['INBOX_PATH', 'webhooks'],
    ['INBOX_PATH', '/a//b'],
    ['INBOX_PATH', '/healthz'],
    ['INBOX_ADMIN_HOSTS', 'http://inbox.example.com'],
    ['INBOX_BODY_LIMIT', '0'],
    ['INBOX_BODY_LIMIT', '1gb'],
    ['INBOX_ACK_TIMEOUT_MS', '0'],
    ['INBOX_CONCURRENCY', '1.5'],
    ['INBOX_RETENTION_DAYS', '-1'],
    ['INBOX_RETENTION_BYTES', '0'],
    ['INBOX_DISK_RESERVE', '1 m'],
    ['INBOX_KEEPALIVE_MS', '15s'],
    ['INBOX_SHUTDOWN_MS', '99999999999'],
    ['INBOX_SIGNATURE_HEADER', 'X Signature'],
    ['INBOX_SIGNATURE_HEADER', 'Authorization'],
    ['INBOX_UNUSABLE_STATUS', '400'],
    ['INBOX_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['INBOX_LOG_LEVEL', 'verbose'],
  ])('%s=%s is reported with rule, value and example', async (name, value) => {
    const message = await problemsOf(load({ [name]: value }))
    expect(message.split('\n')).toHaveLength(2)
    expect(message).toMatch(new RegExp(`^  ${name} must be .+ \\(got .+\\), for example ${name}=.+$`, 'm'))
    expect(message).toContain(value)
  })

  test.each<[Readonly<Record<string, string>>, string]>([
    [{ INBOX_DATABASE_URL: 'postgres://user:pa55word@[db/inbox' }, 'not a PostgreSQL URL'],
    [
      { INBOX_DATABASE_URL: 'postgresql://user:pa55word#more@db/inbox' },
      'with characters such as @ : / # % in the password written as %40',
    ],
    [{ INBOX_DATABASE_URL: 'mysql://user:pa55word@db/inbox' }, 'unknown kind of database URL mysql:'],
    [{ INBOX_DATABASE_URL: './pa55word.db' }, 'unknown kind of database URL'],
    [{ INBOX_DATABASE_URL: 'sqlite:' }, 'requires the path of a file'],
    [{ INBOX_DATABASE_URL: 'sqlite::memory:' }, 'requires the path of a file'],
    [{ INBOX_DATABASE_URL: 'sqlite://pa55word/inbox.db' }, 'sqlite:// takes an absolute path'],
    [{ [urlFile]: 'url' }, `${urlFile}: the content of `],
    [{ [urlFile]: 'gone' }, 'cannot be read (ENOENT)'],
    [{ [urlFile]: 'blank' }, 'is empty'],
    [{ [urlFile]: 'url', INBOX_DATABASE_URL: 'memory:' }, `${urlFile} is set as well`],
    [{ INBOX_SECRETS: '', INBOX_SECRETS_FILE: 'broken.json' }, 'begins like JSON but is not'],
    [{ INBOX_SECRETS: '', INBOX_SECRETS_FILE: 'gone' }, 'cannot be read (ENOENT)'],
    [{ INBOX_SECRETS: '', INBOX_SECRETS_FILE: '.' }, 'is not a regular file'],
    [{ INBOX_SECRETS: '', INBOX_SECRETS_FILE: 'blank' }, 'is empty'],
    [{ INBOX_SECRETS: files.blank }, 'item 1 is empty'],
    [{ INBOX_SECRETS: '', INBOX_SECRETS_FILE: 'demo' }, 'this secret is published with the demo'],
    [{ INBOX_SECRETS: `x:${demoCredentials.secret}` }, 'INBOX_SECRETS: this secret is published with the demo'],
    [{ INBOX_SECRETS_FILE: 'secret' }, 'INBOX_SECRETS_FILE is set as well'],
    [{ INBOX_API_KEY: files.blank }, 'INBOX_API_KEY must be visible ASCII'],
    [{ INBOX_API_KEY_FILE: 'blank' }, 'is empty'],
    ...['INBOX_ADMIN_TOKEN', 'INBOX_ADMIN_VIEWER_TOKEN'].flatMap((name): [Record<string, string>, string][] => [
      [{ [name]: 'pa55word' }, 'at least 16 visible ASCII characters'],
      [{ [`${name}_FILE`]: 'short' }, 'at least 16 visible ASCII characters'],
      [{ [name]: files.blank }, 'at least 16 visible ASCII characters'],
      [{ [`${name}_FILE`]: 'blank' }, 'is empty'],
      [{ [name]: token, [`${name}_FILE`]: 'token' }, `${name}_FILE is set as well`],
      [{ [name]: demoCredentials.adminToken }, `${name}: this token is published with the demo`],
    ]),
    [{ INBOX_ADMIN_TOKEN: token, INBOX_ADMIN_VIEWER_TOKEN: token }, twoTokens],
    [{ INBOX_ADMIN_TOKEN_FILE: 'token', INBOX_ADMIN_VIEWER_TOKEN: token }, twoTokens],
    [{ INBOX_ADMIN_TOKEN: token, INBOX_ADMIN_VIEWER_TOKEN_FILE: 'token' }, twoTokens],
    [{ INBOX_ADMIN_PORT: '8080' }, 'INBOX_ADMIN_PORT must differ from INBOX_PORT'],
    ...['127.0.0.1:3000', 'ftp://127.0.0.1/', 'http://user:pa55word@127.0.0.1/', '/webhooks', 'http://'].map(
      (url): [Record<string, string>, string] => [
        { INBOX_FORWARD_URL: url },
        'INBOX_FORWARD_URL must be an http:// or https:// URL without user name and password',
      ],
    ),
    ...['inbox.example.com', 'ftp://x', 'https://u:pa55word@x', 'https://x/?a=1', 'https://x/#/events'].map(
      (url): [Record<string, string>, string] => [{ INBOX_CONSOLE_URL: url }, 'INBOX_CONSOLE_URL must be '],
    ),
    [{ INBOX_NOTIFY: 'desk' }, 'notify: there is no sink "desk"; there are no sinks'],
  ])('%j is refused and not shown: %s', async (env, problem) => {
    for (const [name, content] of Object.entries(files)) await file(name, content)
    const message = await problemsOf(load(env))
    expect(message).toContain(problem)
    for (const hidden of ['pa55word', token, demoCredentials.secret]) expect(message).not.toContain(hidden)
  })

  test('are all reported at once, one per line', async () => {
    const message = await problemsOf(
      load({ INBOX_SECRETS: 'hunter2', INBOX_PORT: 'x', INBOX_ADMIN_HOST: '0.0.0.0', INBOX_TLS_KEY_FILE: 'key' }),
    )
    const lines = message.split('\n')
    expect(lines).toHaveLength(5)
    for (const name of ['INBOX_SECRETS', 'INBOX_PORT', 'INBOX_ADMIN_HOST', 'INBOX_TLS_CERT_FILE']) {
      expect(lines.filter((line) => line.startsWith(`  ${name}`))).toHaveLength(1)
    }
    expect(message).not.toContain('hunter2')
  })

  test.each([
    ['an invalid certificate', '-', tlsPair.key],
    ['an invalid key', tlsPair.cert, '-'],
    ['the key of another certificate', tlsPair.cert, otherTlsKey],
  ])('%s is refused without showing the key', async (_, cert, key) => {
    const env = { INBOX_TLS_CERT_FILE: await file('a.crt', cert), INBOX_TLS_KEY_FILE: await file('a.key', key) }
    const message = await problemsOf(load(env))
    expect(message).toMatch(
      /^  INBOX_TLS_CERT_FILE and INBOX_TLS_KEY_FILE: .*a\.crt and .*a\.key cannot be used together/m,
    )
    for (const line of key.split('\n').filter((part) => part.length > 8)) expect(message).not.toContain(line)
  })

  test('a value cannot forge lines', async () => {
    const message = await problemsOf(load({ INBOX_LOG_LEVEL: 'x\n  INBOX_PORT: fine\u202e' }))
    expect(message.split('\n')).toHaveLength(2)
    expect(message).not.toContain('\u202e')
  })

  test.each([
    { INBOX_ADMIN_HOST: '0.0.0.0' },
    { INBOX_ADMIN_HOST: '127.0.0.1.example.com' },
    { INBOX_DATABASE_URL: 'memory:' },
    { INBOX_DATABASE_URL: 'postgres://db/inbox' },
  ])('%j requires an admin token, unlike the loopback', async (env) => {
    for (const host of ['127.8.8.8', '::1', '[::1]', 'localhost']) await load({ INBOX_ADMIN_HOST: host })
    expect(await problemsOf(load(env))).toContain('INBOX_ADMIN_TOKEN')
    await load({ ...env, INBOX_ADMIN_TOKEN: 'a-token-of-the-operator' })
    expect(await problemsOf(load({ ...env, INBOX_ADMIN_VIEWER_TOKEN: 'a-token-of-the-viewers' }))).toContain(
      'INBOX_ADMIN_',
    )
  })

  test('an unknown variable causes a warning with the nearest name', async () => {
    expect((await load({ INBOX_PROT: '1', INBOX_BLA: '1', INBOX_WHATEVER_ELSE: '1' })).warnings).toEqual([
      'INBOX_PROT is not a setting (did you mean INBOX_PORT?); it is ignored',
      'INBOX_BLA is not a setting; it is ignored',
      'INBOX_WHATEVER_ELSE is not a setting; it is ignored',
    ])
    const message = await problemsOf(loadConfig({ env: { INBOX_SECRET: secret }, cwd }))
    expect(message).toContain('INBOX_SECRETS or INBOX_SECRETS_FILE is required')
    expect(message).toContain('INBOX_SECRET is not a setting (did you mean INBOX_SECRETS?)')
  })

  test.each([
    [{ INBOX_ACK_TIMEOUT_MS: '5000' }, '5000 ms'],
    [{ INBOX_API_URL: api.INBOX_API_URL }, 'need both'],
    [{ INBOX_API_KEY: api.INBOX_API_KEY }, 'need both'],
  ])('%j causes a warning', async (env, warning) => {
    const { warnings, api } = await load(env)
    expect([api, warnings]).toEqual([undefined, [expect.stringContaining(warning)]])
  })
})

const alchemy = { provider: 'alchemy', path: '/hooks/alchemy', secrets: { file: 'alchemy-secret' } }
const loadSources = (sources: unknown, env: Record<string, string> = {}) =>
  loadConfig({ env: { INBOX_SOURCES: JSON.stringify(sources), ...env }, cwd })

test('sources replace INBOX_SECRETS, and read their secrets from files again', async () => {
  await file('alchemy-secret', 'secret-of-alchemy')
  const { webhookSecrets, sources } = await loadSources({ alchemy })
  expect(webhookSecrets).toBeNull()
  expect(sources).toMatchObject([
    { settings: { name: 'alchemy', path: '/hooks/alchemy' }, secrets: { files: [join(cwd, 'alchemy-secret')] } },
  ])
  await file('alchemy-secret', 'its-next-secret')
  const [secret] = (await sources[0]?.secrets.read()) ?? []
  expect(secret?.key.export().toString()).toBe('its-next-secret')
})

test('sources of the environment win over those of the config file', async () => {
  await file('onchain-inbox.config.mjs', `export default { sources: { other: {} } }`)
  const desk = { ...alchemy, path: '/hooks/desk', secrets: { env: 'DESK_SECRET' } }
  const { sources } = await loadSources({ desk }, { DESK_SECRET: 'secret-of-the-desk' })
  expect(sources.map(({ settings }) => settings.name)).toEqual(['desk'])
})

test('sources have problems that name the setting', async () => {
  const message = await problemsOf(loadSources({ alchemy, desk: { ...alchemy, path: '/webhooks' } }))
  expect(message).toContain('sources.alchemy.secrets must be readable')
  expect(message).toContain('sources.desk.path must be another path: /webhooks is taken by the inbox')
  expect(message).not.toContain('INBOX_SECRETS')
  expect(await problemsOf(loadSources({}))).toContain('INBOX_SECRETS or INBOX_SECRETS_FILE is required')
  expect(await problemsOf(load({ INBOX_SOURCES: '{' }))).toContain('INBOX_SOURCES must be a JSON object of sources')
})

test('the database URL can come from a file, whose content is not shown', async () => {
  const url = 'postgres://inbox:pa55word@db.example/events'
  await file('database', `${url}\n`)
  const env = { INBOX_MIGRATE: 'auto', INBOX_ORPHAN_HOURS: '72', INBOX_ADMIN_TOKEN: token }
  const config = await load({ [urlFile]: 'database', ...env })
  expect(config).toMatchObject({ database: { kind: 'postgres', url }, migrate: 'auto', orphanHours: 72 })
  const row = { name: 'INBOX_DATABASE_URL', value: 'postgres://db.example/events', origin: 'file' }
  expect(config.settings).toContainEqual(expect.objectContaining(row))
  expect(JSON.stringify([config.settings, config.warnings])).not.toContain('pa55word')
  const path = await file('database', 'sqlite:./other.db')
  const other = { kind: 'sqlite', file: join(cwd, 'other.db') }
  expect((await load({ [urlFile]: path })).database).toEqual(other)
})

test.each([
  ['INBOX_ADMIN_TOKEN', 'token'],
  ['INBOX_ADMIN_VIEWER_TOKEN', 'viewerToken'],
] as const)('%s can come from a file, without white space around it', async (name, member) => {
  await file('token', files.token)
  for (const env of [{ [`${name}_FILE`]: 'token' }, { [name]: ` ${token}\t` }])
    expect((await load(env)).admin[member]).toBe(token)
  expect((await load({ [name]: '' })).admin[member]).toBeUndefined()
})

describe('config file', () => {
  test('has the same names, with JS values; the environment wins', async () => {
    await file(
      'onchain-inbox.config.ts',
      `const port: number = 9000
       export default {
         INBOX_PORT: port, INBOX_CONCURRENCY: '3', INBOX_BODY_LIMIT: 2048, INBOX_ADMIN_HOSTS: ['a.example'],
         INBOX_SECRETS: { new: '${secret}', old: 'fedcba9876543210' }, INBOX_PATH: undefined,
       }`,
    )
    const config = await loadConfig({ env: { INBOX_CONCURRENCY: '5' }, cwd })
    expect(config).toMatchObject({ port: 9000, concurrency: 5, bodyLimitBytes: 2048, path: '/webhooks' })
    expect(config.admin.hosts).toEqual(['a.example'])
    expect(config.webhookSecrets?.secrets.map(({ label }) => label)).toEqual(['new', 'old'])
  })

  test('a secrets file in the environment overrides secrets in the config file', async () => {
    await file('onchain-inbox.config.mjs', `export default { INBOX_SECRETS: ['${secret}'] }`)
    await file('secret', 'fedcba9876543210')
    const config = await loadConfig({ env: { INBOX_SECRETS_FILE: 'secret' }, cwd })
    expect(config.webhookSecrets).toMatchObject({ files: [join(cwd, 'secret')] })
  })

  test('can be named', async () => {
    await file('other.mjs', 'export default { INBOX_PORT: 9100 }')
    expect((await load({}, { configFile: 'other.mjs' })).port).toBe(9100)
    expect(await problemsOf(load({}, { configFile: 'gone.ts' }))).toContain('gone.ts does not exist')
  })

  test.each([
    ['export default { INBOX_PROT: 1 }', 'INBOX_PROT is not a setting (did you mean INBOX_PORT?)'],
    ['export default { INBOX_PORT: true }', 'INBOX_PORT must be 0–65535 (got true)'],
    ['export default { INBOX_PORT: [1] }', 'INBOX_PORT must be 0–65535 (got [ 1 ])'],
    ['export default { INBOX_SECRETS: 7 }', '(its value is not shown)'],
    ['export const INBOX_PORT = 1', 'expected an object as default export'],
    ['throw new Error("no such module")', 'cannot be loaded: Error: no such module at '],
  ])('with %s is refused', async (content, reason) => {
    await file('onchain-inbox.config.mjs', content)
    const env = content.includes('SECRETS') ? { INBOX_SECRETS: '' } : {}
    expect(await problemsOf(load(env))).toContain(reason)
  })

  // In a separate process, because the test runner imports files differently.
  test('a syntax error is the only reported problem, with file and line', async () => {
    const missingComma = 'export default {\n  INBOX_PORT: 8080\n  INBOX_HOST: "localhost",\n}\n'
    await file('ports.ts', 'export const port: = 1\n')
    const cases = [
      ['a.ts', missingComma, '/a.ts:3): '],
      ['cut.mjs', 'export default {\n  INBOX_PORT: 8080,\n', 'Unexpected end of input (`node --check '],
      ['c.ts', 'enum Port { webhook = 8080 }\nexport default {}\n', '/c.ts:1): '],
      ['d.js', 'export default {\n  INBOX_PORT: port,\n}\n', '/d.js:2:15'],
      ['e.ts', "import { port } from './ports.ts'\nexport default { port }\n", '/ports.ts:1): '],
    ] as const
    const paths = await Promise.all(cases.map(([name, text]) => file(name, text)))
    const script = `
      const { loadConfig } = await import(${JSON.stringify(new URL('../../src/config/config.ts', import.meta.url).href)})
      const load = (configFile) => loadConfig({ env: { INBOX_ADMIN_HOST: '0.0.0.0' }, cwd: ${JSON.stringify(cwd)}, configFile }).catch((error) => error.message)
      console.log(JSON.stringify(await Promise.all(${JSON.stringify(paths)}.map(load))))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
    for (const [index, message] of (JSON.parse(stdout) as string[]).entries()) {
      expect(message).toContain(`the configuration has a problem:\n  config file ${paths[index]} cannot be loaded: `)
      expect(message).toContain(cases[index]?.[2])
      expect(message.split('\n')).toHaveLength(2)
    }
  })

  test('must be the only one', async () => {
    await file('onchain-inbox.config.mjs', 'export default {}')
    await file('onchain-inbox.config.js', 'export default {}')
    expect(await problemsOf(load())).toContain('keep one')
  })
})

test('INBOX_FORWARD_URL makes the default handlers folder optional', async () => {
  const url = 'http://127.0.0.1:3000/webhooks'
  expect(await load({ INBOX_FORWARD_URL: url })).toMatchObject({
    sinks: [{ name: 'forward', kind: 'forward', options: { url }, routes: [{ types: ['*'] }] }],
    handlersDir: null,
  })
  const asked = await load({ INBOX_FORWARD_URL: url, INBOX_HANDLERS: './handlers' })
  expect(asked.handlersDir).toBe(join(cwd, 'handlers'))
  await mkdir(join(cwd, 'handlers'))
  expect((await load({ INBOX_FORWARD_URL: url })).handlersDir).toBe(join(cwd, 'handlers'))
})
