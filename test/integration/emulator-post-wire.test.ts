import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createTestClock, systemClock, type Clock } from '../../src/base/clock.ts'
import type { Wire } from '../../src/emulator/faults/port.ts'
import { createPoster } from '../../src/emulator/post.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { createRawReceiver, splitRequest, type RawConnectionSeen } from './emulator-post-stage.ts'

const body = Buffer.from(JSON.stringify({ id: 'evt_1', data: { text: 'ü'.repeat(100) } }))
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

const before = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...before, tlsPair.cert]))
afterAll(() => setDefaultCACertificates(before))

function newPoster(wall: Clock = systemClock) {
  const poster = createPoster(wall)
  onTestFinished(() => poster.close())
  return poster
}

const endOfChunks = Buffer.from('0\r\n\r\n')

/** Answers each request whose whole body has come, framed by Content-Length or by chunks. */
function answerWhole({ bytes, socket }: RawConnectionSeen): void {
  const isAtEnd = (end: Buffer) => bytes().subarray(-end.length).equals(end)
  if (isAtEnd(body) || isAtEnd(endOfChunks)) socket.write(ok)
}

/** Resolves when a condition holds that data on the connection may bring about. */
async function createWaitingReceiver(isMet: (connection: RawConnectionSeen) => boolean, options = {}) {
  const { promise, resolve } = Promise.withResolvers<RawConnectionSeen>()
  const receiver = await createRawReceiver((connection) => {
    if (isMet(connection)) resolve(connection)
  }, options)
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  return { receiver, met: promise }
}

test('R72 whole: the exact bytes with their length, over one connection that is kept', async () => {
  await using receiver = await createRawReceiver(answerWhole)
  const poster = newPoster()
  for (const how of [undefined, { wire: { mode: 'whole' } }] as const) {
    const result = await poster.post(receiver.url, body, { 'User-Agent': 'test' }, how)
    expect(result).toMatchObject({ isAcknowledged: true, status: 200, failure: null, responseExcerpt: 'ok' })
  }
  expect(receiver.connections).toHaveLength(1)
  const { head, body: came } = splitRequest(receiver.connections[0]?.bytes() ?? Buffer.alloc(0))
  expect(head.split('\r\n')).toEqual([
    'POST /webhooks HTTP/1.1',
    'User-Agent: test',
    `Content-Length: ${body.length}`,
    `Host: ${receiver.url.host}`,
    'Connection: keep-alive',
  ])
  expect(came.subarray(0, body.length)).toEqual(body)
})

test('a header of several values is sent in a header each, one of none is not sent', async () => {
  await using receiver = await createRawReceiver(answerWhole)
  await newPoster().post(receiver.url, body, { 'X-A': ['1', '2'], 'X-B': [], 'X-C': ['3'], 'X-D': '4' })
  const { head } = splitRequest(receiver.connections[0]?.bytes() ?? Buffer.alloc(0))
  expect(head.split('\r\n').filter((line) => line.startsWith('X-'))).toEqual(['X-A: 1', 'X-A: 2', 'X-C: 3', 'X-D: 4'])
})

test('2.8 chunked: chunks of the size that was asked for, over a connection that is kept', async () => {
  await using receiver = await createRawReceiver(answerWhole)
  const poster = newPoster()
  await poster.post(receiver.url, body, {}, { wire: { mode: 'chunked', chunkBytes: 100 } })
  const [connection] = receiver.connections
  const { head, body: came } = splitRequest(connection?.bytes() ?? Buffer.alloc(0))
  expect(head).toContain('Transfer-Encoding: chunked')
  expect(head).not.toContain('Content-Length')
  const last = body.length - 200
  const expected = [
    Buffer.from('64\r\n'),
    body.subarray(0, 100),
    Buffer.from('\r\n64\r\n'),
    body.subarray(100, 200),
    Buffer.from(`\r\n${last.toString(16)}\r\n`),
    body.subarray(200),
    Buffer.from('\r\n0\r\n\r\n'),
  ]
  expect(came).toEqual(Buffer.concat(expected))
  await poster.post(receiver.url, body, {}, { wire: { mode: 'chunked', chunkBytes: 1 } })
  expect(receiver.connections).toHaveLength(1)
})

test('2.8 slow: so many bytes at a time, and no more before its time', async () => {
  const wall = createTestClock()
  const lengthOf = (connection: RawConnectionSeen) => splitRequest(connection.bytes()).body.length
  let wake = () => {}
  await using receiver = await createRawReceiver((connection) => {
    wake()
    if (lengthOf(connection) === body.length) connection.socket.write(ok)
  })
  const arrived = async (length: number) => {
    while (receiver.connections[0] === undefined || lengthOf(receiver.connections[0]) < length) {
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  const posted = newPoster(wall).post(receiver.url, body, {}, { wire: { mode: 'slow', bytes: 100, everyMs: 1_000 } })
  await arrived(100)
  await wall.advance(999)
  expect(lengthOf(receiver.connections[0]!)).toBe(100)
  await wall.advance(1)
  await arrived(200)
  expect(lengthOf(receiver.connections[0]!)).toBe(200)
  await wall.advance(1_000)
  expect(await posted).toMatchObject({ isAcknowledged: true, latencyMs: 2_000 })
  expect(splitRequest(receiver.connections[0]!.bytes()).body).toEqual(body)
})

test('R80, A43 slow beyond 5 s: the time to answer counts from the start', async () => {
  const wall = createTestClock()
  const { receiver, met } = await createWaitingReceiver(({ bytes }) => splitRequest(bytes()).body.length >= 10)
  const posted = newPoster(wall).post(receiver.url, body, {}, { wire: { mode: 'slow', bytes: 10, everyMs: 1_000 } })
  const connection = await met
  await wall.advance(5_000)
  expect(await posted).toMatchObject({ status: null, failure: 'no answer within 5000 ms', latencyMs: 5_000 })
  await connection.ended
  expect(splitRequest(connection.bytes()).body.length).toBeLessThan(body.length)
  expect(wall.nextTimerAt()).toBeNull()
})

test.each([
  ['cut', false, 'end'],
  ['reset', false, 'reset'],
  ['cut', true, 'end'],
  ['reset', true, 'reset'],
] as const)('2.8 %s (TLS: %s): the whole is announced, half of it comes, then the %s', async (mode, tls, ending) => {
  const wire: Wire = { mode, share: 0.5 }
  const half = Math.floor(body.length / 2)
  // It is kept open on this side: what ends it is the sender.
  const { receiver } = await createWaitingReceiver(() => false, { tls })
  const poster = newPoster()
  const [one, two] = await Promise.all([
    poster.post(receiver.url, body, {}, { wire }),
    poster.post(receiver.url, body, {}, { wire }),
  ])
  for (const result of [one, two]) {
    expect(result).toMatchObject({ isAcknowledged: false, status: null, responseHeaders: {}, responseExcerpt: '' })
    expect(result.failure).toMatch(/hang up|reset|closed/i)
  }
  // Each has a connection of its own.
  expect(receiver.connections).toHaveLength(2)
  for (const connection of receiver.connections) {
    expect(await connection.ended).toBe(ending)
    const { head, body: came } = splitRequest(connection.bytes())
    expect(head).toContain(`Content-Length: ${body.length}`)
    expect(came).toEqual(body.subarray(0, half))
  }
})

test('a receiver may answer what was cut', async () => {
  await using receiver = await createRawReceiver(({ socket }) => {
    socket.once('end', () => socket.end('HTTP/1.1 400 Cut\r\nContent-Length: 0\r\n\r\n'))
  })
  const result = await newPoster().post(receiver.url, body, {}, { wire: { mode: 'cut', share: 0.9 } })
  expect(result).toMatchObject({ isAcknowledged: false, status: 400, failure: 'answered 400' })
})

test('close ends posts in flight, on their own connections too', async () => {
  const { receiver, met } = await createWaitingReceiver(({ bytes }) => splitRequest(bytes()).body.length > 0)
  const poster = newPoster()
  const posted = poster.post(receiver.url, body, {}, { wire: { mode: 'slow', bytes: 1, everyMs: 600_000 } })
  await met
  poster.close()
  expect(await posted).toMatchObject({ isAcknowledged: false, status: null })
})
