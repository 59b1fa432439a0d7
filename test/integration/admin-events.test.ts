import { expect, test } from 'vitest'
import { toCsvRow } from '../../src/admin/export.ts'
import { InboxError } from '../../src/base/errors.ts'
import { internalLabel } from '../../src/inbox/port.ts'
import { arrivalOf, quarantinedOf } from '../fixtures/stored-events.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startAdmin } from './admin-server.ts'

type Stage = Awaited<ReturnType<typeof startAdmin>>
// oxlint-disable-next-line typescript/no-explicit-any -- JSON
const get = async (stage: Stage, path: string, expected = 200): Promise<any> => {
  const { status, json } = await stage.call('GET', path)
  expect([path, status]).toEqual([path, expected])
  return json
}
const codeOf = ({ json }: { readonly json: unknown }) => (json as { error: { code: string } }).error.code

test('events are listed in pages and by filter; EVM addresses match in any case', async () => {
  await using stage = await startAdmin()
  const address = '0x6982508145454ce325ddbe47a25d4ec3d2311933'
  await stage.inbox.accept([{ ...arrivalOf('a'), key: `ethereum:${address}`, address }, arrivalOf('b'), arrivalOf('c')])

  const first = await get(stage, '/events?limit=2')
  expect(first.data.map(({ id }: { id: string }) => id)).toEqual(['c', 'b'])
  const last = await get(stage, `/events?limit=2&cursor=${first.next_cursor}`)
  expect(last).toEqual({
    data: [
      {
        seq: 1,
        source: 'default',
        id: 'a',
        type: 'wallet.large_trade',
        created_at: '2026-01-31T13:59:59Z',
        received_at: '2026-01-31T14:00:00.000Z',
        network: 'ethereum',
        address,
        status: 'unhandled',
      },
    ],
    next_cursor: null,
    searched_to: '2026-01-31T14:00:00.000Z',
  })
  const upper = `address=0x${address.slice(2).toUpperCase()}&network=ethereum&type=wallet.large_trade&status=unhandled`
  const times = 'from=2026-01-31T15:00:00%2B01:00&to=2026-01-31T14:00:00.001Z'
  expect((await get(stage, `/events?${upper}&${times}`)).data).toEqual(last.data)
  expect((await get(stage, '/events?to=2026-01-31T14:00:00Z')).data).toEqual([])
})

test('a replay of unknown ids names them and starts nothing; pruned events are known', async () => {
  await using stage = await startAdmin()
  const { inbox } = stage
  await inbox.accept([arrivalOf('a'), arrivalOf('pruned')])
  await inbox.prune({ receivedBefore: Infinity, maxBytes: null })
  await inbox.accept([arrivalOf('b')])
  const error = { code: 'not_found', message: 'there are no events with the ids x, y; nothing was started' }
  const many = Array.from({ length: 25 }, (_, n) => `n${n}`)
  const more = expect.stringMatching(/ids n0, n1, .*, n19 and 5 more; nothing/) as string
  for (const [body, status, expected] of [
    [{ ids: ['a', 'x', 'b', 'y', 'x'] }, 404, { error }],
    [{ ids: ['x', 'y'], dryRun: true }, 404, { error }],
    [{ ids: many }, 404, { error: { ...error, message: more } }],
    [{ ids: ['pruned', 'b'], dryRun: true }, 200, { dry_run: true, events: 2, skipped: 1 }],
  ] as const) {
    const reply = await stage.call('POST', '/replays', body)
    expect([reply.status, reply.json]).toEqual([status, expected])
  }
  expect((await get(stage, '/replays')).data).toEqual([])
})

test('the exact bytes are an attachment that browsers do not render', async () => {
  await using stage = await startAdmin()
  const raw = Buffer.from('{ "id":"x",\t"data":{"html":"<script>alert(1)</script>","é":1} }')
  await stage.inbox.accept([{ ...arrivalOf('x'), raw }])
  const { text, headers } = await stage.call('GET', '/events/x/raw')
  expect(text).toBe(raw.toString())
  expect(headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': 'attachment; filename="event.json"',
    'content-length': String(raw.length),
  })
})

test('events are found by ids with any characters', async () => {
  await using stage = await startAdmin()
  const odd = ['a/b', 'a?b#c', '%2F', 'raw', 'ä€😀', '\u0000\r\n', ' ', '..%2f', "';--", '__proto__', 'x'.repeat(255)]
  await stage.inbox.accept(odd.map((id) => arrivalOf(id)))
  for (const id of odd) {
    const path = `/events/${encodeURIComponent(id)}`
    expect((await get(stage, path)).id).toBe(id)
    expect(JSON.parse((await stage.call('GET', `${path}/raw`)).text)).toMatchObject({ id })
  }
})

test('malformed paths get constant JSON', async () => {
  await using stage = await startAdmin()
  const malformed = await stage.call('GET', '/events/%E0%A4%A')
  expect([malformed.status, codeOf(malformed)]).toEqual([400, 'bad_request'])
  using connection = await RawConnection.open(stage.port)
  const answer = await connection.request({ method: 'GET', target: 'http://[' })
  const error = { code: 'not_found', message: 'there is nothing at this path' }
  expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([404, { error }])
})

test('quarantined bodies are listed as safe text, and shown with their exact bytes', async () => {
  await using stage = await startAdmin()
  const raw = Buffer.from([0xff, 0x1b, ...Buffer.from('[31m{"id": \u202e')])
  const { id } = quarantinedOf(raw)
  await stage.inbox.accept([quarantinedOf(raw), quarantinedOf(raw)])
  const listed = {
    id,
    reason: 'not_json',
    received_at: '2026-01-31T14:00:00.000Z',
    secret_label: 'main',
    size_bytes: raw.length,
    count: 2,
    preview: '\ufffd\\u001b[31m{"id": \\u202e',
  }
  expect(await get(stage, '/quarantine')).toEqual({ data: [listed], next_cursor: null })
  expect(await get(stage, `/quarantine/${id}`)).toEqual({ ...listed, raw_base64: raw.toString('base64') })
  await get(stage, '/quarantine/sha256:00', 404)
})

test('readiness follows the store and the shutdown', async () => {
  await using stage = await startAdmin()
  const probe = async (path: string) => {
    const reply = await stage.send(path, { headers: { Connection: 'keep-alive' } })
    return [reply.status, reply.json, reply.headers.connection, reply.headers['retry-after']]
  }
  const failure = (code: string) => ({ error: { code, message: expect.any(String) } })
  expect(await probe('/readyz')).toEqual([200, { status: 'ready' }, 'keep-alive', undefined])
  stage.state.healthy = false
  expect(await probe('/readyz')).toEqual([503, failure('store_unavailable'), 'keep-alive', '5'])
  stage.state.stopping = true
  expect(await probe('/readyz')).toEqual([503, failure('shutting_down'), 'close', '5'])
  expect(await probe('/healthz')).toEqual([200, { status: 'alive' }, 'close', undefined])
})

test('internal errors are answered without details', async () => {
  await using stage = await startAdmin()
  const secret = 'SELECT secret FROM inbox.db'
  for (const failure of [new Error(secret), new InboxError('not_durable', secret)]) {
    stage.inbox.event = () => Promise.reject(failure)
    const reply = await stage.call('GET', '/events/a')
    expect([reply.status, codeOf(reply)]).toEqual([500, 'internal'])
    expect(reply.text).not.toMatch(/SELECT|inbox\.db|\.ts/)
  }
  await stage.inbox.close()
  const closed = await stage.call('GET', '/events')
  expect([closed.status, codeOf(closed), closed.headers['retry-after']]).toEqual([503, 'shutting_down', '5'])
})

test('an export streams every event of a filter with its whole body, newest first', async () => {
  await using stage = await startAdmin()
  const large = 'x'.repeat(50_000)
  const bodyOf = (id: string, data: string) => Buffer.from(`{"id":"${id}","data":${data}}`)
  await stage.inbox.accept([
    { ...arrivalOf('a'), raw: bodyOf('a', `{"wei":340282366920938463463374607431768211455}`) },
    { ...arrivalOf('b', 'token.price_alert'), raw: bodyOf('b', '{}') },
    { ...arrivalOf('c'), raw: bodyOf('c', `{"text":"${large}"}`) },
  ])
  const ndjson = await stage.call('GET', '/export?format=ndjson&type=wallet.large_trade')
  expect(ndjson.headers['content-type']).toBe('application/x-ndjson')
  const lines = ndjson.text.trimEnd().split('\n')
  expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(['c', 'a'])
  expect(lines[0]).toContain(large)
  expect(lines[1]).toContain('"wei":340282366920938463463374607431768211455')
  const csv = await stage.call('GET', '/export?format=csv')
  expect(csv.headers['content-disposition']).toBe('attachment; filename="events.csv"')
  const rows = csv.text.trimEnd().split('\r\n')
  expect(rows[0]).toBe('seq,received_at,created_at,id,type,network,address,status,body')
  expect(rows).toHaveLength(4)
})

test('figures and charts count on-chain events, not notifications of the inbox', async () => {
  await using stage = await startAdmin()
  const receivedAt = stage.clock.now()
  await stage.inbox.accept([
    { ...arrivalOf('a'), receivedAt },
    { ...arrivalOf('b', 'inbox.warning'), receivedAt, secretLabel: internalLabel },
  ])
  const { by_type: types, buckets } = await get(stage, '/activity')
  expect(types.map(({ type }: { type: string }) => type)).toEqual(['wallet.large_trade'])
  expect(buckets.reduce((sum: number, { events }: { events: number }) => sum + events, 0)).toBe(1)
  expect(await get(stage, '/overview')).toMatchObject({ events: 1, events_per_minute: expect.closeTo(0.25, 1) })
  await stage.clock.advance(300_000)
  expect(await get(stage, '/overview')).toMatchObject({ events: 1, events_per_minute: 0 })
})

test('no cell of an export begins as a formula, and each can be read back', () => {
  expect(toCsvRow([1, null, 'x,y', 'say "no"', 'two\nlines', -1])).toBe('1,,"x,y","say ""no""","two\nlines",-1\r\n')
  for (const cell of ['=1+1', '+1', '-1', '@a', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠a'])
    expect(toCsvRow([cell]), cell).toMatch(/^"?'/)
})
