import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { version } from '../../src/base/version.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { recordingLog } from '../support/recording-log.ts'
import { eventBytes } from '../support/signed.ts'

const tampered = { 'X-Service-Signature': 'ab'.repeat(32), 'User-Agent': 'sender/1' }

test('what the app refuses and what is set shows in its admin API, without a secret or a signature', async () => {
  await using app = await startTestApp({
    settings: { INBOX_SECRETS: `main:${testSecret},next:another-secret-of-the-tests` },
  })
  const ask = async (path: string) => {
    const headers = { Authorization: `Bearer ${app.adminToken}` }
    const response = await fetch(`${app.adminUrl}/api/v1/${path}`, { headers })
    const text = await response.text()
    expect(response.status, text).toBe(200)
    for (const hidden of [testSecret, 'another-secret-of-the-tests', app.adminToken, 'ab'.repeat(32)]) {
      expect(text).not.toContain(hidden)
    }
    return JSON.parse(text) as Record<string, never>
  }
  const post = (body: Uint8Array, headers: Record<string, string>, url = app.url) =>
    fetch(url, { method: 'POST', headers, body: Buffer.from(body) })

  const body = eventBytes({ id: 'evt_1', data: { said: testSecret } })
  expect((await post(body, tampered)).status).toBe(401)
  expect((await post(body, tampered)).status).toBe(401)
  expect((await post(body, {}, `${app.url}/elsewhere?x=1`)).status).toBe(404)
  const signature = createHmac('sha256', testSecret).update(body).digest('hex')
  expect((await post(body, { 'X-Service-Signature': signature })).status).toBe(200)

  const { data } = await ask('rejects')
  expect(data).toMatchObject([
    { reason: 'not_found', count: 1, path: 'other (19 characters)', size_bytes: null, explainable: false },
    { reason: 'signature_mismatch', count: 2, path: '/webhooks', size_bytes: body.length, explainable: true },
  ])
  const id = (data as unknown as readonly { readonly id: string }[])[1]?.id
  expect(await ask(`rejects/${id}`)).toMatchObject({
    code: 'wrong_secret',
    matched_label: null,
    headers: { 'user-agent': 'sender/1' },
    preview: expect.stringContaining('"said":"[removed]"'),
  })

  expect(await ask('overview')).toMatchObject({
    version,
    events: 1,
    rejects: 3,
    sender: { deliveries: 1, acknowledged: 1 },
  })
  const { data: secrets } = await ask('secrets')
  expect(secrets).toMatchObject([
    { label: 'main', configured: true },
    { label: 'next', configured: true, last_used_at: null, events: 0 },
  ])
  const { settings } = await ask('settings')
  expect(settings).toContainEqual({
    name: 'webhook secrets',
    value: 'set (labels: main, next)',
    source: 'environment',
    secret: true,
  })
  const { data: replicas } = await ask('replicas')
  expect(replicas).toMatchObject([
    { id: expect.stringMatching(`-${process.pid}$`), version, alive: true, self: true, leader: true },
  ])
})

test.each([
  ['0.0.0.0', 1],
  ['127.0.0.1', 0],
])('an admin side on %s without TLS of its own is logged %i time', async (host, times) => {
  const { log, lines } = recordingLog()
  await using app = await startTestApp({ log, settings: { INBOX_ADMIN_HOST: host } })
  const said = lines.filter(({ message }) => message.includes('has no TLS of its own'))
  expect(said.map(({ fields }) => fields)).toEqual(Array.from({ length: times }, () => ({ adminUrl: app.adminUrl })))
})
