import { type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import supertest from 'supertest'
import { expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import { arrivalOf, giveUp, quarantinedOf } from '../fixtures/stored-events.ts'
import { RawConnection } from '../support/raw-http.ts'
import { adminToken, setUpAdmin } from './admin-app.ts'

const get = (app: Server, path: string) => supertest(app).get(path).set('Authorization', `Bearer ${adminToken}`)
const post = (app: Server, path: string) => supertest(app).post(path).set('Authorization', `Bearer ${adminToken}`)
const rawUrl = (id: string) => `/api/v1/events/${encodeURIComponent(id)}/raw`

test('events are listed newest first, in pages, with the filters applied', async () => {
  const { app, inbox } = await setUpAdmin()
  await inbox.accept([arrivalOf('a'), arrivalOf('b', 'token.price_alert'), arrivalOf('c')])

  const first = await get(app, '/api/v1/events?limit=2').expect(200).expect('Content-Type', 'application/json')
  expect(first.body.data.map(({ id }: { id: string }) => id)).toEqual(['c', 'b'])
  const rest = await get(app, `/api/v1/events?limit=2&cursor=${first.body.next_cursor}`).expect(200)
  expect(rest.body).toEqual({
    data: [
      {
        seq: 1,
        id: 'a',
        type: 'wallet.large_trade',
        created_at: '2026-01-31T13:59:59Z',
        received_at: '2026-01-31T14:00:00.000Z',
        network: 'ethereum',
        address: '0xabc',
        status: 'unhandled',
      },
    ],
    next_cursor: null,
    searched_to: '2026-01-31T14:00:00.000Z',
  })
  const count = async (query: string) => (await get(app, `/api/v1/events?${query}`).expect(200)).body.data.length
  expect(await count('type=token.price_alert')).toBe(1)
  expect(await count('status=done')).toBe(0)
  expect(await count('network=ethereum&address=0xabc')).toBe(3)
  expect(await count('network=base')).toBe(0)
  expect(await count('from=2026-01-31T14:00:00Z')).toBe(3)
  expect(await count('from=2026-01-31T15:00:00%2B01:00')).toBe(3)
  expect(await count('to=2026-01-31T14:00:00Z')).toBe(0)
})

test('an EVM address is found however its letters are written', async () => {
  const { app, inbox } = await setUpAdmin()
  const address = '0x6982508145454ce325ddbe47a25d4ec3d2311933'
  const key = `ethereum:${address}`
  const raw = Buffer.from(JSON.stringify({ id: 'a', data: { network: 'ethereum', token_address: address } }))
  await inbox.accept([{ ...arrivalOf('a'), key, address, raw }])
  const { body } = await get(app, `/api/v1/events?address=0x${address.slice(2).toUpperCase()}`).expect(200)
  expect(body.data).toHaveLength(1)
})

test('an event is shown with its envelope, its receipt and the timeline of its attempts', async () => {
  const { app, inbox } = await setUpAdmin()
  const [runId] = await giveUp(inbox, ['evt_1'])
  await inbox.accept([arrivalOf('evt_1'), arrivalOf('evt_1', 'wallet.large_trade', '2')])
  const { body } = await get(app, '/api/v1/events/evt_1').expect(200)
  expect(body).toMatchObject({ id: 'evt_1', seq: 1, status: 'dead', key: 'ethereum:0xabc' })
  expect(body.envelope).toEqual(JSON.parse(Buffer.from(arrivalOf('evt_1').raw).toString()))
  expect(body.receipt).toEqual({
    received_at: '2026-01-31T14:00:00.000Z',
    stored_at: '2026-01-01T00:00:00.000Z',
    secret_label: 'main',
    size_bytes: arrivalOf('evt_1').raw.length,
    duplicates: 1,
    conflicts: 1,
    headers: null,
    traceparent: null,
  })
  const run = {
    run_id: runId,
    handler: 'trades',
    state: 'dead',
    attempt: 1,
    crashed: 0,
    run_at: null,
    replay: null,
    started_at: '2026-01-31T14:00:00.005Z',
    ended_at: '2026-01-31T14:00:00.025Z',
    item: null,
    state_keys: [],
  }
  expect(body.runs).toEqual([run])
  expect(body.timeline).toEqual([
    {
      run_id: runId,
      handler: 'trades',
      replay: null,
      attempt: 1,
      started_at: '2026-01-31T14:00:00.005Z',
      ended_at: '2026-01-31T14:00:00.025Z',
      outcome: 'dead',
      error: { name: 'TerminalError', message: 'no such pair', stack: null },
    },
  ])
})

test('numbers of an event are shown with every digit they came with', async () => {
  const { app, inbox } = await setUpAdmin()
  await inbox.accept([arrivalOf('big', 'wallet.large_trade', '[18446744073709551615,0.1000,1e-18,5]')])
  const { text } = await get(app, '/api/v1/events/big').expect(200)
  expect(text).toContain('{"amount":[18446744073709551615,0.1000,1e-18,5]}')
})

test('ids that no event has are named, and nothing is started; those of pruned events are known', async () => {
  const { app, inbox } = await setUpAdmin()
  await inbox.accept([arrivalOf('a'), arrivalOf('pruned')])
  await inbox.prune({ receivedBefore: Infinity, maxBytes: null })
  await inbox.accept([arrivalOf('b')])
  const refuse = async (body: object) => (await post(app, '/api/v1/replays').send(body).expect(404)).body.error
  const message = 'there are no events with the ids x, y; nothing was started'
  expect(await refuse({ ids: ['a', 'x', 'b', 'y', 'x'] })).toEqual({ code: 'not_found', message })
  expect(await refuse({ ids: ['x', 'y'], dryRun: true })).toEqual({ code: 'not_found', message })
  const many = Array.from({ length: 25 }, (_, n) => `n${n}`)
  expect((await refuse({ ids: many })).message).toMatch(/ids n0, n1, .*, n19 and 5 more; nothing/)
  expect((await get(app, '/api/v1/replays').expect(200)).body.data).toEqual([])
  const { body } = await post(app, '/api/v1/replays')
    .send({ ids: ['pruned', 'b'], dryRun: true })
    .expect(200)
  expect(body).toEqual({ dry_run: true, events: 2, skipped: 1 })
})

test('the exact bytes come as an attachment that no browser renders', async () => {
  const { app, inbox } = await setUpAdmin()
  const raw = Buffer.from('{ "id":"x",\t"data":{"html":"<script>alert(1)</script>","é":1} }')
  await inbox.accept([{ ...arrivalOf('x'), raw }])
  const response = await get(app, rawUrl('x')).buffer(true).expect(200)
  expect(Buffer.compare(response.body as Buffer, raw)).toBe(0)
  expect(response.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="event.json"',
    'x-content-type-options': 'nosniff',
    'content-length': String(raw.length),
  })
})

test.each(['a/b', 'a?b#c', '%2F', 'raw', 'ä€😀', '\u0000\r\n', ' ', '..%2f', "';--", '__proto__', 'x'.repeat(255)])(
  'an event with the id %j is found by it',
  async (id) => {
    const { app, inbox } = await setUpAdmin()
    await inbox.accept([arrivalOf('other'), arrivalOf(id)])
    const shown = await get(app, `/api/v1/events/${encodeURIComponent(id)}`).expect(200)
    expect(shown.body.id).toBe(id)
    const response = await get(app, rawUrl(id)).buffer(true).expect(200)
    expect(JSON.parse((response.body as Buffer).toString()).id).toBe(id)
  },
)

test('a target that is no URL gets constant JSON', async () => {
  const { app } = await setUpAdmin()
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  using connection = await RawConnection.open((server.address() as AddressInfo).port)
  const answer = await connection.request({ method: 'GET', target: 'http://[' })
  expect(answer.status).toBe(404)
  expect(JSON.parse(answer.body.toString())).toEqual({
    error: { code: 'not_found', message: 'there is nothing at this path' },
  })
  expect(answer.headers.get('x-content-type-options')).toEqual(['nosniff'])
  server.close()
})

test('an unknown event, an unknown path and broken percent-encoding get constant JSON', async () => {
  const { app } = await setUpAdmin()
  const expectError = async (path: string, status: number, code: string) => {
    const { body, text } = await get(app, path).expect(status).expect('Content-Type', 'application/json')
    expect(body.error.code).toBe(code)
    expect(text).not.toMatch(/nothing-here|node_modules/)
  }
  await expectError('/api/v1/events/nothing-here', 404, 'not_found')
  await expectError('/api/v1/events/nothing-here/raw', 404, 'not_found')
  await expectError('/api/v1/nothing-here', 404, 'not_found')
  await expectError('/nothing-here', 404, 'not_found')
  await expectError('/api/v1/events/', 404, 'not_found')
  await expectError('/HEALTHZ', 404, 'not_found')
  await expectError('/api/v1/events/%E0%A4%A', 400, 'bad_request')
})

test('other methods are answered 405 with what the path takes', async () => {
  const { app } = await setUpAdmin()
  await post(app, '/api/v1/events').expect(405).expect('Allow', 'GET, HEAD')
  await get(app, '/api/v1/dead-letters/requeue').expect(405).expect('Allow', 'POST')
  await supertest(app).options('/healthz').expect(405).expect('Allow', 'GET, HEAD')
})

test('a body in quarantine is listed as text that is safe to look at, and shown with its exact bytes', async () => {
  const { app, inbox } = await setUpAdmin()
  const raw = Buffer.from([0xff, 0x1b, ...Buffer.from('[31m{"id": \u202e')])
  await inbox.accept([quarantinedOf(raw), quarantinedOf(raw)])
  const { body } = await get(app, '/api/v1/quarantine').expect(200)
  expect(body.next_cursor).toBeNull()
  const { id } = quarantinedOf(raw)
  const listed = {
    id,
    reason: 'not_json',
    received_at: '2026-01-31T14:00:00.000Z',
    secret_label: 'main',
    size_bytes: raw.length,
    count: 2,
    preview: '\ufffd\\u001b[31m{"id": \\u202e',
  }
  expect(body.data).toEqual([listed])
  const shown = await get(app, `/api/v1/quarantine/${id}`).expect(200)
  expect(shown.body).toEqual({ ...listed, raw_base64: raw.toString('base64') })
  const { body: none } = await get(app, '/api/v1/quarantine/sha256:00').expect(404)
  expect(none.error.code).toBe('not_found')
})

test('health and readiness need no token, and readiness follows the store and the stop', async () => {
  const { app, state } = await setUpAdmin()
  const probe = (path: string) => supertest(app).get(path).set('Host', '10.1.2.3:8081').set('Connection', 'keep-alive')
  await probe('/healthz').expect(200, { status: 'alive' })
  await probe('/readyz').expect(200, { status: 'ready' }).expect('Connection', 'keep-alive')
  state.healthy = false
  const unhealthy = await probe('/readyz').expect(503).expect('Connection', 'keep-alive').expect('Retry-After', '5')
  expect(unhealthy.body.error.code).toBe('store_unavailable')
  state.stopping = true
  const stopping = await probe('/readyz').expect(503).expect('Connection', 'close')
  expect(stopping.body.error.code).toBe('shutting_down')
  await probe('/healthz').expect(200)
})

test('a failure inside is answered without its details', async () => {
  const { app, inbox } = await setUpAdmin()
  const failures = [
    new Error('SELECT secret FROM inbox.db'),
    new InboxError('not_durable', 'SELECT secret FROM inbox.db'),
  ]
  for (const failure of failures) {
    inbox.event = () => Promise.reject(failure)
    const { body, text } = await get(app, '/api/v1/events/a').expect(500)
    expect(body.error.code).toBe('internal')
    expect(text).not.toMatch(/SELECT|inbox\.db|\.ts/)
  }
  await inbox.close()
  const closed = await get(app, '/api/v1/events').expect(503).expect('Retry-After', '5')
  expect(closed.body.error.code).toBe('shutting_down')
})
