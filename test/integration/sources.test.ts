import express from 'express'
import { createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { HealthJson } from '../../src/admin/health.ts'
import { createInbox, defineHandler } from '../../src/index.ts'
import { loadSources } from '../../src/config/sources.ts'
import { createSignedRequest } from '../../src/app/testing/index.ts'
import { createInflater } from '../../src/receiver/inflate.ts'
import { providerNames, providers } from '../../src/sources/providers/index.ts'
import { vectors } from '../support/source-vectors.ts'
import type { ProviderName } from '../../schema/index.ts'
import { createSourceReader } from '../../src/receiver/readers.ts'
import { findSourceProblems } from '../../src/dispatch/handler-locations.ts'
import { resolveSources } from '../../src/sources/settings.ts'
import { signSource } from '../../src/sources/sign.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { rawRequest } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

const secrets = {
  alchemy: 'whsec_of_alchemy',
  payments: `whsec_${btoa('secret-of-payments')}`,
  desk: 'secret-of-the-desk',
}
const verify = {
  scheme: 'hmac-sha256',
  header: 'x-signature',
  signed: '{timestamp}.{body}',
  timestamp: { header: 'x-timestamp', unit: 's', toleranceSeconds: 300 },
} as const
const sources = {
  alchemy: { provider: 'alchemy', path: '/hooks/alchemy', secrets: secrets.alchemy },
  payments: { provider: 'standard-webhooks', path: '/hooks/payments', secrets: secrets.payments },
  desk: {
    path: '/hooks/desk',
    secrets: { env: 'DESK_SECRET' },
    verify,
    id: 'body.id',
    type: 'body.event',
    createdAt: 'body.time',
    key: ['body.network', 'body.address'],
  },
  streams: { provider: 'quicknode', path: '/hooks/streams', secrets: secrets.desk },
  alerts: { provider: 'tenderly', path: '/hooks/alerts', secrets: secrets.desk },
  nodes: { provider: 'helius', path: '/hooks/nodes', secrets: secrets.desk },
}
type Name = keyof typeof sources

const settings = {
  INBOX_SOURCES: JSON.stringify(sources),
  DESK_SECRET: secrets.desk,
  INBOX_STORED_HEADERS: 'user-agent, authorization',
} as never

const resolved = resolveSources(sources, []).sources

/** The request of a source's sender. */
function signedBy(name: Name, body: string | Buffer, headers: Record<string, string> = {}) {
  const source = resolved.find((each) => each.name === name)
  const [verification] = source?.verify ?? []
  if (source === undefined || verification === undefined) throw new Error(`no source ${name}`)
  const text = name in secrets ? secrets[name as keyof typeof secrets] : secrets.desk
  const key = createSecretKey(
    verification.secretEncoding === 'base64' ? Buffer.from(text.slice(6), 'base64') : Buffer.from(text),
  )
  const raw = Buffer.from(body)
  return {
    target: source.path,
    headers: { ...headers, ...signSource(verification, { raw, key, now: Date.now(), headers }) },
    body: raw,
  }
}

/** Posts again while a busy machine sheds load. */
async function post(app: TestApp, parts: Parameters<typeof rawRequest>[1]) {
  for (;;) {
    const { status, body, headers } = await rawRequest(app.port, parts)
    if (status !== 503) return { status, text: body.toString(), headers }
  }
}

const bodies = {
  alchemy: JSON.stringify({ id: 'same', type: 'ADDRESS_ACTIVITY', createdAt: '2026-01-31T14:03:22.5Z', event: {} }),
  payments: JSON.stringify({ type: 'payment.done', timestamp: '2026-01-31T14:03:22Z', data: { id: 'pay_1' } }),
  desk: JSON.stringify({ id: 'same', event: 'fill', time: 1_769_868_202, network: 'base', address: '0xAb' }),
}
const signed = {
  alchemy: () => signedBy('alchemy', bodies.alchemy),
  payments: () => signedBy('payments', bodies.payments, { 'webhook-id': 'same' }),
  desk: () => signedBy('desk', bodies.desk),
}

describe('a source', () => {
  test('has its own path, signature, ids, types and keys', async () => {
    await using app = await startTestApp({ settings })
    for (const result of ['accepted', 'duplicate']) {
      expect(await post(app, { ...delivery(eventBytes({ id: 'same' })) })).toMatchObject({
        status: 200,
        text: `{"status":"${result}","id":"same"}`,
      })
      for (const name of ['alchemy', 'payments', 'desk'] as const) {
        expect(await post(app, signed[name]())).toMatchObject({
          status: 200,
          text: `{"status":"${result}","id":"${name}/same"}`,
        })
      }
    }
    expect(await app.inbox.event('alchemy/same')).toMatchObject({
      type: 'ADDRESS_ACTIVITY',
      createdAt: '2026-01-31T14:03:22.500Z',
      key: 'alchemy/same',
      secretLabel: 'alchemy/secret-1',
      duplicates: 1,
    })
    expect(await app.inbox.event('desk/same')).toMatchObject({ type: 'fill', key: ':desk:base 0xAb', network: null })
    expect(await app.inbox.event('same')).toMatchObject({ type: 'wallet.large_trade', secretLabel: 'main' })
    const authorization = `Bearer ${app.adminToken}`
    const shown = await fetch(`${app.adminUrl}/api/v1/events/${encodeURIComponent('desk/same')}`, {
      headers: { authorization },
    })
    expect(await shown.json()).toMatchObject({
      id: 'desk/same',
      type: 'fill',
      receipt: { secret_label: 'desk/secret-1' },
    })
  })

  test('of every provider stores authentic deliveries, and answers 401 to others', async () => {
    const isFetched = (name: ProviderName) => providers[name].keyEndpoint !== null
    const settingsOf = (provider: ProviderName) => ({
      provider,
      path: `/hooks/${provider}`,
      ...(isFetched(provider) ? { keys: { apiKey: 'key-of-the-api' } } : { secrets: secrets.payments }),
    })
    const all = Object.fromEntries(providerNames.map((name) => [name, settingsOf(name)]))
    await using app = await startTestApp({ settings: { INBOX_SOURCES: JSON.stringify(all) } })
    const deliveryOf = async (name: ProviderName) => {
      if (!isFetched(name)) return createSignedRequest({ source: settingsOf(name) })
      const vector = vectors.find(({ provider, identity }) => provider === name && identity !== undefined)!
      // Stored keys need no network.
      const keys = Object.entries(vector.keys ?? {}).map(([id, spki]) => ({ id, spki }))
      await app.inbox.storeSourceKeys(`${name} ${providers[name].keyEndpoint?.url}`, keys)
      return vector
    }
    const [{ headers: ofGithub }, { headers: ofAlchemy }] = [await deliveryOf('github'), await deliveryOf('alchemy')]
    for (const [index, name] of providerNames.entries()) {
      const target = `/hooks/${name}`
      const { headers, body } = await deliveryOf(name)
      for (const others of [{}, name === 'github' ? ofAlchemy : ofGithub])
        expect(await post(app, { target, headers: others, body: Buffer.from(body) })).toMatchObject({ status: 401 })
      expect(await app.inbox.stats()).toMatchObject({ lastSeq: index, quarantined: 0 })
      expect(await post(app, { target, headers, body: Buffer.from(body) }), name).toMatchObject({ status: 200 })
    }
    expect(await app.inbox.stats()).toMatchObject({ lastSeq: providerNames.length })
  })

  test('stores no header with a secret', async () => {
    await using app = await startTestApp({ settings })
    const parts = signedBy('nodes', '[{"signature":"5h","type":"SWAP"}]', { 'user-agent': 'Helius' })
    expect(await post(app, parts)).toMatchObject({ status: 200 })
    expect(await app.inbox.event('nodes/5h')).toMatchObject({ headers: '{"user-agent":"Helius"}', type: 'SWAP' })
    // Sent to a wrong path.
    const { headers } = delivery(eventBytes({ id: 'a' }))
    await post(app, { ...delivery(eventBytes({ id: 'a' })), headers: { ...headers, authorization: secrets.desk } })
    expect((await app.inbox.event('a'))?.headers).toBeNull()
  })

  test('answers the tests of its sender without the store', async () => {
    await using app = await startTestApp({ settings })
    for (const method of ['GET', 'HEAD']) {
      expect(await post(app, { method, target: '/hooks/alerts' })).toMatchObject({ status: 200, text: '' })
    }
    const answer = await post(app, { method: 'PUT', target: '/hooks/alerts' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, ['GET, HEAD, POST']])
    const other = await post(app, { method: 'GET', target: '/hooks/desk' })
    expect([other.status, other.headers.get('allow')]).toEqual([405, ['POST']])
    const body = '{"event_type":"TEST","id":"1"}'
    expect(await post(app, signedBy('alerts', body))).toMatchObject({ status: 200, text: '{"status":"test"}' })
    expect(await app.inbox.stats()).toMatchObject({ lastSeq: 0 })
  })

  test('takes gzip only if its sender signs inflated bytes, up to the size limit', async () => {
    await using app = await startTestApp({ settings: { ...(settings as object), INBOX_BODY_LIMIT: '10kb' } as never })
    const gzipped = (name: Name, raw: string) => {
      const { headers, target } = signedBy(name, raw)
      return { target, headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(raw) }
    }
    const raw = JSON.stringify({ data: 'x'.repeat(5_000) })
    expect(await post(app, gzipped('streams', raw))).toMatchObject({ status: 200 })
    const { data } = await app.inbox.events({ limit: 1 })
    expect((await app.inbox.event(data[0]?.id ?? ''))?.raw.toString()).toBe(raw)
    expect(await post(app, gzipped('streams', 'x'.repeat(20_000)))).toMatchObject({ status: 413 })
    const damaged = { ...gzipped('streams', raw), body: Buffer.from([0x1f, 0x8b, 1, 2]) }
    expect(await post(app, damaged)).toMatchObject({ status: 400 })
    expect(await post(app, gzipped('desk', raw))).toMatchObject({ status: 415 })
    // Without a signature it isn't inflated.
    const unsigned = { ...gzipped('streams', 'x'.repeat(20_000)), headers: { 'content-encoding': 'gzip' } }
    expect(await post(app, unsigned)).toMatchObject({ status: 401 })
  })

  test('few gzipped bodies wait to be inflated', async () => {
    const inflate = createInflater(32 * 1024 * 1024)
    const inflateOne = () => inflate(gzipSync('{}'), { 'content-encoding': 'gzip' })
    const results = await Promise.all([inflateOne(), inflateOne(), inflateOne()])
    expect(results.map(String)).toEqual(['{}', '{}', 'overloaded'])
    expect(String(await inflateOne())).toBe('{}')
  })

  test('quarantines all bodies of one signature as one, where bytes can move between body and timestamp', async () => {
    await using app = await startTestApp({ settings })
    const { target, headers } = signedBy('streams', '7')
    const time = headers['x-qn-timestamp'] ?? ''
    for (const at of [time.length, time.length - 1, time.length - 2]) {
      const moved = { ...headers, 'x-qn-timestamp': time.slice(0, at) }
      expect(await post(app, { target, headers: moved, body: Buffer.from(`${time.slice(at)}7`) })).toMatchObject({
        status: 200,
      })
    }
    const { data } = await app.inbox.quarantine({ limit: 9 })
    expect(data.map(({ reason, count }) => [reason, count])).toEqual([['not_an_object', 3]])
    expect(await app.inbox.stats()).toMatchObject({ lastSeq: 0 })
  })

  test('owns its ids, also in quarantine: the default source cannot use them', async () => {
    await using app = await startTestApp({ settings })
    expect((await post(app, delivery(eventBytes({ id: 'desk/same' })))).text).toContain('quarantined')
    expect((await post(app, delivery(eventBytes({ id: 'other/same' })))).text).toContain('accepted')
    expect((await post(app, signedBy('desk', '{'))).text).toContain('"quarantined","id":"desk/sha256:')
    const { data } = await app.inbox.quarantine({ limit: 9 })
    expect(data.map(({ reason }) => reason)).toEqual(['not_json', 'bad_id'])
  })

  test('has its own health and metrics', async () => {
    await using app = await startTestApp({ settings })
    await post(app, signed.desk())
    await post(app, { ...signed.desk(), headers: signed.alchemy().headers })
    await post(app, signed.payments())
    const get = async (path: string) =>
      fetch(`${app.adminUrl}${path}`, { headers: { authorization: `Bearer ${app.adminToken}` } })
    const { sources: shown } = (await (await get('/api/v1/health')).json()) as HealthJson
    expect(shown.map(({ source }) => source)).toEqual(['default', ...Object.keys(sources)])
    expect(shown.find(({ source }) => source === 'desk')).toMatchObject({
      sender: { acknowledged: 1, budget_ms: null },
      retries: expect.stringContaining('not documented'),
    })
    expect(shown.find(({ source }) => source === 'nodes')).toMatchObject({
      sender: { deliveries: 0, budget_ms: 1_000 },
      retries: 'The sender retries a failed delivery 3 times within 3 s, then drops the event.',
    })
    const metrics = await (await get('/metrics')).text()
    expect(metrics).toContain('inbox_deliveries_total{source="desk",result="acknowledged"} 1')
    expect(metrics).toContain('inbox_rejects_total{source="desk",reason="missing"} 1')
    expect(metrics).toContain('inbox_events_total{source="payments",type="unknown",outcome="accepted"} 1')
    expect(metrics).toContain('inbox_ack_duration_seconds_count{source="default"} 0')
  })

  test('counts signatures with a time, and old ones', async () => {
    const source = resolved.find(({ name }) => name === 'desk')
    const secret = { label: 'main', key: createSecretKey(Buffer.from(secrets.desk)) }
    const observed: boolean[] = []
    let now = Date.now()
    const read = createSourceReader(
      { ...source!, secrets: () => [secret], keys: null },
      { clock: { now: () => now }, observer: { signed: (isOld) => observed.push(isOld) } },
    )
    const { headers, body } = signed.desk()
    const rawHeaders = Object.entries(headers).flat()
    for (const passedMs of [0, 600_000]) {
      now += passedMs
      await read({ raw: body, headers, rawHeaders }, () => ({ headers: null, trace: null }))
    }
    await read({ raw: Buffer.from('{}'), headers, rawHeaders }, () => ({ headers: null, trace: null }))
    expect(observed).toEqual([false, true])
  })

  test('reads the API key for public keys again at each request', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'key')
    await writeFile(file, 'first-key')
    const circle = { provider: 'circle', path: '/hooks/circle', keys: { apiKey: { file } } }
    const { sources: loaded } = await loadSources({
      sources: { circle },
      takenPaths: [],
      env: {},
      at: (path) => path,
    })
    expect(await loaded[0]?.apiKey?.()).toBe('first-key')
    await writeFile(file, 'second-key')
    expect(await loaded[0]?.apiKey?.()).toBe('second-key')
  })

  test('takes a new secret from its file without a restart', async () => {
    await using dir = await createTempDir()
    const file = join(dir.path, 'secret')
    await writeFile(file, 'the-previous-secret')
    const desk = { ...sources.desk, secrets: { file } }
    await using app = await startTestApp({ settings: { INBOX_SOURCES: JSON.stringify({ desk }) } })
    expect(await post(app, signed.desk())).toMatchObject({ status: 401 })
    await writeFile(file, secrets.desk)
    await app.reloadSecrets()
    expect(await post(app, signed.desk())).toMatchObject({ status: 200 })
  })

  test('needs no default source, whose path is then 404', async () => {
    const { desk } = sources
    const only = { INBOX_SOURCES: JSON.stringify({ desk }), DESK_SECRET: secrets.desk, INBOX_SECRETS: '' } as never
    await using app = await startTestApp({ settings: only })
    expect(await post(app, delivery(eventBytes({ id: 'a' })))).toMatchObject({ status: 404 })
    expect(await post(app, signed.desk())).toMatchObject({ status: 200 })
    const health = await fetch(`${app.adminUrl}/api/v1/health`, {
      headers: { authorization: `Bearer ${app.adminToken}` },
    })
    expect(((await health.json()) as HealthJson).sources.map(({ source }) => source)).toEqual(['desk'])
  })
})

describe('handlers and sinks', () => {
  const linesOf = async (file: string) => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean)
  const handler = (name: string, options: string) => `
    import { appendFileSync } from 'node:fs'
    export default {
      ${options}
      run({ id, source, uid, type, createdAt, data }) {
        appendFileSync('${name}', JSON.stringify({ id, source, uid, type, createdAt, data }) + '\\n')
      },
    }`

  test('get the events of their sources, by default of the default source', async () => {
    await using dir = await createTempDir()
    const at = (name: string) => join(dir.path, `${name}.ndjson`)
    const sinks = {
      archive: { kind: 'file', path: at('archive'), types: '*' },
      fills: { kind: 'file', path: at('fills'), types: 'fill', source: 'desk' },
      all: { kind: 'file', path: at('all'), types: '*', source: '*' },
    }
    const routes = [{ types: 'payment.done', source: 'payments', where: { 'data.data.id': 'pay_1' }, to: 'fills' }]
    await using app = await startTestApp({
      dir: dir.path,
      settings: {
        ...(settings as object),
        INBOX_SINKS: JSON.stringify(sinks),
        INBOX_ROUTES: JSON.stringify(routes),
      } as never,
      handlers: {
        'default.mjs': handler(at('default'), "type: '*',"),
        'desk.mjs': handler(at('desk'), "type: '*', source: 'desk',"),
        'activity.mjs': handler(at('activity'), "type: 'ADDRESS_ACTIVITY', source: 'alchemy', provider: 'alchemy',"),
        'every.mjs': handler(at('every'), "type: '*', source: '*',"),
      },
    })
    await post(app, delivery(eventBytes({ id: 'same' })))
    for (const name of ['alchemy', 'payments', 'desk'] as const) {
      await post(app, signed[name]())
      await post(app, signed[name]())
    }
    await until(
      async () => (await linesOf(at('every'))).length === 4 && (await linesOf(at('all'))).length === 4,
      'all runs',
    )
    await until(async () => (await app.inbox.stats()).oldestOpenAt === null, 'every run has ended')
    const eventsOf = async (name: string) =>
      (await linesOf(at(name))).map((line) => JSON.parse(line) as { uid: string })
    expect(await eventsOf('desk')).toEqual([
      {
        id: 'same',
        source: 'desk',
        uid: 'desk/same',
        type: 'fill',
        createdAt: '2026-01-31T14:03:22.000Z',
        data: JSON.parse(bodies.desk),
      },
    ])
    expect((await eventsOf('default')).map(({ uid }) => uid)).toEqual(['same'])
    expect((await eventsOf('activity')).map(({ uid }) => uid)).toEqual(['alchemy/same'])
    expect((await eventsOf('every')).map(({ uid }) => uid).toSorted()).toEqual([
      'alchemy/same',
      'desk/same',
      'payments/same',
      'same',
    ])
    expect(await linesOf(at('archive'))).toEqual([eventBytes({ id: 'same' }).toString()])
    expect((await linesOf(at('fills'))).toSorted()).toEqual([bodies.desk, bodies.payments].toSorted())
  })

  test('with an unknown source stop the start', async () => {
    const handlers = { 'wrong.mjs': `export default { type: '*', source: 'dsk', run() {} }` }
    await expect(startTestApp({ settings, handlers })).rejects.toThrow('source must be one of default, *, alchemy')
  })

  test.each([
    [{ sources: ['dsk'] }, 'source must be one of default, *, desk (got "dsk") (did you mean desk?)'],
    [{ sources: ['desk'], provider: 'alchemy' }, 'provider must be that of the source desk: none (got "alchemy")'],
    [{ provider: 'alchemy' }, 'provider must be that of the source default: none (got "alchemy")'],
  ])('%j is a problem', (handler, problem) => {
    const known = [{ name: 'desk', provider: null }]
    expect(findSourceProblems([{ file: 'a.ts', ...handler }], known)).toEqual([`a.ts: ${problem}`])
  })
})

describe('the library', () => {
  test('takes sources by router and by bytes', async () => {
    const seen: string[] = []
    const collect = defineHandler({ name: 'collect', type: '*', source: '*', run: ({ uid }) => void seen.push(uid) })
    const desk = { ...sources.desk, secrets: secrets.desk }
    await using inbox = createInbox({
      sources: { desk, alerts: sources.alerts, alchemy: sources.alchemy },
      handlers: [collect],
      database: 'memory:',
      log: false,
    })
    await inbox.start()
    const app = express()
    app.use('/webhooks', inbox.router)
    app.use('/default', inbox.router())
    app.use('/hooks/desk', inbox.router('desk'))
    app.use('/hooks/alerts', inbox.router('alerts'))
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const to = async (parts: Parameters<typeof rawRequest>[1]) => (await rawRequest(port, parts)).status
    expect(await to(signed.desk())).toBe(200)
    expect(await to({ ...signed.desk(), headers: {} })).toBe(401)
    expect(await to({ method: 'HEAD', target: '/hooks/alerts' })).toBe(200)
    expect(await to(delivery(eventBytes({ id: 'a' })))).toBe(404)
    expect(await to({ ...delivery(eventBytes({ id: 'a' })), target: '/default' })).toBe(404)
    server.close()

    const { headers, body } = signed.alchemy()
    expect(await inbox.receive({ source: 'alchemy', headers, body })).toMatchObject({ status: 200 })
    expect(await inbox.receive({ source: 'alchemy', headers: {}, body })).toMatchObject({ status: 401 })
    const repeated = { 'x-alchemy-signature': [headers['x-alchemy-signature'] ?? '', 'again'] }
    expect(await inbox.receive({ source: 'alchemy', headers: repeated, body })).toMatchObject({ status: 401 })
    expect(await inbox.receive({ source: 'other', headers, body })).toMatchObject({ status: 404 })
    expect(await inbox.receive({ source: 'alerts', method: 'GET', headers: {}, body: null })).toMatchObject({
      status: 200,
    })
    await until(() => seen.length === 2, 'both events are handled')
    expect(seen).toEqual(['desk/same', 'alchemy/same'])
    expect(() => inbox.router('dsk')).toThrow('the source of a router must be one of default, desk, alerts, alchemy')
  })

  test('needs secrets or sources, and known sources of handlers', () => {
    const handlers = [{ name: 'a', type: '*', source: 'dsk', run() {} }]
    expect(() => createInbox({ handlers: [] })).toThrow('neither secrets nor secretsFile is set')
    expect(() => createInbox({ handlers: [], sources: {} })).toThrow('neither secrets nor secretsFile is set')
    expect(() => createInbox({ handlers, sources: { alerts: sources.alerts } })).toThrow(
      'handlers[0]: source must be one of',
    )
    expect(() => createInbox({ handlers: [], sources: { alerts: { path: '/a' } } })).toThrow(
      'sources.alerts must have a provider or verify',
    )
  })
})
