import { writeFile } from 'node:fs/promises'
import { Agent, request as httpsRequest } from 'node:https'
import type { RequestListener } from 'node:http'
import { Server } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import { startHttpServer, type HttpServerOptions } from '../../src/base/http/server.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { headerOf, RawConnection, rawRequest, requestBytes } from '../support/raw-http.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const answering: RequestListener = (_request, response) => response.end('hello')

async function start(options: Partial<HttpServerOptions> = {}) {
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    portSetting: 'INBOX_PORT',
    maxConnections: 10,
    keepAliveMs: 15_000,
    handler: answering,
    ...options,
  })
  return { ...server, [Symbol.asyncDispose]: () => server.close(0) }
}

async function tlsIn(dir: string) {
  const tls = { certFile: join(dir, 'crt'), keyFile: join(dir, 'key') }
  await writeFile(tls.certFile, tlsPair.cert)
  await writeFile(tls.keyFile, tlsPair.key)
  return tls
}

const get = { method: 'GET', target: '/' }

test('a privileged port is rejected with the setting and advice', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
    const error = Object.assign(new Error('listen EACCES: permission denied 127.0.0.1:80'), { code: 'EACCES' })
    process.nextTick(() => this.emit('error', error))
    return this
  })
  try {
    await expect(start({ port: 80 })).rejects.toMatchObject({
      code: 'port_unavailable',
      message: expect.stringContaining('set INBOX_PORT to 1024 or above, or give Node CAP_NET_BIND_SERVICE'),
    })
  } finally {
    listen.mockRestore()
  }
})

test('the url has brackets around an IPv6 address', async ({ skip }) => {
  const server = await start({ host: '::1' }).catch((error: unknown) => {
    if (error instanceof InboxError && /EADDRNOTAVAIL|EAFNOSUPPORT/.test(error.message)) return null
    throw error
  })
  if (server === null) return skip('this machine has no IPv6')
  await using _ = server
  expect(server.url).toBe(`http://[::1]:${server.port}`)
})

test('a used port is rejected with its setting', async () => {
  await using server = await start()
  const second = start({ port: server.port, portSetting: 'INBOX_ADMIN_PORT' })
  await expect(second).rejects.toMatchObject({
    code: 'port_unavailable',
    message: `cannot listen on 127.0.0.1:${server.port}: address already in use (EADDRINUSE); choose another INBOX_ADMIN_PORT, or stop what uses it`,
  })
})

const post = { method: 'POST', target: '/', body: Buffer.from('body') }

describe('P6 at the limit of connections', () => {
  test('idle connections are closed: silent, with a partial request, or answered', async () => {
    await using server = await start({ maxConnections: 3 })
    using silent = await RawConnection.open(server.port)
    using part = await RawConnection.open(server.port)
    part.send('GET / HTTP/1.1\r\n')
    using answered = await RawConnection.open(server.port)
    expect((await answered.request(get)).status).toBe(200)
    using opened = new DisposableStack()
    for (let count = 0; count < 3; count++) {
      const other = opened.use(await RawConnection.open(server.port))
      expect((await other.request(post)).status).toBe(200)
    }
    for (const idle of [silent, part, answered]) {
      await idle.closed()
      // Closed at once, not with 408 after seconds.
      expect(idle.unread).toHaveLength(0)
    }
  })

  test('complete requests are answered; if all connections have one, a new connection is closed', async () => {
    const held: (() => void)[] = []
    const handler: RequestListener = (request, response) => {
      request.resume()
      held.push(() => response.end('late'))
    }
    await using server = await start({ maxConnections: 2, handler })
    using first = await RawConnection.open(server.port)
    using second = await RawConnection.open(server.port)
    first.send(Buffer.concat([requestBytes(post), requestBytes(get)]))
    second.send(requestBytes(post))
    await until(() => held.length === 3, 'the requests are there')
    using third = await RawConnection.open(server.port)
    await third.closed()
    // Closed at once, not with 408 after seconds.
    expect(third.unread).toHaveLength(0)
    for (const end of held) end()
    for (const connection of [first, first, second]) expect((await connection.answer()).body.toString()).toBe('late')

    // Both are idle now.
    using fourth = await RawConnection.open(server.port)
    fourth.send(requestBytes(get))
    await until(() => held.length === 4, 'the fourth request is there')
    using fifth = await RawConnection.open(server.port)
    fifth.send(requestBytes(get))
    await until(() => held.length === 5, 'the fifth request is there')
    expect([await first.closed(), await second.closed()]).toEqual(['end', 'end'])
  })

  test('stopped uploads are closed first, then running ones, then clients with an accepted POST', async () => {
    await using server = await start({
      maxConnections: 3,
      handler: (request, response) => void request.resume().on('end', () => response.end('hello')),
    })
    using client = await RawConnection.open(server.port)
    expect((await client.request(post)).status).toBe(200)
    const headers = { 'Content-Length': '1000000' }
    using running = await RawConnection.open(server.port)
    running.send(requestBytes({ method: 'POST', target: '/', headers }))
    using stopped = await RawConnection.open(server.port)
    stopped.send(requestBytes({ method: 'POST', target: '/', headers }))
    running.send(Buffer.alloc(100_000))
    for (let count = 0; count < 4; count++) {
      running.send(Buffer.alloc(200_000))
      expect((await client.request(post)).status).toBe(200)
      expect((await rawRequest(server.port, get)).status).toBe(200)
    }
    running.send(Buffer.alloc(100_000))
    expect((await running.answer()).status).toBe(200)
    await stopped.closed()
    expect((await client.request(post)).status).toBe(200)
  })

  test('the same applies to TLS', async () => {
    await using dir = await createTempDir()
    await using server = await start({ maxConnections: 2, tls: await tlsIn(dir.path) })
    const agent = new Agent({ keepAlive: true, ca: tlsPair.cert })
    const send = (method: string, using: Agent | false) =>
      new Promise((resolve, reject) => {
        const options = { port: server.port, ca: tlsPair.cert, agent: using, method }
        httpsRequest('https://localhost/', options, (response) => {
          response.resume().on('end', () => resolve(response.statusCode))
        })
          .on('error', reject)
          .end()
      })
    expect(await send('POST', agent)).toBe(200)
    const sockets = Object.values(agent.freeSockets).flat()
    using silent = await RawConnection.open(server.port)
    expect(await send('GET', false)).toBe(200)
    await silent.closed()
    expect(await send('POST', agent)).toBe(200)
    expect(Object.values(agent.freeSockets).flat()).toEqual(sockets)
    agent.destroy()
  })
})

test('idle connections are kept for the configured time', async () => {
  await using server = await start({ keepAliveMs: 1_000 })
  using connection = await RawConnection.open(server.port)
  const answer = await connection.request(get)
  expect([headerOf(answer, 'connection'), headerOf(answer, 'keep-alive')]).toEqual(['keep-alive', 'timeout=1'])
  expect(await connection.closed()).toBe('end')
})

test('P6 a silent TLS connection is closed within the time for headers', async () => {
  await using dir = await createTempDir()
  await using server = await start({ tls: await tlsIn(dir.path) })
  const startedAt = performance.now()
  using silent = await RawConnection.open(server.port)
  const status = await new Promise((resolve, reject) => {
    const options = { port: server.port, ca: tlsPair.cert, agent: false }
    httpsRequest('https://localhost/', options, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })
  expect(status).toBe(200)
  await silent.closed()
  expect(performance.now() - startedAt).toBeGreaterThan(4_900)
})
