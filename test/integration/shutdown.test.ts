import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { sqliteUrl, startTestApp } from '../support/app.ts'
import { headerOf, jsonOf, RawConnection, rawRequest, requestBytes } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { freePort } from '../support/stream-sinks.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const get = (port: number, target: string) => rawRequest(port, { method: 'GET', target })

/** Sends all but the last byte of a request. */
async function beginRequest(port: number, bytes: Buffer) {
  const connection = await RawConnection.open(port)
  connection.send(bytes.subarray(0, -1))
  return {
    connection,
    finish: () => {
      connection.send(bytes.subarray(-1))
      return connection.answer()
    },
    [Symbol.dispose]: () => connection[Symbol.dispose](),
  }
}

async function connectError(port: number): Promise<unknown> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    await once(socket, 'connect')
    return null
  } catch (error) {
    return error
  } finally {
    socket.destroy()
  }
}

describe('during a stop', () => {
  test('serve is not ready, refuses connections, and closes existing ones with their answers', async () => {
    await using dir = await createTempDir()
    const settings = { INBOX_DATABASE_URL: sqliteUrl }
    {
      await using app = await startTestApp({ dir: dir.path, settings })
      using idle = await RawConnection.open(app.port)
      expect((await idle.request(delivery(eventBytes({ id: 'evt_before' })))).status).toBe(200)
      using inFlight = await beginRequest(app.port, requestBytes(delivery(eventBytes({ id: 'evt_in_flight' }))))
      using late = await beginRequest(app.port, requestBytes({ headers: { 'Content-Length': '1' } }))
      using ready = await beginRequest(app.port, requestBytes({ method: 'GET', target: '/readyz' }))
      using alive = await beginRequest(app.port, requestBytes({ method: 'GET', target: '/healthz' }))
      // Its answer proves that earlier bytes have arrived.
      expect((await get(app.port, '/readyz')).status).toBe(200)

      const stopped = app.stop()
      await until(async () => (await get(app.adminPort, '/readyz')).status === 503, 'the admin side is not ready')
      expect((await get(app.adminPort, '/healthz')).status).toBe(200)
      expect(await connectError(app.port)).toMatchObject({ code: 'ECONNREFUSED' })
      await idle.closed()
      const unready = await ready.finish()
      expect([unready.status, headerOf(unready, 'connection')]).toEqual([503, 'close'])
      const healthy = await alive.finish()
      expect([healthy.status, headerOf(healthy, 'connection')]).toEqual([200, 'close'])
      const refused = await late.finish()
      expect([refused.status, headerOf(refused, 'connection')]).toEqual([503, 'close'])
      expect(jsonOf(refused)).toMatchObject({ error: { code: 'shutting_down' } })
      expect(Number(headerOf(refused, 'retry-after'))).toBeGreaterThan(0)

      const answer = await inFlight.finish()
      expect(jsonOf(answer)).toEqual({ status: 'accepted', id: 'evt_in_flight' })
      expect(headerOf(answer, 'connection')).toBe('close')
      expect(await inFlight.connection.closed()).toBe('end')
      await stopped
      expect(await connectError(app.adminPort)).toMatchObject({ code: 'ECONNREFUSED' })
    }

    await using again = await startTestApp({ dir: dir.path, settings })
    const { data } = await again.inbox.events({ limit: 10 })
    expect(data.map(({ id }) => id)).toEqual(['evt_in_flight', 'evt_before'])
  })

  test('an endless request and an endless handler delay it no longer than INBOX_SHUTDOWN_MS', async () => {
    const endless = `
      import { defineHandler } from 'onchain-inbox'
      export default defineHandler({ type: '*', run: () => new Promise(() => {}) })
    `
    await using app = await startTestApp({
      settings: { INBOX_DATABASE_URL: sqliteUrl, INBOX_SHUTDOWN_MS: '6000' },
      handlers: { 'endless.ts': endless },
    })
    using stubborn = await beginRequest(app.port, requestBytes(delivery(eventBytes({ id: 'evt_stubborn' }))))
    using silent = await RawConnection.open(app.port)
    expect((await rawRequest(app.port, delivery(eventBytes({ id: 'evt_endless' })))).status).toBe(200)
    await until(async () => (await app.inbox.event('evt_endless'))?.status === 'running', 'the handler runs')

    const startedAt = performance.now()
    await app.stop()
    expect(performance.now() - startedAt).toBeLessThan(app.config.shutdownMs)
    await Promise.all([stubborn.connection.closed(), silent.closed()])
  })
})

test('the admin port is not ready before the webhook port listens', async () => {
  const adminPort = await freePort()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const settings = {
    INBOX_DATABASE_URL: sqliteUrl,
    INBOX_ADMIN_PORT: String(adminPort),
    INBOX_PORT: String((taken.address() as AddressInfo).port),
  }
  let hasFailed = false
  const started = startTestApp({ settings }).catch(() => (hasFailed = true))
  const statuses = new Set<number>()
  while (!hasFailed) {
    const answer = await get(adminPort, '/readyz').catch(() => null)
    if (answer !== null) statuses.add(answer.status)
  }
  await started
  taken.close()
  expect([...statuses]).not.toContain(200)
})
