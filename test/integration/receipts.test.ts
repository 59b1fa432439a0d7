import { expect, test } from 'vitest'
import { rawRequest } from '../support/raw-http.ts'
import { startTestReceiver } from '../support/receiver.ts'
import { delivery, eventBytes } from '../support/signed.ts'

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const sent = {
  'User-Agent': 'sender/1 \u00e9',
  'Content-Type': 'application/json',
  Cookie: 'session=very-secret',
  traceparent: trace,
  'X-Request-Id': '7',
}

test('an event received by HTTP keeps its headers, without secret ones, and its trace', async () => {
  await using receiver = await startTestReceiver()
  const first = delivery(eventBytes({ id: 'a' }), { headers: sent })
  expect((await rawRequest(receiver.port, first)).status).toBe(200)
  const event = await receiver.inbox.event('a')
  expect(event?.trace).toBe(trace)
  expect(event?.storedAt).toBeGreaterThanOrEqual(event?.receivedAt ?? Infinity)
  expect(Object.keys(JSON.parse(event?.headers ?? '{}') as object)).toEqual(
    expect.arrayContaining(['host', 'user-agent', 'content-type']),
  )
  expect(event?.headers).not.toMatch(/secret|signature|cookie|traceparent|request-id|content-length/i)
})
