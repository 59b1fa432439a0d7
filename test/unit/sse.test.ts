import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { startHttpServer } from '../../src/base/http/server.ts'
import { createStream } from '../../src/base/http/sse.ts'
import { openSse } from '../support/sse-reader.ts'

const streamKinds = ['event', 'attempt', 'clock'] as const
type StreamKind = (typeof streamKinds)[number]

/** A server whose requests subscribe to the kinds in their path; 503 if rejected. */
async function startStream() {
  const wall = createTestClock()
  const silences = { count: 0 }
  const stream = createStream<StreamKind>({ wall, onLastLeft: () => void silences.count++ })
  const responses: ServerResponse[] = []
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    portSetting: '',
    maxConnections: 200,
    keepAliveMs: 15_000,
    handler(request, response) {
      const kinds = new Set((request.url ?? '').slice(1).split(',') as StreamKind[])
      responses.push(response)
      if (!stream.subscribe(response, { kinds, mayStay: () => true })) response.writeHead(503).end()
    },
  })
  return {
    wall,
    stream,
    silences,
    responses,
    port: server.port,
    open: (kinds: readonly StreamKind[] = streamKinds) => openSse(`http://127.0.0.1:${server.port}/${kinds.join()}`),
    async [Symbol.asyncDispose]() {
      stream.close()
      await server.close(0)
    },
  }
}

const alive = ': alive\n\n'

test('each subscriber gets its kinds, with one line of data per event', async () => {
  await using stage = await startStream()
  const all = await stage.open()
  const clocks = await stage.open(['clock'])
  await Promise.all([all.until(alive), clocks.until(alive)])
  const text = 'two\nlines\r\nand \u2028 a separator'
  stage.stream.publish('event', { text })
  stage.stream.publish('clock', { now: 1 })
  const clock = 'event: clock\ndata: {"now":1}\n\n'
  expect(await all.until(clock)).toBe(`${alive}event: event\ndata: ${JSON.stringify({ text })}\n\n${clock}`)
  expect(await clocks.until(clock)).toBe(`${alive}${clock}`)
  const { status, headers } = all.response
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'text/event-stream',
    'no-store',
  ])
})

test('a comment every 15 s keeps the connection alive', async () => {
  await using stage = await startStream()
  const reader = await stage.open()
  await reader.until(alive)
  await stage.wall.advance(14_999)
  stage.stream.publish('clock', 1)
  await stage.wall.advance(1)
  const one = 'event: clock\ndata: 1\n\n'
  expect(await reader.until(`${one}${alive}`)).toBe(`${alive}${one}${alive}`)
  await stage.wall.advance(15_000)
  expect(await reader.until(`${alive}${alive}`)).toBe(`${alive}${one}${alive}${alive}`)
})

test('a client that does not read is closed at 1 MB of backlog, others continue', async () => {
  await using stage = await startStream()
  const reader = await stage.open()
  await reader.until(alive)
  const idle = connect(stage.port, '127.0.0.1')
  idle.on('error', () => {})
  await once(idle, 'connect')
  idle.write('GET /event,clock HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [head] = (await once(idle, 'data')) as [Buffer]
  expect(head.toString()).toContain('200 OK')
  idle.pause()
  const response = stage.responses.at(-1)
  if (response === undefined) throw new Error('expected a second response')

  let most = 0
  const text = 'x'.repeat(64 * 1024)
  // Enough to fill the buffers of the kernel first.
  for (let n = 1; n <= 1_000 && !response.destroyed; n++) {
    stage.stream.publish('event', `${text}${n}`)
    most = Math.max(most, response.writableLength)
    await reader.until(`x${n}"\n\n`)
  }
  expect(response.destroyed).toBe(true)
  expect(most).toBeGreaterThan(900 * 1024)
  expect(most).toBeLessThanOrEqual(1024 * 1024)
  stage.stream.publish('clock', 1)
  expect(await reader.until('event: clock\ndata: 1\n\n')).toContain(text)
  idle.destroy()
})

test('close ends every subscription, rejects new ones, and leaves no timer', async () => {
  await using stage = await startStream()
  const readers = [await stage.open(), await stage.open(['clock'])]
  stage.stream.close()
  stage.stream.close()
  expect(await Promise.all(readers.map((reader) => reader.rest()))).toEqual([alive, alive])
  expect((await stage.open()).response.status).toBe(503)
  expect(stage.wall.nextTimerAt()).toBeNull()
})
