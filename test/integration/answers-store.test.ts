import { expect, test } from 'vitest'
import { InboxError, type ErrorCode } from '../../src/base/errors.ts'
import { headerOf, jsonOf, RawConnection, rawRequest, requestBytes, type RawAnswer } from '../support/raw-http.ts'
import { createGate, startTestReceiver } from '../support/receiver.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const event = delivery(eventBytes({ id: 'evt_1' }))
const forged = { body: eventBytes({ id: 'evt_1' }), headers: { 'X-Service-Signature': '0'.repeat(64) } }

function expectLater(answer: RawAnswer, code: ErrorCode): void {
  expect(answer.status).toBe(503)
  expect(jsonOf(answer)).toEqual({ error: { code, message: expect.any(String) } })
  expect(Number(headerOf(answer, 'retry-after'))).toBeGreaterThan(0)
}

/** A receiver whose commits wait for the gate. */
async function startGated(options: { readonly ackTimeoutMs?: number } = {}) {
  let gate: ReturnType<typeof createGate> | undefined
  const receiver = await startTestReceiver({
    ...options,
    accept: (inbox) => (gate = createGate(inbox)).accept,
  })
  if (gate === undefined) throw new Error('the receiver has no gate')
  return { receiver, gate }
}

test('P5 no byte of a response is sent before the durable commit, even for a duplicate', async () => {
  const { receiver, gate } = await startGated()
  await using _ = receiver
  using connection = await RawConnection.open(receiver.port)
  for (const [round, status] of ['accepted', 'duplicate'].entries()) {
    connection.send(requestBytes(event))
    await until(() => gate.arrived.batches === round + 1, 'the event waits for its commit')
    // The same event loop answers: an earlier response would have arrived.
    expect((await rawRequest(receiver.port, forged)).status).toBe(401)
    expect(connection.unread).toHaveLength(0)
    gate.open()
    expect(jsonOf(await connection.answer())).toEqual({ status, id: 'evt_1' })
    gate.shut()
  }
})

test.each([1, 3])(
  'a client that half-closes after %i complete bodies gets its responses, then the end',
  async (bodies) => {
    const { receiver, gate } = await startGated()
    await using _ = receiver
    using connection = await RawConnection.open(receiver.port, { allowHalfOpen: true })
    for (let count = 0; count < bodies; count++) connection.send(requestBytes(event))
    connection.socket.end()
    await until(() => receiver.pending.rows === bodies, 'the events wait for their commit')
    // A round trip later the receiver has seen the end as well.
    expect((await rawRequest(receiver.port, forged)).status).toBe(401)
    gate.open()
    for (let count = 0; count < bodies; count++) expect((await connection.answer()).status).toBe(200)
    expect(await connection.closed()).toBe('end')
  },
)

test('an event that is not committed in time gets 503, and its retry is a duplicate', async () => {
  const { receiver, gate } = await startGated({ ackTimeoutMs: 200 })
  await using _ = receiver
  using connection = await RawConnection.open(receiver.port)
  expectLater(await connection.request(event), 'not_committed_in_time')
  expect(receiver.pending.rows).toBe(1)
  gate.open()
  expect(jsonOf(await connection.request(event))).toEqual({ status: 'duplicate', id: 'evt_1' })
  expect(receiver.pending).toMatchObject({ rows: 0, bytes: 0, oldestMs: 0 })
})

test.each<[string, () => Error, ErrorCode]>([
  ['is full', () => new InboxError('store_full', 'secret detail'), 'store_full'],
  ['is closing', () => new InboxError('shutting_down', 'secret detail'), 'shutting_down'],
  ['fails unexpectedly', () => new TypeError('secret detail'), 'store_unavailable'],
])('while the store %s a delivery gets 503 with Retry-After, a forged one 401', async (_, failure, code) => {
  let isDown = true
  await using receiver = await startTestReceiver({
    accept: (inbox) => async (batch) => {
      if (isDown) throw failure()
      return inbox.accept(batch)
    },
  })
  using connection = await RawConnection.open(receiver.port)
  const answer = await connection.request(event)
  expectLater(answer, code)
  expect(answer.body.toString()).not.toContain('secret detail')
  expect((await connection.request(forged)).status).toBe(401)
  expect((await receiver.inbox.stats()).lastSeq).toBe(0)

  isDown = false
  expect(jsonOf(await connection.request(event))).toEqual({ status: 'accepted', id: 'evt_1' })
})

test('P6 while a commit takes more than 2 s, every delivery gets 503 before its signature is checked', async () => {
  const { receiver, gate } = await startGated({ ackTimeoutMs: 60_000 })
  await using _ = receiver
  using waiting = await RawConnection.open(receiver.port)
  waiting.send(requestBytes(event))
  await until(() => gate.arrived.batches === 1, 'the event waits for its commit')

  using connection = await RawConnection.open(receiver.port)
  const isOnce = true
  await until(async () => (await connection.request(forged, { isOnce })).status !== 401, 'the load is shed')
  for (const parts of [forged, delivery(eventBytes({ id: 'evt_2' }))])
    expectLater(await connection.request(parts, { isOnce }), 'overloaded')

  gate.open()
  expect(jsonOf(await waiting.answer())).toEqual({ status: 'accepted', id: 'evt_1' })
  expect((await connection.request(forged)).status).toBe(401)
})

test('an instance with a closed store is alive, but not ready', async () => {
  await using receiver = await startTestReceiver()
  await receiver.inbox.close()
  expectLater(await rawRequest(receiver.port, { method: 'GET', target: '/readyz' }), 'store_unavailable')
  expectLater(await rawRequest(receiver.port, event), 'shutting_down')
  expect((await rawRequest(receiver.port, forged)).status).toBe(401)
  const alive = await rawRequest(receiver.port, { method: 'GET', target: '/healthz' })
  expect([alive.status, jsonOf(alive)]).toEqual([200, { status: 'alive' }])
})
