import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { startTestApp, testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { serveCommand, Sidecar } from '../support/sidecar.ts'
import { eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

interface Span {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | null
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number }
}

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const sdk = new URL('../fixtures/otel-sdk.ts', import.meta.url).href

async function deliver(url: string, raw: Buffer, traceparent?: string): Promise<number> {
  const headers = { 'X-Service-Signature': sign(raw, testSecret), ...(traceparent !== undefined && { traceparent }) }
  return (await fetch(url, { method: 'POST', headers, body: Uint8Array.from(raw) })).status
}

test('with an SDK, receipt, handlers and sinks are spans of the trace of the delivery', async () => {
  await using app = await AppServer.start()
  const [node = '', ...serve] = serveCommand
  // The handler's spans are children of its run.
  const handler = `
    import { defineHandler } from 'onchain-inbox'
    import { trace } from '${import.meta.resolve('@opentelemetry/api')}'
    export default defineHandler({
      type: '*',
      retry: { attempts: 2, baseMs: 1 },
      async run(event, ctx) {
        await null
        trace.getTracer('mine').startSpan('mine ' + ctx.traceparent.split('-')[2]).end()
        ctx.log.warn('noted')
        if (ctx.attempt === 1) throw new Error('not yet')
      },
    })`
  const command = [node, '--import', sdk, ...serve]
  await using sidecar = await Sidecar.create({ command, handlers: { 'own.mjs': handler } })
  const file = join(sidecar.dir, 'spans')
  await sidecar.start({ SPANS: file, INBOX_FORWARD_URL: app.url })
  expect(await deliver(sidecar.url, eventBytes({ id: 'evt_1' }), `00-${traceId}-00f067aa0ba902b7-01`)).toBe(200)
  expect(await deliver(sidecar.url, Buffer.from('{}'))).toBe(200)
  const spans = () =>
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Span)
  const named = (name: string) => spans().filter((span) => span.name.startsWith(name))
  await until(() => named('process').length === 3 && named('receive').length === 2, 'all spans have ended')

  const [receipt, other] = named('receive')
  expect(receipt).toMatchObject({ traceId, parent: '00f067aa0ba902b7' })
  expect(receipt?.attributes).toMatchObject({
    'messaging.message.id': 'evt_1',
    'inbox.event.type': 'wallet.large_trade',
    'inbox.result': 'accepted',
    'http.response.status_code': 200,
  })
  expect(other?.traceId).not.toBe(traceId)
  expect(other?.attributes).toMatchObject({ 'inbox.result': 'quarantined' })
  const attempts = named('process own')
  expect(attempts.map(({ parent, attributes, status }) => [parent, attributes['inbox.attempt'], status.code])).toEqual([
    [receipt?.spanId, 1, 2],
    [receipt?.spanId, 2, 0],
  ])
  expect(named('mine').map(({ name, parent }) => [name, parent])).toEqual(
    attempts.map(({ spanId }) => [`mine ${spanId}`, spanId]),
  )
  const [forward] = named('process forward')
  expect(app.requests[0]?.headers['traceparent']).toBe(`00-${traceId}-${forward?.spanId}-01`)
  expect(await sidecar.log('noted')).toMatchObject({ eventId: 'evt_1', traceId, handler: 'own' })
})

test('without an SDK a valid trace context is stored and passed on unchanged', async () => {
  await using server = await AppServer.start()
  await using app = await startTestApp({ settings: { INBOX_FORWARD_URL: server.url } })
  const given = `00-${traceId}-00f067aa0ba902b7-00`
  await deliver(app.url, eventBytes({ id: 'evt_1' }), given)
  await server.received(1)
  const wrong = ['nonsense', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, `ff-${traceId}-00f067aa0ba902b7-01`]
  for (const [index, value] of wrong.entries()) await deliver(app.url, eventBytes({ id: `evt_x${index}` }), value)
  await deliver(app.url, eventBytes({ id: 'evt_y' }))
  const requests = await server.received(5)
  expect(requests.map(({ headers }) => headers['traceparent'])).toEqual([
    given,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
  expect(await app.inbox.event('evt_1')).toMatchObject({ trace: given })
})
