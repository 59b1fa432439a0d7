import { writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { InboxError } from '../../src/errors.ts'
import { startHttpServer, type HttpServerOptions } from '../../src/http-server.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { headerOf, RawConnection, rawRequest } from '../support/raw-http.ts'
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

const get = { method: 'GET', target: '/' }

test('it listens on the port that its url names', async () => {
  await using server = await start()
  expect(server.url).toBe(`http://127.0.0.1:${server.port}`)
  expect((await rawRequest(server.port, get)).body.toString()).toBe('hello')
})

test('an IPv6 address stands in brackets in its url', async ({ skip }) => {
  const server = await start({ host: '::1' }).catch((error: unknown) => {
    if (error instanceof InboxError && /EADDRNOTAVAIL|EAFNOSUPPORT/.test(error.message)) return null
    throw error
  })
  if (server === null) return skip('this machine has no IPv6')
  await using _ = server
  expect(server.url).toBe(`http://[::1]:${server.port}`)
})

test('a port that is taken is refused with the setting that chose it', async () => {
  await using server = await start()
  const second = start({ port: server.port, portSetting: 'INBOX_ADMIN_PORT' })
  await expect(second).rejects.toMatchObject({
    code: 'port_unavailable',
    message: expect.stringMatching(/EADDRINUSE.*INBOX_ADMIN_PORT/s),
  })
})

test('P6 connections beyond the limit are closed at once, and have room again when others have gone', async () => {
  await using server = await start({ maxConnections: 2 })
  const first = await RawConnection.open(server.port)
  using second = await RawConnection.open(server.port)
  expect((await first.request(get)).status).toBe(200)
  expect((await second.request(get)).status).toBe(200)
  using third = await RawConnection.open(server.port)
  await third.closed()
  // Not after a while, with 408 for having sent nothing.
  expect(third.unread).toHaveLength(0)
  first[Symbol.dispose]()
  await until(
    () =>
      rawRequest(server.port, get).then(
        ({ status }) => status === 200,
        () => false,
      ),
    'there is room again',
  )
  expect((await second.request(get)).status).toBe(200)
})

test('a connection is kept for as long as the setting says', async () => {
  await using server = await start({ keepAliveMs: 1_000 })
  using connection = await RawConnection.open(server.port)
  const answer = await connection.request(get)
  expect([headerOf(answer, 'connection'), headerOf(answer, 'keep-alive')]).toEqual(['keep-alive', 'timeout=1'])
  expect(await connection.closed()).toBe('end')
})

test('closing ends idle connections at once, lets answers finish, and cuts what is left after its grace', async () => {
  const held: (() => void)[] = []
  await using server = await start({
    handler: (request, response) => {
      if (request.url === '/held') held.push(() => response.end('late'))
      else response.end('hello')
    },
  })
  using idle = await RawConnection.open(server.port)
  await idle.request(get)
  using waiting = await RawConnection.open(server.port)
  const answer = waiting.request({ method: 'GET', target: '/held' })
  using endless = await RawConnection.open(server.port)
  const none = endless.request({ method: 'GET', target: '/held' })
  await until(() => held.length === 2, 'both requests are there')

  const closing = server.close(500)
  expect(server.close(500)).toBe(closing)
  await idle.closed()
  held[0]?.()
  expect((await answer).body.toString()).toBe('late')
  await expect(none).rejects.toThrow()
  await closing
  await expect(RawConnection.open(server.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})

test('P6 with TLS, a connection that says nothing is closed within the time for headers', async () => {
  await using dir = await createTempDir()
  const tls = { certFile: join(dir.path, 'crt'), keyFile: join(dir.path, 'key') }
  await writeFile(tls.certFile, tlsPair.cert)
  await writeFile(tls.keyFile, tlsPair.key)
  await using server = await start({ tls })
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
  const tookMs = performance.now() - startedAt
  expect(tookMs).toBeGreaterThan(4_900)
  expect(tookMs).toBeLessThan(11_000)
})
