import { expect, onTestFinished, test } from 'vitest'
import { createTestClock, systemClock, type Clock } from '../../src/base/clock.ts'
import { createPoster } from '../../src/emulator/post.ts'
import { createRawReceiver, type RawConnectionSeen } from './emulator-post-stage.ts'

const body = Buffer.from('{"id": "evt_1"}')

function newPoster(wall: Clock = systemClock) {
  const poster = createPoster(wall)
  onTestFinished(() => poster.close())
  return poster
}

/** Answers each request with these bytes. */
const answering = (answer: string | Buffer) =>
  createRawReceiver(({ socket, bytes }) => {
    if (bytes().includes(body)) socket.write(answer)
  })

const withLength = (text: string) => `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`

test('the answer is kept: headers in lower case, several of one name in one text, and its beginning', async () => {
  await using receiver = await answering(
    'HTTP/1.1 500 No\r\nX-Mixed: A b\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\nContent-Length: 5\r\n\r\nsorry',
  )
  const result = await newPoster().post(receiver.url, body, {})
  expect(result).toMatchObject({ status: 500, failure: 'answered 500', responseExcerpt: 'sorry' })
  expect(result.responseHeaders).toEqual({ 'x-mixed': 'A b', 'set-cookie': 'a=1, b=2', 'content-length': '5' })
})

test.each([
  ['tab\there\u202eand\u0000', 'tab\\u0009here\\u202eand\\u0000'],
  ['', ''],
  ['x'.repeat(1_024), `${'x'.repeat(1_023)}…`],
  ['x'.repeat(60_000), `${'x'.repeat(1_023)}…`],
  // The last character is cut in two.
  [`${'\n'.repeat(10)}${'x'.repeat(1_013)}ü`, `${'\\u000a'.repeat(10)}${'x'.repeat(963)}…`],
  [`${'x'.repeat(900)}${'ü'.repeat(100)}`, `${'x'.repeat(900)}${'ü'.repeat(62)}`],
])('the excerpt of an answer is safe to be shown and short (%#)', async (text, expected) => {
  await using receiver = await answering(withLength(text))
  const { responseExcerpt } = await newPoster().post(receiver.url, body, {})
  expect(responseExcerpt).toBe(expected)
  expect(responseExcerpt.length).toBeLessThanOrEqual(1_024)
})

test('A43 the body of the answer is waited for 50 ms at most, which is no part of the latency', async () => {
  const wall = createTestClock()
  await using receiver = await answering('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun')
  const posted = newPoster(wall).post(receiver.url, body, {})
  let isDone = false
  void posted.then(() => (isDone = true))
  // Beside the deadline of 5 s, which the status line ends, there are then the two of the answer.
  while (wall.nextTimerAt() !== wall.now() + 50) await new Promise((resolve) => setImmediate(resolve))
  await wall.advance(49)
  expect(isDone).toBe(false)
  await wall.advance(1)
  expect(await posted).toMatchObject({
    isAcknowledged: true,
    latencyMs: 0,
    responseExcerpt: expect.stringMatching(/^(begun)?$/),
  })
})

test('A43 an answer that never ends costs its connection after 1 s, or beyond 64 KiB', async () => {
  const wall = createTestClock()
  await using silent = await answering('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n')
  const poster = newPoster(wall)
  const posted = poster.post(silent.url, body, {})
  while (wall.nextTimerAt() !== wall.now() + 50) await new Promise((resolve) => setImmediate(resolve))
  await wall.advance(50)
  expect(await posted).toMatchObject({ isAcknowledged: true })
  await wall.advance(949)
  expect(wall.nextTimerAt()).not.toBeNull()
  await wall.advance(1)
  await silent.connections[0]?.ended

  await using endless = await createRawReceiver(pourEndlessly)
  expect(await poster.post(endless.url, body, {})).toMatchObject({ isAcknowledged: true })
  await endless.connections[0]?.ended
})

function pourEndlessly({ socket, pieces }: RawConnectionSeen): void {
  if (pieces.length > 1) return
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
  const pour = () => {
    while (!socket.destroyed && socket.write('x'.repeat(10_000)));
  }
  socket.on('drain', pour)
  pour()
}

test('A43 an answer that came just in time is heard to its end', async () => {
  const wall = createTestClock()
  const deadlineAt = wall.now() + 5_000
  const { promise: asked, resolve } = Promise.withResolvers<RawConnectionSeen>()
  await using receiver = await createRawReceiver(resolve)
  const posted = newPoster(wall).post(receiver.url, body, {})
  const { socket } = await asked
  await wall.advance(4_990)
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbe')
  while (wall.nextTimerAt() === deadlineAt) await new Promise((resume) => setImmediate(resume))
  await wall.advance(20)
  socket.write('gun')
  expect(await posted).toMatchObject({ isAcknowledged: true, latencyMs: 4_990, responseExcerpt: 'begun' })
})

test('A43 an answer that breaks off is acknowledged by its status, with what had come', async () => {
  await using receiver = await createRawReceiver(({ socket }) => {
    socket.end('HTTP/1.1 202 OK\r\nContent-Length: 100\r\n\r\nbegun')
  })
  expect(await newPoster().post(receiver.url, body, {})).toMatchObject({
    isAcknowledged: true,
    status: 202,
    responseExcerpt: 'begun',
  })
})

test('a receiver that answers before it has read the whole gets no more of it', async () => {
  await using receiver = await createRawReceiver(({ socket, pieces }) => {
    if (pieces.length > 1) return
    socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n')
    socket.pause()
  })
  const poster = newPoster()
  const result = await poster.post(receiver.url, Buffer.alloc(20_000_000, 'x'), {})
  expect(result).toMatchObject({ status: 413, failure: 'answered 413' })
  receiver.connections[0]?.socket.resume()
  await receiver.connections[0]?.ended
})
