import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HealthJson } from '../../src/admin/health.ts'
import type { RejectListJson } from '../../src/admin/rejects.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { version } from '../../src/base/version.ts'
import { sign } from '../../src/signature/sign.ts'
import { sqliteUrl, startTestApp, testSecret, type TestApp } from '../support/app.ts'
import { RawConnection, rawRequest, requestBytes, type RequestParts } from '../support/raw-http.ts'
import { recordingLog } from '../support/recording-log.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

async function ask(app: TestApp, path: string): Promise<string> {
  const headers = { Authorization: `Bearer ${app.adminToken}` }
  const response = await fetch(`${app.adminUrl}/api/v1/${path}`, { headers })
  expect(response.status).toBe(200)
  return response.text()
}

test('P8 the admin API shows rejects, settings and replicas; neither it, logs nor files contain secrets of a request', async () => {
  await using dir = await createTempDir()
  const { log, lines } = recordingLog()
  const details: object[] = []
  const write = (...line: readonly unknown[]) => void details.push(line)
  await using app = await startTestApp({
    dir: dir.path,
    log: Object.assign(log, { info: write, debug: write, trace: write }),
    settings: {
      INBOX_SECRETS: `main:${testSecret},next:another-secret-of-the-tests`,
      INBOX_STORED_HEADERS: 'User-Agent, X-Tenant, X-Service-Signature',
      INBOX_DATABASE_URL: sqliteUrl,
    },
  })
  const body = eventBytes({ id: 'evt_1' })
  const signature = sign(body, testSecret)
  const [path, key, proof] = ['a-secret-of-the-path', 'a-key-of-the-api', 'a-proof-of-the-sender'] as const
  const headers = {
    'X-Api-Key': key,
    Proof: proof,
    'X-Copy': signature,
    'X-Tenant': 'tenant-7',
    'User-Agent': 'sender/1',
  }
  const post = async (raw: Uint8Array, parts: RequestParts = {}) => {
    const signed = { ...headers, 'X-Service-Signature': signature }
    return (await rawRequest(app.port, { ...parts, headers: signed, body: raw })).status
  }
  const other = eventBytes({ id: 'evt_2', data: { said: testSecret } })
  expect([await post(body), await post(other), await post(other)]).toEqual([200, 401, 401])
  expect(await post(body, { target: `/webhooks/${path}?token=x` })).toBe(404)

  const answers: Record<string, string> = {}
  for (const about of ['events/evt_1', 'rejects', 'overview', 'secrets', 'settings', 'replicas'])
    answers[about] = await ask(app, about)
  const { data } = JSON.parse(answers['rejects'] ?? '') as RejectListJson
  answers['explained'] = await ask(app, `rejects/${data[1]?.id}`)
  const shown = Object.fromEntries(Object.entries(answers).map(([about, text]) => [about, JSON.parse(text) as object]))
  const length = '/webhooks/'.length + path.length
  expect(shown).toMatchObject({
    'events/evt_1': { receipt: { headers: { 'x-tenant': 'tenant-7' } } },
    rejects: {
      data: [
        { reason: 'not_found', count: 1, path: `other (${length} characters)`, size_bytes: null, explainable: false },
        { reason: 'signature_mismatch', count: 2, path: '/webhooks', size_bytes: other.length, explainable: true },
      ],
    },
    explained: {
      code: 'wrong_secret',
      matched_label: null,
      headers: { 'user-agent': 'sender/1' },
      preview: expect.stringContaining('"said":"[removed]"'),
    },
    overview: { version, events: 1, rejects: 3, sender: { acknowledged: 1 } },
    secrets: {
      data: [
        { label: 'main', configured: true },
        { label: 'next', configured: true, last_used_at: null, events: 0 },
      ],
    },
    settings: {
      settings: expect.arrayContaining([
        expect.objectContaining({
          name: 'INBOX_SECRETS',
          value: 'set (labels: main, next)',
          origin: 'environment',
          secret: true,
        }),
      ]),
    },
    replicas: {
      data: [{ id: expect.stringMatching(`-${process.pid}$`), version, alive: true, self: true, leader: true }],
    },
  })
  await app.stop()
  expect(JSON.stringify(lines)).toContain(`"path":"other (${length} characters)"`)
  const files = readdirSync(dir.path).map((name) => join(dir.path, name))
  const contents = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, 'latin1'))
  const all = [JSON.stringify([lines, details]), ...Object.values(answers)].join()
  for (const hidden of [path, key, proof, signature]) expect([all, ...contents].join()).not.toContain(hidden)
  for (const hidden of [testSecret, 'another-secret-of-the-tests', app.adminToken]) expect(all).not.toContain(hidden)
})

test('rejected and aborted requests cause a warning with the reasons', async () => {
  const clock = createTestClock()
  await using app = await startTestApp({ clock, settings: { INBOX_BODY_LIMIT: '1kb', INBOX_UNUSABLE_STATUS: '422' } })
  const event = eventBytes({ id: 'evt_1' })
  const statuses: number[] = []
  for (const parts of [
    delivery(eventBytes({ id: 'evt_2', data: { text: 'a'.repeat(2_000) } })),
    delivery(event, { headers: { 'Content-Encoding': 'gzip' } }),
    delivery(Buffer.from('{')),
  ])
    statuses.push((await rawRequest(app.port, parts)).status)
  expect([...statuses, (await app.inbox.stats()).quarantined]).toEqual([413, 415, 422, 1])
  {
    using connection = await RawConnection.open(app.port)
    connection.send(requestBytes({ ...delivery(event), headers: { Expect: '100-continue', 'Content-Length': '500' } }))
    await connection.answer()
  }
  const reasons = async () => (JSON.parse(await ask(app, 'rejects')) as RejectListJson).data.map(({ reason }) => reason)
  await until(async () => (await reasons()).length === 3, 'the aborted body is counted')
  expect((await reasons()).toSorted()).toEqual(['body_incomplete', 'body_too_large', 'content_encoding_unsupported'])

  await clock.advance(10_000)
  const health = async () => JSON.parse(await ask(app, 'health')) as HealthJson
  await until(async () => (await health()).warnings.length > 0, 'a health check')
  const { warnings, sources } = await health()
  const found = warnings.find(({ code }) => code === 'deliveries_rejected')
  expect(found).toMatchObject({
    level: 'warning',
    title: expect.stringMatching(/^4 requests/),
    href: '/deliveries/rejected',
  })
  expect(found?.text).toMatch(/INBOX_BODY_LIMIT.*compressed.*incomplete.*INBOX_UNUSABLE_STATUS/)
  expect(sources[0]?.sender).toMatchObject({ unusable: 1, acknowledged: 0, success_rate: 0 })
})

test.each([
  ['0.0.0.0', 1],
  ['127.0.0.1', 0],
])('an admin port on %s without TLS is logged %i time(s)', async (host, times) => {
  const { log, lines } = recordingLog()
  await using app = await startTestApp({ log, settings: { INBOX_ADMIN_HOST: host } })
  const warnings = lines.filter(({ message }) => message === 'admin port exposed without TLS')
  const expected = { fields: expect.objectContaining({ adminUrl: app.adminUrl }) }
  expect(warnings).toMatchObject(Array.from({ length: times }, () => expected))
})
