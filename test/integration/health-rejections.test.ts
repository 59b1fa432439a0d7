import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HealthJson, SenderMeterJson } from '../../src/admin/health.ts'
import type { RejectListJson } from '../../src/admin/rejects.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { sign } from '../../src/signature/sign.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { RawConnection, rawRequest, requestBytes } from '../support/raw-http.ts'
import { Sidecar } from '../support/sidecar.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

test('what is refused for good or breaks off is told of with its reasons, and only what is authentic is a failed delivery', async () => {
  const clock = createTestClock()
  await using app = await startTestApp({
    clock,
    settings: { INBOX_BODY_LIMIT: '1kb', INBOX_UNUSABLE_STATUS: '422' },
  })
  async function get<T>(path: string): Promise<T> {
    const headers = { Authorization: `Bearer ${app.adminToken}` }
    return (await fetch(`${app.adminUrl}/api/v1/${path}`, { headers })).json() as Promise<T>
  }
  const reasonsOf = async () => {
    const { data } = await get<RejectListJson>('rejects')
    return data.map(({ reason }) => reason).toSorted()
  }
  const event = eventBytes({ id: 'evt_1' })
  const large = eventBytes({ id: 'evt_2', data: { text: 'a'.repeat(2_000) } })
  const statusOf = async (parts: ReturnType<typeof delivery>) => (await rawRequest(app.port, parts)).status
  expect(await statusOf(delivery(large))).toBe(413)
  expect(await statusOf(delivery(event, { headers: { 'Content-Encoding': 'gzip' } }))).toBe(415)
  expect(await statusOf(delivery(Buffer.from('{')))).toBe(422)
  {
    using connection = await RawConnection.open(app.port)
    connection.send(requestBytes({ ...delivery(event), headers: { Expect: '100-continue', 'Content-Length': '500' } }))
    await connection.answer()
  }
  const expected = ['body_incomplete', 'body_too_large', 'content_encoding_unsupported']
  await until(async () => (await reasonsOf()).length === expected.length, 'the broken off body is noticed')
  expect(await reasonsOf()).toEqual(expected)

  await clock.advance(10_000)
  await until(async () => (await get<HealthJson>('health')).warnings.length > 0, 'a look at the health')
  const { warnings, sender } = await get<HealthJson>('health')
  const found = warnings.find(({ code }) => code === 'deliveries_rejected')
  expect(found).toMatchObject({ level: 'warning', title: expect.stringMatching(/^4 requests/), href: '/rejects' })
  expect(found!.text).toMatch(/INBOX_BODY_LIMIT.*compressed.*never complete.*INBOX_UNUSABLE_STATUS/)
  expect(sender).toMatchObject({
    deliveries: 1,
    unusable: 1,
    acknowledged: 0,
    success_rate: 0,
  } satisfies Partial<SenderMeterJson>)
})

test('P8 neither logs, admin API nor files hold secrets of a path or of headers that are not listed', async () => {
  await using sidecar = await Sidecar.start({
    env: { INBOX_STORED_HEADERS: 'User-Agent, X-Tenant, X-Service-Signature' },
  })
  const body = new Uint8Array(eventBytes({ id: 'evt_1' }))
  const signature = sign(body, testSecret)
  const hidden = ['a-secret-of-the-path', 'a-key-of-the-api', 'a-proof-of-the-sender', signature]
  const [path = '', key = '', proof = ''] = hidden
  const headers = {
    'X-Service-Signature': signature,
    'X-Api-Key': key,
    Proof: proof,
    'X-Copy': signature,
    'X-Tenant': 'tenant-7',
  }
  expect((await fetch(sidecar.url, { method: 'POST', headers, body })).status).toBe(200)
  expect((await fetch(new URL(`/hooks/${path}`, sidecar.url), { method: 'POST', headers, body })).status).toBe(404)
  expect((await fetch(sidecar.url, { method: 'POST', headers, body: 'other bytes' })).status).toBe(401)

  const answers: string[] = []
  for (const about of ['events/evt_1', 'rejects']) answers.push(await (await sidecar.admin(about)).text())
  const { data } = JSON.parse(answers[1] ?? '') as RejectListJson
  for (const { id } of data) answers.push(await (await sidecar.admin(`rejects/${id}`)).text())
  expect(answers.join()).toMatch(/"x-tenant":"tenant-7".*"path":"other \(\d+ characters\)"/)
  await sidecar.stop()
  expect(sidecar.output.text).toMatch(/"path":"other \(27 characters\)"/)
  const files = readdirSync(sidecar.dir).map((name) => join(sidecar.dir, name))
  const contents = files.filter((file) => statSync(file).isFile()).map((file) => readFileSync(file, 'latin1'))
  for (const text of hidden) expect([sidecar.output.text, ...answers, ...contents].join()).not.toContain(text)
})
