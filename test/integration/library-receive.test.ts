import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  createInbox,
  type DeliveryRequest,
  type DeliveryResponse,
  type EmbeddedInbox,
  type EmbeddedInboxOptions,
} from 'onchain-inbox'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { embedInbox } from '../../src/app/library/create-inbox.ts'
import { parseOptions } from '../../src/app/library/options.ts'
import { testSecret } from '../support/app.ts'
import { recordingLog } from '../support/recording-log.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'

const defaults = { secrets: testSecret, database: 'memory:', handlers: [], log: false } as const
const mebibyte = 1024 * 1024

async function started(options: Partial<EmbeddedInboxOptions> = {}): Promise<EmbeddedInbox> {
  const inbox = createInbox({ ...defaults, ...options })
  await inbox.start()
  return inbox
}

/** A signed delivery for `receive`, with additional headers. */
function request(body: Uint8Array, headers: Readonly<Record<string, string>> = {}): DeliveryRequest {
  return { method: 'POST', body, headers: { ...delivery(body).headers, ...headers } }
}

const brief = ({ status, body }: DeliveryResponse) => {
  const { error, ...rest } = JSON.parse(body) as { readonly error?: { readonly code: string } }
  return [status, error?.code ?? rest]
}

describe('inbox.receive', () => {
  test('stores a delivery durably and detects the duplicate with any type of headers and body', async () => {
    await using dir = await createTempDir()
    const database = `sqlite:${join(dir.path, 'inbox.db')}`
    const body = eventBytes({ id: 'a' })
    const signature = String(delivery(body).headers?.['X-Service-Signature'])
    {
      await using inbox = await started({ database })
      const answer = await inbox.receive(request(body))
      expect(answer.headers).toEqual({ 'Content-Type': 'application/json' })
      expect(brief(answer)).toEqual([200, { status: 'accepted', id: 'a' }])
    }
    await using inbox = await started({ database })
    const copy = new Uint8Array(body)
    for (const given of [
      { headers: new Headers({ 'X-SERVICE-SIGNATURE': signature }), body: copy.buffer },
      { headers: { 'x-service-signature': [signature] }, body: copy },
    ]) {
      expect(brief(await inbox.receive(given))).toEqual([200, { status: 'duplicate', id: 'a' }])
    }
  })

  test('answers exactly as the router does', async () => {
    await using inbox = await started({ bodyLimit: 500, unusableStatus: 422 })
    const server = createServer(inbox.router).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const body = eventBytes({ id: 'a' })
    await inbox.receive(request(body))
    const cases: [number, DeliveryRequest][] = [
      [200, request(body)],
      [401, request(body, { 'X-Service-Signature': '0'.repeat(64) })],
      [401, { method: 'POST', headers: {}, body }],
      [401, { method: 'POST', headers: {}, body: null }],
      [405, { method: 'PUT', headers: {}, body }],
      [413, request(Buffer.alloc(501))],
      [415, request(body, { 'Content-Encoding': 'gzip' })],
      [422, request(Buffer.from('no event'))],
    ]
    for (const [status, given] of cases) {
      const own = await inbox.receive(given)
      const init = { method: 'POST', ...given, headers: given.headers as Record<string, string> }
      const routed = await fetch(url, { ...init, body: given.body as Uint8Array<ArrayBuffer> | null })
      expect({ status: own.status, body: own.body }).toEqual({ status: routed.status, body: await routed.text() })
      expect(own.status).toBe(status)
      expect(own.headers['Allow'] ?? null).toBe(routed.headers.get('allow'))
    }
    server.closeAllConnections()
    server.close()
  })

  test.each([
    ['parsed JSON', { id: 'a' }],
    ['text', eventBytes({ id: 'a' }).toString()],
    ['a missing body with a Content-Length', undefined],
  ])('answers 500 body_already_read for %s, and logs the fix', async (_name, body) => {
    const { log, lines } = recordingLog()
    await using inbox = await started({ log })
    const given = request(eventBytes({ id: 'a' }), { 'Content-Length': '9' })
    expect(brief(await inbox.receive({ ...given, body: body as never }))).toEqual([500, 'body_already_read'])
    expect(lines).toMatchObject([{ level: 'error', message: expect.stringContaining('as a Uint8Array') as string }])
  })

  test('R79 answers after the event is stored, and a stop waits for it', async () => {
    const clock = createTestClock()
    const gate = Promise.withResolvers<void>()
    const store = await createMemoryInbox({ clock })
    const slow = {
      ...store,
      accept: (...args: Parameters<typeof store.accept>) => gate.promise.then(() => store.accept(...args)),
    }
    const inbox = embedInbox(parseOptions({ ...defaults, clock }), async () => ({ inbox: slow }))
    await inbox.start()
    const order: string[] = []
    const answered = inbox.receive(request(eventBytes({ id: 'a' }))).then((answer) => {
      order.push('answered')
      return answer
    })
    const stopped = inbox.stop().then(() => order.push('stopped'))
    expect(brief(await inbox.receive(request(eventBytes({ id: 'b' }))))).toEqual([503, 'shutting_down'])
    order.push('stored')
    gate.resolve()
    expect(brief(await answered)).toEqual([200, { status: 'accepted', id: 'a' }])
    await stopped
    expect(order).toEqual(['stored', 'answered', 'stopped'])
  })
})

interface ExampleApp extends AsyncDisposable {
  readonly inbox: EmbeddedInbox
  readonly port: number
}

const examples: Readonly<Record<string, () => Promise<ExampleApp>>> = {
  async express() {
    const { inbox, server } = await import('../../docs/examples/express-app.ts')
    return {
      inbox,
      port: (server.address() as AddressInfo).port,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections()
        server.close()
        await inbox.stop()
      },
    }
  },
  async fastify() {
    const { app, inbox } = await import('../../docs/examples/fastify-app.ts')
    const { port } = app.server.address() as AddressInfo
    return { inbox, port, [Symbol.asyncDispose]: () => app.close() }
  },
  async hono() {
    const { server, inbox } = await import('../../docs/examples/hono-app.ts')
    if (!server.listening) await once(server, 'listening')
    return {
      inbox,
      port: (server.address() as AddressInfo).port,
      async [Symbol.asyncDispose]() {
        server.close()
        await inbox.stop()
      },
    }
  },
}

afterEach(() => void vi.unstubAllEnvs())

test.each([
  ['express', 'large-trades', 'wallet.large_trade'],
  ['fastify', 'risk-changes', 'token.risk_change'],
  ['hono', 'new-listings', 'token.new_listing'],
])(
  'R73 R75 the example for %s in docs/library.md accepts signed deliveries and rejects others',
  async (framework, handler, type) => {
    await using dir = await createTempDir()
    const database = `sqlite:${join(dir.path, 'inbox.db')}`
    const env = { WEBHOOK_SECRET: testSecret, INBOX_DATABASE: database, PORT: '0' }
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const before = process.listeners('SIGTERM')
    using _listeners = {
      [Symbol.dispose]() {
        for (const one of process.listeners('SIGTERM')) if (!before.includes(one)) process.off('SIGTERM', one)
      },
    }
    await using example = await examples[framework]!()
    const { inbox, port } = example
    const url = `http://localhost:${port}`
    const post = async (body: Uint8Array, headers: Record<string, string> = {}) => {
      const signed = delivery(body).headers as Record<string, string>
      const init = { method: 'POST', headers: { ...signed, ...headers }, body: new Uint8Array(body) }
      const answer = await fetch(`${url}/webhooks`, init)
      return { status: answer.status, body: await answer.text() }
    }

    // White space: serialized again, the signature would not match.
    const data = { token_address: 't', risk_level: 'high', symbol: 'S', wallet_address: 'w', amount_usd: 1 }
    const body = Buffer.concat([eventBytes({ id: 'a', type, data }), Buffer.from('  \n')])
    const handled = once(inbox.events, 'handled')
    for (const kind of ['application/json', 'text/plain', '']) {
      const expected = kind === 'application/json' ? 'accepted' : 'duplicate'
      const headers: Record<string, string> = kind === '' ? {} : { 'Content-Type': kind }
      expect(await post(body, headers)).toEqual({ status: 200, body: `{"status":"${expected}","id":"a"}` })
    }
    expect(await handled).toMatchObject([{ handler, eventId: 'a' }])

    expect(await post(body, { 'X-Service-Signature': '0'.repeat(64) })).toMatchObject({ status: 401 })
    // Signed, but empty.
    expect(await post(Buffer.alloc(0))).toMatchObject({
      status: 200,
      body: expect.stringContaining('quarantined') as string,
    })
    expect(await post(Buffer.alloc(mebibyte + 1))).toMatchObject({ status: 413 })
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true })
  },
)
