import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { InboxError, type ErrorCode } from '../../src/base/errors.ts'
import { startHttpServer } from '../../src/base/http/server.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { AcceptPort } from '../../src/inbox/port.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { createReceiving } from '../../src/receiver/receive.ts'
import { createReceiverApp } from '../../src/receiver/server.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { testSecret } from '../support/app.ts'
import { headerOf, jsonOf, RawConnection, rawRequest, requestBytes, type RawAnswer } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const event = delivery(eventBytes({ id: 'evt_1' }))
const forged = { body: eventBytes({ id: 'evt_1' }), headers: { 'X-Service-Signature': '0'.repeat(64) } }

function expectLater(answer: RawAnswer, code: ErrorCode): void {
  expect(answer.status).toBe(503)
  expect(jsonOf(answer)).toEqual({ error: { code, message: expect.any(String) } })
  expect(Number(headerOf(answer, 'retry-after'))).toBeGreaterThan(0)
}

/** The receiver alone, with a store in memory. `wrap` may hold accepts back, or break them. */
async function startReceiver(
  wrap: (accept: AcceptPort['accept']) => AcceptPort['accept'] = (accept) => accept,
  ackTimeoutMs = 4_000,
) {
  const inbox = await createMemoryInbox({ clock: systemClock })
  const secrets = parseSecrets(testSecret)
  const signatureHeader = 'x-service-signature'
  const { commits, ...receiving } = createReceiving(
    { signatureHeader, storedHeaders: [], bodyLimitBytes: 1024 * 1024, ackTimeoutMs, unusableStatus: 200 },
    {
      accept: wrap((batch) => inbox.accept(batch)),
      secrets: () => secrets,
      clock: systemClock,
      log: silentLogger,
      observerOf: () => ({ stored() {}, rejected() {}, refused() {}, committed() {}, acknowledged() {}, signed() {} }),
      logReject() {},
      state: { stopping: false, health: () => inbox.health() },
    },
  )
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    portSetting: 'INBOX_PORT',
    maxConnections: 1_000,
    keepAliveMs: 15_000,
    handler: createReceiverApp({ ...receiving, path: '/webhooks' }),
  })
  return {
    inbox,
    port: server.port,
    pending: commits.pending,
    async [Symbol.asyncDispose]() {
      await server.close(0)
      receiving.pressure.close()
      await inbox.close()
    },
  }
}

/** A receiver whose commits wait until the gate is opened. */
async function startGated(ackTimeoutMs?: number) {
  let opened = Promise.withResolvers<void>()
  const gate = {
    batches: 0,
    open: () => opened.resolve(),
    shut: () => void (opened = Promise.withResolvers()),
  }
  const receiver = await startReceiver(
    (accept) => async (batch) => {
      gate.batches++
      await opened.promise
      return accept(batch)
    },
    ackTimeoutMs,
  )
  return { receiver, gate }
}

test('P5 no byte of a response is sent before the durable commit, even for a duplicate', async () => {
  const { receiver, gate } = await startGated()
  await using _ = receiver
  using connection = await RawConnection.open(receiver.port)
  for (const [round, status] of ['accepted', 'duplicate'].entries()) {
    connection.send(requestBytes(event))
    await until(() => gate.batches === round + 1, 'the event waits for its commit')
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
  const { receiver, gate } = await startGated(200)
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
  await using receiver = await startReceiver((accept) => async (batch) => {
    if (isDown) throw failure()
    return accept(batch)
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
  const { receiver, gate } = await startGated(60_000)
  await using _ = receiver
  using waiting = await RawConnection.open(receiver.port)
  waiting.send(requestBytes(event))
  await until(() => gate.batches === 1, 'the event waits for its commit')

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
  await using receiver = await startReceiver()
  await receiver.inbox.close()
  expectLater(await rawRequest(receiver.port, { method: 'GET', target: '/readyz' }), 'store_unavailable')
  expectLater(await rawRequest(receiver.port, event), 'shutting_down')
  expect((await rawRequest(receiver.port, forged)).status).toBe(401)
  const alive = await rawRequest(receiver.port, { method: 'GET', target: '/healthz' })
  expect([alive.status, jsonOf(alive)]).toEqual([200, { status: 'alive' }])
})
