import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createTestClock, systemClock, type Clock } from '../../src/base/clock.ts'
import { createPoster, type Wire } from '../../src/emulator/deliveries/post.ts'
import { tlsPair } from '../fixtures/tls.ts'

const body = Buffer.from(JSON.stringify({ id: 'evt_1', data: { text: 'ü'.repeat(100) } }))
const answerOf = (text: string, status = '200 OK') =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

const certificates = getCACertificates('default')
beforeAll(() => setDefaultCACertificates([...certificates, tlsPair.cert]))
afterAll(() => setDefaultCACertificates(certificates))

function newPoster(wall: Clock = systemClock) {
  const poster = createPoster({ clock: wall, wall })
  onTestFinished(() => poster.close())
  return {
    ...poster,
    post: (url: URL, sent = body, options: Partial<Parameters<typeof poster.post>[0]> = {}) =>
      poster.post({ url, body: sent, headers: {}, ...options }),
  }
}

/** The data of one connection. */
interface RawConnectionSeen {
  readonly socket: Socket
  /** All bytes so far. */
  readonly bytes: () => Buffer
  /** The same in the pieces received. */
  readonly pieces: readonly Buffer[]
  /** `end`: in order. */
  readonly ended: Promise<'end' | 'reset'>
}

/** A TCP or TLS server on a free loopback port. `onData` is called with each piece. */
async function newReceiver(onData: (connection: RawConnectionSeen) => void, { tls = false }: { tls?: boolean } = {}) {
  const connections: RawConnectionSeen[] = []
  const accept = (socket: Socket) => {
    const pieces: Buffer[] = []
    const ended = new Promise<'end' | 'reset'>((resolve) => {
      socket.on('end', () => resolve('end'))
      socket.on('error', () => resolve('reset'))
    })
    const connection = { socket, pieces, ended, bytes: () => Buffer.concat(pieces) }
    connections.push(connection)
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece)
      onData(connection)
    })
  }
  const server = tls ? createTlsServer(tlsPair, accept) : createServer(accept)
  // TLS handshakes whose connection is gone.
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    server.close()
    for (const { socket } of connections) socket.destroy()
    await once(server, 'close')
  })
  return {
    url: new URL(`${tls ? 'https' : 'http'}://127.0.0.1:${port}/webhooks`),
    connections: connections as readonly RawConnectionSeen[],
  }
}

/** Head and body of a received request. */
function splitRequest(bytes: Buffer): { readonly head: string; readonly body: Buffer } {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return { head: bytes.toString('latin1'), body: Buffer.alloc(0) }
  return { head: bytes.subarray(0, end).toString('latin1'), body: bytes.subarray(end + 4) }
}

/** Answers each request whose whole body has arrived, framed by Content-Length or by chunks. */
const answering = (answer: string) =>
  newReceiver(({ bytes, socket }) => {
    const endsWith = (end: Buffer) => bytes().subarray(-end.length).equals(end)
    if (endsWith(body) || endsWith(Buffer.from('\r\n0\r\n\r\n'))) socket.write(answer)
  })

/** `met` resolves once a connection meets the condition. */
async function createWaitingReceiver(isMet: (connection: RawConnectionSeen) => boolean) {
  const { promise, resolve } = Promise.withResolvers<RawConnectionSeen>()
  const receiver = await newReceiver((connection) => {
    if (isMet(connection)) resolve(connection)
  })
  return { receiver, met: promise }
}

const bodyOf = ({ bytes }: RawConnectionSeen) => splitRequest(bytes()).body
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('the request', () => {
  test('R72 whole: the exact bytes with their length, over a kept-alive connection', async () => {
    const receiver = await answering(answerOf('ok'))
    const poster = newPoster()
    const headers = { 'User-Agent': 'test', 'X-A': ['1', '2'], 'X-C': ['3'] }
    for (const how of [undefined, { wire: { mode: 'whole' } }] as const) {
      const result = await poster.post(receiver.url, body, { headers, ...how })
      expect(result).toMatchObject({ isAcknowledged: true, status: 200, failure: null, responseExcerpt: 'ok' })
    }
    expect(receiver.connections).toHaveLength(1)
    const { head, body: sent } = splitRequest(receiver.connections[0]!.bytes())
    expect(head.split('\r\n')).toEqual([
      'POST /webhooks HTTP/1.1',
      'User-Agent: test',
      'X-A: 1',
      'X-A: 2',
      'X-C: 3',
      `Content-Length: ${body.length}`,
      `Host: ${receiver.url.host}`,
      'Connection: keep-alive',
    ])
    expect(sent.subarray(0, body.length)).toEqual(body)
  })

  test('2.8 chunked: chunks of the given size, over a kept-alive connection', async () => {
    const receiver = await answering(answerOf('ok'))
    const poster = newPoster()
    await poster.post(receiver.url, body, { wire: { mode: 'chunked', chunkBytes: 100 } })
    const { head, body: sent } = splitRequest(receiver.connections[0]!.bytes())
    expect(head).toContain('Transfer-Encoding: chunked')
    expect(head).not.toContain('Content-Length')
    const pieces = [body.subarray(0, 100), body.subarray(100, 200), body.subarray(200)]
    const chunks = pieces.map((one) =>
      Buffer.concat([Buffer.from(`${one.length.toString(16)}\r\n`), one, Buffer.from('\r\n')]),
    )
    expect(sent).toEqual(Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]))
    await poster.post(receiver.url, body, { wire: { mode: 'chunked', chunkBytes: 1 } })
    expect(receiver.connections).toHaveLength(1)
  })

  test('2.8 slow: one piece per interval', async () => {
    const wall = createTestClock()
    let wake = () => {}
    const receiver = await newReceiver((connection) => {
      wake()
      if (bodyOf(connection).length === body.length) connection.socket.write(answerOf('ok'))
    })
    const arrived = async (length: number) => {
      while (receiver.connections[0] === undefined || bodyOf(receiver.connections[0]).length < length) {
        await new Promise<void>((resolve) => (wake = resolve))
      }
      expect(bodyOf(receiver.connections[0])).toHaveLength(length)
    }
    const posted = newPoster(wall).post(receiver.url, body, { wire: { mode: 'slow', bytes: 100, everyMs: 1_000 } })
    await arrived(100)
    await wall.advance(999)
    await arrived(100)
    await wall.advance(1)
    await arrived(200)
    await wall.advance(1_000)
    expect(await posted).toMatchObject({ isAcknowledged: true, latencyMs: 2_000 })
    expect(bodyOf(receiver.connections[0]!)).toEqual(body)
  })

  test('R80 A43 slow beyond 5 s: the time counts from the start', async () => {
    const wall = createTestClock()
    const { receiver, met } = await createWaitingReceiver((connection) => bodyOf(connection).length >= 10)
    const posted = newPoster(wall).post(receiver.url, body, { wire: { mode: 'slow', bytes: 10, everyMs: 1_000 } })
    const connection = await met
    await wall.advance(5_000)
    expect(await posted).toMatchObject({ status: null, failure: 'no answer within 5000 ms', latencyMs: 5_000 })
    await connection.ended
    expect(bodyOf(connection).length).toBeLessThan(body.length)
    expect(wall.nextTimerAt()).toBeNull()
  })

  test.each([
    ['cut', false, /end/],
    ['reset', false, /reset/],
    ['cut', true, /end/],
    // A TLS connection is destroyed: by a reset only if something of the handshake is unread.
    ['reset', true, /end|reset/],
  ] as const)('2.8 %s (TLS: %s) announces the whole body, sends half, then ends by %s', async (mode, tls, ending) => {
    const wire: Wire = { mode, share: 0.5 }
    const receiver = await newReceiver(() => {}, { tls })
    const poster = newPoster()
    const post = () => poster.post(receiver.url, body, { wire })
    for (const result of await Promise.all([post(), post()])) {
      expect(result).toMatchObject({ isAcknowledged: false, status: null, responseHeaders: {}, responseExcerpt: '' })
      expect(result.failure).toMatch(/hang up|reset|closed/i)
    }
    expect(receiver.connections).toHaveLength(2)
    for (const connection of receiver.connections) {
      expect(await connection.ended).toMatch(ending)
      const { head, body: sent } = splitRequest(connection.bytes())
      expect(head).toContain(`Content-Length: ${body.length}`)
      expect(sent).toEqual(body.subarray(0, Math.floor(body.length / 2)))
    }
  })

  test('close ends posts in flight', async () => {
    const { receiver, met } = await createWaitingReceiver((connection) => bodyOf(connection).length > 0)
    const poster = newPoster()
    const wire: Wire = { mode: 'slow', bytes: 1, everyMs: 600_000 }
    const posted = poster.post(receiver.url, body, { wire })
    await met
    poster.close()
    expect(await posted).toMatchObject({ isAcknowledged: false, status: null })
  })
})

describe('the response', () => {
  test.each([
    ['tab\there\u202eand\u0000', 'tab\\u0009here\\u202eand\\u0000'],
    ['', ''],
    ['x'.repeat(1_024), `${'x'.repeat(1_023)}…`],
    ['x'.repeat(60_000), `${'x'.repeat(1_023)}…`],
    // The last character is cut in two.
    [`${'\n'.repeat(10)}${'x'.repeat(1_013)}ü`, `${'\\u000a'.repeat(10)}${'x'.repeat(963)}…`],
    [`${'x'.repeat(900)}${'ü'.repeat(100)}`, `${'x'.repeat(900)}${'ü'.repeat(62)}`],
  ])('its excerpt is short and safe to display (%#)', async (text, expected) => {
    const receiver = await answering(answerOf(text))
    const { responseExcerpt } = await newPoster().post(receiver.url)
    expect(responseExcerpt).toBe(expected)
  })

  test('A43 an endless body costs the connection after 1 s or 64 KiB', async () => {
    const wall = createTestClock()
    const silent = await answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n')
    const poster = newPoster(wall)
    const posted = poster.post(silent.url)
    while (wall.nextTimerAt() !== wall.now() + 1_000) await nextTurn()
    await wall.advance(1_000)
    expect(await posted).toMatchObject({ isAcknowledged: true, latencyMs: 0 })
    await silent.connections[0]?.ended

    const endless = await newReceiver(({ socket, pieces }) => {
      if (pieces.length > 1) return
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
      const pour = () => {
        while (!socket.destroyed && socket.write('x'.repeat(10_000)));
      }
      socket.on('drain', pour)
      pour()
    })
    expect(await poster.post(endless.url)).toMatchObject({ isAcknowledged: true })
    await endless.connections[0]?.ended
  })

  test('an early answer ends the request', async () => {
    const receiver = await newReceiver(({ socket, pieces }) => {
      if (pieces.length > 1) return
      socket.write(answerOf('', '413 Too Large'))
      socket.pause()
    })
    const result = await newPoster().post(receiver.url, Buffer.alloc(20_000_000, 'x'))
    expect(result).toMatchObject({ status: 413, failure: 'answered 413' })
    receiver.connections[0]?.socket.resume()
    await receiver.connections[0]?.ended
  })
})

const privateHosts = (
  '127.0.0.1 10.1.2.3 172.31.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 ' +
  '[::1] [::] [::ffff:127.0.0.1] [fe80::1] [fd00::1] localhost'
).split(' ')

test.each(privateHosts)('with isPublicOnly nothing is sent to %s', async (host) => {
  for (const wire of [{ mode: 'whole' }, { mode: 'cut', share: 0.5 }] as const) {
    const result = await newPoster().post(new URL(`http://${host}:9/`), body, { isPublicOnly: true, wire })
    const failure = expect.stringMatching(/address is not public/)
    expect(result).toMatchObject({ isAcknowledged: false, status: null, failure })
  }
})
