import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.ts'
import { headerOf, jsonOf, RawConnection, rawRequest, requestBytes, type RawAnswer } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const bodyLimit = 64 * 1024
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ settings: { INBOX_BODY_LIMIT: String(bodyLimit) } })
})
afterAll(() => app[Symbol.asyncDispose]())

let ids = 0
const nextEvent = () => eventBytes({ id: `evt_${++ids}` })
const stored = async () => (await app.inbox.stats()).lastSeq

/** A usable event of exactly `size` bytes. */
function eventOfSize(id: string, size: number): Buffer {
  const empty = eventBytes({ id, data: { text: '' } })
  return eventBytes({ id, data: { text: 'a'.repeat(size - empty.length) } })
}

async function expectGood(connection: RawConnection): Promise<void> {
  expect((await connection.request(delivery(nextEvent()))).status).toBe(200)
}

function expectError(answer: RawAnswer, status: number, code: string): void {
  expect(answer.status).toBe(status)
  expect(headerOf(answer, 'content-type')).toBe('application/json')
  expect(jsonOf(answer)).toEqual({ error: { code, message: expect.any(String) } })
  for (const name of ['x-powered-by', 'etag', 'server']) expect(headerOf(answer, name)).toBeUndefined()
}

describe('body limit', () => {
  const chunk = Buffer.alloc(16 * 1024, 'a')
  const framed = Buffer.concat([Buffer.from('4000\r\n'), chunk, Buffer.from('\r\n')])
  const manyChunks = 2_000

  test('accepts a body of exactly the limit; a Content-Length above it gets 413 and closes the connection', async () => {
    using connection = await RawConnection.open(app.port)
    const whole = eventOfSize('evt_whole', bodyLimit)
    expect(whole).toHaveLength(bodyLimit)
    expect((await connection.request(delivery(whole))).status).toBe(200)
    const answer = await connection.request({ headers: { 'Content-Length': String(bodyLimit + 1) } })
    expectError(answer, 413, 'body_too_large')
    expect(headerOf(answer, 'connection')).toBe('close')
    expect(await connection.closed()).toBe('end')
  })

  test.each([
    ['by its Content-Length', { 'Content-Length': String(manyChunks * chunk.length) }, chunk],
    ['chunked', { 'Transfer-Encoding': 'chunked' }, framed],
  ])('P6 returns 413 while a too large body is still being sent, %s', async (_, headers, part) => {
    using connection = await RawConnection.open(app.port)
    connection.send(requestBytes({ headers }))
    for (let count = 0; count < manyChunks; count++) connection.send(part)
    expectError(await connection.answer(), 413, 'body_too_large')
    expect(await connection.closed()).toBe('end')
  })

  test('P6 closes a connection that continues to send after the 413', async () => {
    using connection = await RawConnection.open(app.port, { allowHalfOpen: true })
    expect((await connection.request({ headers: { 'Content-Length': '1000000000' } })).status).toBe(413)
    expect(await connection.closed()).toBe('end')
    let sentBytes = 0
    const { socket } = connection
    for (let count = 0; count < 4 * manyChunks; count++) {
      socket.write(chunk, (error) => (sentBytes += error ? 0 : chunk.length))
    }
    await until(() => socket.destroyed, 'the connection is cut', 10_000)
    // Discarded bytes are limited. Above that, only socket buffers fill up.
    expect(sentBytes).toBeLessThan(2 * manyChunks * chunk.length)
  })
})

describe('chunks of a body', () => {
  const chunked = { 'Transfer-Encoding': 'chunked' }
  const framed = (part: Uint8Array) =>
    Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
  const partsOf = (body: Buffer, size: number) =>
    Array.from({ length: Math.ceil(body.length / size) }, (_, part) => body.subarray(part * size, (part + 1) * size))

  test.each([
    ['of network packets', 1_460],
    ['of the smallest allowed size', 256],
  ])('%s are accepted', async (_, size) => {
    using connection = await RawConnection.open(app.port)
    const body = eventOfSize(`evt_pieces_${size}`, bodyLimit)
    const { headers = {} } = delivery(body)
    connection.send(requestBytes({ headers: { ...headers, ...chunked } }))
    for (const part of partsOf(body, size)) connection.send(framed(part))
    connection.send('0\r\n\r\n')
    expect(jsonOf(await connection.answer())).toEqual({ status: 'accepted', id: `evt_pieces_${size}` })
  })

  test.each([
    ['chunked', chunked],
    ['with a Content-Length', {}],
  ])(
    'P6 return 400 before the body is complete if they are too small, %s, and the connection is closed',
    async (_, framing) => {
      using connection = await RawConnection.open(app.port)
      const body = eventOfSize('evt_small_pieces', 10_000)
      const isChunked = framing === chunked
      const length = isChunked ? {} : { 'Content-Length': String(body.length) }
      connection.send(requestBytes({ headers: { ...delivery(body).headers, ...framing, ...length } }))
      // Sends many packets, because parts in one packet would arrive as one chunk.
      for (const part of partsOf(body.subarray(0, 2_000), 1)) {
        if (connection.unread.length > 0) break
        connection.send(isChunked ? framed(part) : part)
        await new Promise((resolve) => setImmediate(resolve))
      }
      const answer = await connection.answer()
      expectError(answer, 400, 'bad_request')
      expect(headerOf(answer, 'connection')).toBe('close')
      expect(await connection.closed()).toBe('end')
      expect(await app.inbox.event('evt_small_pieces')).toBeNull()
    },
  )
})

test.each(['GZIP', 'identity, gzip', 'x'])('Content-Encoding %s gets 415', async (encoding) => {
  const before = await stored()
  using connection = await RawConnection.open(app.port)
  const answer = await connection.request(delivery(nextEvent(), { headers: { 'Content-Encoding': encoding } }))
  expectError(answer, 415, 'content_encoding_unsupported')
  expect(await connection.closed()).toBe('end')
  expect(await stored()).toBe(before)
})

test.each(['GET', 'HEAD', 'OPTIONS', 'QUERY'])('%s on the path gets 405 with Allow: POST', async (method) => {
  using connection = await RawConnection.open(app.port)
  const answer = await connection.request({ method })
  expect(answer.status).toBe(405)
  expect(headerOf(answer, 'allow')).toBe('POST')
  if (method === 'HEAD') expect(answer.body).toHaveLength(0)
  else expectError(answer, 405, 'method_not_allowed')
  await expectGood(connection)
})

test.each([
  ['unknown', '/elsewhere'],
  ['in another case', '/Webhooks'],
  ['with a trailing slash', '/webhooks/'],
  ['percent-encoded', '/%77ebhooks'],
  ['invalid percent-encoding', '/%zz'],
  ['not a path', '*'],
  ['not a URL', 'http://['],
])('a path that is %s gets 404, and a valid delivery after it 200', async (_, target) => {
  using connection = await RawConnection.open(app.port)
  const before = await stored()
  for (const method of ['POST', 'GET']) {
    const answer = await connection.request({ ...delivery(nextEvent()), method, target })
    expectError(answer, 404, 'not_found')
    expect(jsonOf(answer)).toEqual({ error: { code: 'not_found', message: 'there is nothing at this path' } })
  }
  expect(await stored()).toBe(before)
  await expectGood(connection)
})

test.each([[undefined], ['application/json; charset=utf-16'], ['%%']])(
  'Content-Type %s makes no difference',
  async (type) => {
    const body = nextEvent()
    const headers = type === undefined ? {} : { 'Content-Type': type }
    const answer = await rawRequest(app.port, delivery(body, { headers }))
    expect(answer.status).toBe(200)
  },
)

describe('malformed HTTP:', () => {
  const body = nextEvent()
  test.each([
    [
      'Content-Length with Transfer-Encoding',
      requestBytes(delivery(body, { headers: { 'Content-Length': '5', 'Transfer-Encoding': 'chunked' } })),
    ],
    ['two values of Content-Length', requestBytes(delivery(body, { headers: { 'Content-Length': ['5', '6'] } }))],
    ['a negative Content-Length', requestBytes(delivery(body, { headers: { 'Content-Length': '-1' } }))],
    [
      'a transfer coding other than chunked',
      requestBytes(delivery(body, { headers: { 'Transfer-Encoding': 'gzip' } })),
    ],
    [
      'a transfer coding before chunked',
      Buffer.concat([
        requestBytes({ headers: { ...delivery(body).headers, 'Transfer-Encoding': 'gzip, chunked' } }),
        Buffer.from(`${body.length.toString(16)}\r\n${body.toString()}\r\n0\r\n\r\n`),
      ]),
    ],
    ['another version of HTTP', Buffer.from(requestBytes(delivery(body)).toString().replace('HTTP/1.1', 'HTTP/2.0'))],
    [
      'a bad chunk size',
      Buffer.concat([requestBytes({ headers: { 'Transfer-Encoding': 'chunked' } }), Buffer.from('xyz\r\n')]),
    ],
    ['a repeated Host', requestBytes(delivery(body, { headers: { Host: ['127.0.0.1', 'example.com'] } }))],
    ['no Host', Buffer.from('POST /webhooks HTTP/1.1\r\n\r\n')],
    ['a header with a space in its name', requestBytes({ headers: { 'X Y': '1' } })],
    ['a bare line feed', Buffer.from('POST /webhooks HTTP/1.1\nHost: a\n\n')],
    ['not HTTP', Buffer.from('hello\r\n\r\n')],
  ])('%s gets 400 and the connection is closed', async (_, bytes) => {
    const before = await stored()
    using connection = await RawConnection.open(app.port)
    connection.send(bytes)
    const answer = await connection.answer()
    expect(answer.status).toBe(400)
    expect(headerOf(answer, 'connection')).toBe('close')
    expect(answer.body.toString()).not.toMatch(/Error|at .*\.[jt]s/)
    await connection.closed()
    expect(await stored()).toBe(before)
    expect((await rawRequest(app.port, delivery(nextEvent()))).status).toBe(200)
  })

  test('headers over 8 KiB get 431 and the connection is closed', async () => {
    using connection = await RawConnection.open(app.port)
    const answer = await connection.request({ headers: { 'X-Long': 'a'.repeat(9 * 1024) } })
    expect(answer.status).toBe(431)
    await connection.closed()
  })
})

test('a client that waits for 100 Continue gets it, then its response', async () => {
  using connection = await RawConnection.open(app.port)
  const body = nextEvent()
  const bytes = requestBytes(delivery(body, { headers: { Expect: '100-continue' } }))
  connection.send(bytes.subarray(0, -body.length))
  expect((await connection.answer()).status).toBe(100)
  connection.send(body)
  expect((await connection.answer()).status).toBe(200)
  await expectGood(connection)
})

test('a client that waits for 100 Continue gets the rejection instead', async () => {
  const refusals = [
    [{ 'Content-Length': String(bodyLimit + 1) }, 413, 'body_too_large'],
    [{ 'Content-Length': '9', 'Content-Encoding': 'gzip' }, 415, 'content_encoding_unsupported'],
  ] as const
  for (const [headers, status, code] of refusals) {
    using connection = await RawConnection.open(app.port)
    expectError(await connection.request({ headers: { ...headers, Expect: '100-continue' } }), status, code)
    expect(await connection.closed()).toBe('end')
  }
  using connection = await RawConnection.open(app.port)
  const headers = { 'Content-Length': '9', Expect: '100-continue' }
  expectError(await connection.request({ target: '/elsewhere', headers }), 404, 'not_found')
})

test('pipelined requests are answered in order', async () => {
  using connection = await RawConnection.open(app.port)
  const events = Array.from({ length: 20 }, (_, index) => eventBytes({ id: `evt_pipe_${index}` }))
  const requests = events.map((body, index) =>
    index % 5 === 4 ? requestBytes({ body, target: '/elsewhere' }) : requestBytes(delivery(body)),
  )
  connection.send(Buffer.concat(requests))
  for (const index of events.keys()) {
    const answer = await connection.answer()
    if (index % 5 === 4) expectError(answer, 404, 'not_found')
    else expect(jsonOf(answer)).toEqual({ status: 'accepted', id: `evt_pipe_${index}` })
  }
})

test('a client that half-closes before its body is complete gets 400, and nothing is stored', async () => {
  const before = await stored()
  using connection = await RawConnection.open(app.port, { allowHalfOpen: true })
  connection.socket.end(requestBytes(delivery(nextEvent())).subarray(0, -1))
  expect((await connection.answer()).status).toBe(400)
  await connection.closed()
  expect(await stored()).toBe(before)
})
