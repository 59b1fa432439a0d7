import { expect, test } from 'vitest'
import type { HealthJson, SenderMeterJson } from '../../src/admin/answers/health.ts'
import type { RejectListJson } from '../../src/admin/answers/letters.ts'
import { createTestClock } from '../../src/clock.ts'
import { startTestApp } from '../support/app.ts'
import { RawConnection, rawRequest, requestBytes } from '../support/raw-http.ts'
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
