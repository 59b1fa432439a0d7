import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadProgram } from '../../src/cli/program.ts'
import { createSignedRequest } from '../../src/app/testing/index.ts'
import { providerNames, providers } from '../../src/sources/providers/index.ts'
import { startTestApp, testSecret, type TestApp } from '../support/app.ts'
import { runCli } from '../support/cli.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const timestamp = { header: 'x-timestamp', unit: 's' } as const
const verify = { scheme: 'hmac-sha256', header: 'x-signature', signed: '{timestamp}.{body}', timestamp } as const
const symmetric = providerNames.filter((name) => providers[name].keyEndpoint === null)
const sources = {
  ...Object.fromEntries(
    symmetric.map((provider) => [provider, { provider, path: `/hooks/${provider}`, secrets: secret }]),
  ),
  desk: { path: '/hooks/desk', secrets: { new: secret, old: 'the-secret-before' }, verify, id: 'body.id' },
  // Nothing listens there.
  circle: {
    provider: 'circle',
    path: '/hooks/circle',
    keys: { url: 'https://127.0.0.1:1/{keyId}', apiKey: 'key-of-circle' },
  },
} as const

let app: TestApp
beforeAll(async () => {
  // Loading them later would block the app in this process, which sheds load then.
  await loadProgram()
  app = await startTestApp({ settings: { INBOX_SOURCES: JSON.stringify(sources) } })
})
afterAll(() => app[Symbol.asyncDispose]())

const run = (args: readonly string[], stdin?: string) => {
  const env = {
    INBOX_SECRETS: `main:${testSecret}`,
    INBOX_SOURCES: JSON.stringify(sources),
    INBOX_PORT: String(app.port),
    INBOX_DATABASE_URL: 'sqlite:./none.db',
  }
  return runCli(args, { cwd: app.dir, env, ...(stdin !== undefined && { stdin }) })
}
const storedIds = async (source: string) => (await app.inbox.events({ source, limit: 9 })).data.map(({ id }) => id)

describe('trigger --source', () => {
  test('sends signed samples to the running inbox, each a new event', async () => {
    const args = ['trigger', '--source', 'alchemy', 'ADDRESS_ACTIVITY', '-n', '2']
    let sent = await run(args)
    // A busy machine sheds load, and senders send again.
    while (sent.out.includes('  503  ')) sent = await run(args)
    expect(sent).toMatchObject({ code: 0, errors: '' })
    expect(sent.out).toMatch(/^(?:alchemy  \d+ bytes  200  \{"status":"accepted","id":"alchemy\/whevt_.*\n){2}$/)
    const { data } = await app.inbox.events({ source: 'alchemy', limit: 9 })
    expect(data.slice(0, 2).map(({ type }) => type)).toEqual(['ADDRESS_ACTIVITY', 'ADDRESS_ACTIVITY'])
  })

  test('sends given bytes unchanged, and exits with 1 if they are rejected', async () => {
    expect(await run(['trigger', '--source', 'desk', '--body', '-'], '{"id":"a"}')).toMatchObject({ code: 0 })
    expect(await storedIds('desk')).toEqual(['desk/a'])
    const wrongUrl = app.url.replace('/webhooks', '/hooks/alchemy')
    const rejected = await run(['trigger', '--source', 'desk', '--body', '-', '--url', wrongUrl, '--json'], '{}')
    expect(rejected.code).toBe(1)
    expect(JSON.parse(rejected.out)).toMatchObject({ source: 'desk', status: 401 })
  })

  test.each([
    [['desk'], /the source desk has no provider, so there is no sample/],
    [['alchemy', 'ADRESS_ACTIVITY'], /alchemy has no sample of "ADRESS_ACTIVITY" \(did you mean ADDRESS_ACTIVITY\?\)/],
    [['circle'], /only the sender can sign/],
    [['alchmy'], /no source is named alchmy \(did you mean alchemy\?\)/],
    [['alchemy', '--rate', '1'], /cannot be used with/],
    [['alchemy', '--url', 'http://127.0.0.1:1/'], /no answer from http:\/\/127\.0\.0\.1:1\//],
  ])('%j is an error that says why', async (args, message) => {
    const { code, errors } = await run(['trigger', '--source', ...args])
    expect(code).not.toBe(0)
    expect(errors).toMatch(message)
  })
})

describe('verify --source', () => {
  const body = '{"id":"b"}'
  const now = Date.UTC(2026, 0, 31)
  const explain = async (args: readonly string[]) => {
    const { headers } = await createSignedRequest({ source: { ...sources.desk, secrets: secret }, body, now })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    await writeFile(join(app.dir, 'headers'), ['POST /hooks/desk HTTP/1.1', ...lines, ''].join('\r\n'))
    await writeFile(join(app.dir, 'body'), body)
    return run(['verify', '--source', 'desk', '--headers', '@headers', '--at', '2026-01-31T00:00:00Z', ...args])
  }

  test('explains a valid signature with the signed bytes and the secret', async () => {
    const valid = await explain(['--body', '@body'])
    expect(valid).toMatchObject({ code: 0, errors: '' })
    expect(valid.out).toBe(
      `valid (secret: new)\nThe signature is valid.\nsigned: ${now / 1_000}.<body, ${body.length} bytes>\n`,
    )
  })

  test('explains a changed body', async () => {
    await writeFile(join(app.dir, 'changed'), `${body}\n`)
    const changed = await explain(['--body', '@changed', '--json'])
    expect(changed.code).toBe(1)
    expect(JSON.parse(changed.out)).toMatchObject({ valid: false, code: 'body_newline', matchedLabel: 'new' })
  })

  test('inflates a gzipped body if the sender signs the inflated one', async () => {
    const { headers, body: raw } = await createSignedRequest({
      source: { provider: 'quicknode', path: '/hooks/quicknode', secrets: secret },
      body,
    })
    await writeFile(join(app.dir, 'gzipped'), gzipSync(raw))
    await writeFile(
      join(app.dir, 'headers'),
      Object.entries(headers)
        .map((each) => each.join(': '))
        .join('\n'),
    )
    const args = ['verify', '--source', 'quicknode', '--headers', '@headers']
    expect((await run([...args, '--body', '@gzipped'])).out).toMatch(/^valid/)
    await writeFile(join(app.dir, 'damaged'), gzipSync(raw).subarray(0, 20))
    expect((await run([...args, '--body', '@damaged'])).errors).toMatch(/--body is gzipped, but can't be inflated/)
    await writeFile(join(app.dir, 'headers'), '{"x-signature": 1}')
    expect((await run([...args, '--body', '@gzipped'])).errors).toMatch(/--headers has no line of the form name: value/)
  })

  test('exits with 75 while the keys of the sender cannot be fetched', async () => {
    const id = '00000000-0000-4000-8000-000000000000'
    await writeFile(join(app.dir, 'headers'), `x-circle-signature: AAAA\nx-circle-key-id: ${id}`)
    const { code, out } = await run(['verify', '--source', 'circle', '--headers', '@headers', '--body', '@headers'])
    expect([code, out]).toEqual([75, expect.stringContaining('keys_unavailable')])
  })

  test.each([
    [['--secret', '@body'], /--secret and --source exclude each other/],
    [['--at', '2026-99-99'], /--at must be a time/],
  ])('%j is an error', async (args, message) => {
    expect((await explain(['--body', '@body', ...args])).errors).toMatch(message)
  })
})

test('P8 check lists sources without their secrets, and doctor fetches public keys', async () => {
  const checked = await run(['check'])
  expect(checked.out).toMatch(/^desk +\/hooks\/desk +own rules +new, old$/m)
  expect(checked.out).toMatch(/^circle +\/hooks\/circle +circle +fetched keys$/m)
  const { out } = await run(['doctor'])
  expect(out).toMatch(/^ok +source desk +\/hooks\/desk, 2 secrets$/m)
  expect(out).toMatch(/^fail +source circle +.*public keys of https:\/\/127\.0\.0\.1:1 can't be fetched/m)
  for (const text of [checked.out, out]) expect(text).not.toMatch(/whsec_|key-of-circle/)
})
