import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import sqlKind from '../../handlers/sinks/sql.ts'
import { eventTypes } from '../../schema/index.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { ask, createSharedDatabase } from '../support/postgres.ts'
import { anItem, underTest } from '../support/sink-items.ts'

let database: string
let schemas = 0

beforeAll(async () => {
  database = await createSharedDatabase()
}, 60_000)

/** URL of an empty schema, which is faster to create than a database. */
async function anEmptyPlace(): Promise<string> {
  await ask(database, `CREATE SCHEMA s${++schemas}`)
  return `${database}?options=${encodeURIComponent(`-c search_path=s${schemas}`)}`
}

function aSqlSink(url: string, more: Record<string, unknown> = {}) {
  return underTest(
    sqlKind.create({ name: 'warehouse', options: sqlKind.options.parse({ url, ...more }) }, { baseDir: '/' }),
  )
}

const trade = (id: string, amount: string, rest = '') =>
  anItem(
    Buffer.from(
      `{"id":${JSON.stringify(id)},"type":"wallet.large_trade","created_at":"2026-01-31T14:03:22.123456Z","data":` +
        `{"wallet_address":"0xW","network":"base","trade_type":"buy","token_address":"0xT","token_symbol":"T","amount_usd":${amount},"tx_hash":"0xH"${rest}}}`,
    ),
    { key: 'base:0xw' },
  )

describe('the sink `sql` on Postgres', () => {
  test('R93–R102 each documented type has a table with a column per field', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url)
    const items = eventTypes.map((type) => anItem({ id: `evt_${type}`, type, data: { ...eventSamples[type].data } }))
    await sink.send(items)
    for (const type of eventTypes) {
      const [row] = await ask(url, `SELECT * FROM onchain_${type.replaceAll('.', '_')}`)
      const { network = 'solana', ...fields } = eventSamples[type].data as Record<string, unknown>
      expect(row).toMatchObject({ event_id: `evt_${type}`, event_type: type, network, key: 'ethereum:0x1' })
      for (const [name, value] of Object.entries(fields)) {
        expect(typeof value === 'number' ? Number(row![name]) : row![name], name).toEqual(value)
      }
    }
  })

  test('numbers keep every digit, times their microseconds, and bytes are exact', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url)
    const numbers = ['123456789012345678901234567890.123456789012345678901', '1e-18', '1.50', '-0.0', '5E3']
    const items = numbers.map((number, at) => trade(`evt_${at}`, number))
    await sink.send(items)
    const rows = await ask(url, 'SELECT amount_usd::text, created_at, raw FROM onchain_wallet_large_trade ORDER BY seq')
    expect(rows.map(({ amount_usd }) => amount_usd)).toEqual([
      numbers[0],
      '0.000000000000000001',
      '1.50',
      '0.0',
      '5000',
    ])
    expect(rows.map(({ raw }) => Buffer.from(raw as Buffer).toString())).toEqual(
      items.map(({ event }) => Buffer.from(event.raw).toString()),
    )
    const [exact] = await ask(
      url,
      `SELECT count(*)::int AS n FROM onchain_wallet_large_trade WHERE created_at = '2026-01-31T14:03:22.123456Z'`,
    )
    expect(exact).toEqual({ n: 5 })
  })

  test('a repeated event has one row', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url)
    await sink.send([trade('evt_1', '1'), trade('evt_1', '1'), trade('evt_2', '2')])
    await Promise.all([1, 2, 3].map(() => sink.send([trade('evt_2', '2'), trade('evt_1', '1')])))
    expect(await ask(url, 'SELECT event_id, amount_usd FROM onchain_wallet_large_trade ORDER BY seq')).toEqual([
      { event_id: 'evt_1', amount_usd: '1' },
      { event_id: 'evt_2', amount_usd: '2' },
    ])
  })

  test('an event with values out of range is stored as bytes, and others fully', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url)
    const other = (id: string, data: string) =>
      anItem(Buffer.from(`{"id":"${id}","type":"new.type","created_at":"2026-01-31T14:03:22Z","data":{"a":${data}}}`))
    const items = [
      trade('evt_good', '1'),
      trade('evt_huge', '1e200000'),
      trade('evt_nul\0', '2', ',"x":"\\u0000"'),
      anItem({ id: 'evt_symbol', data: { token_symbol: 'a\0b' } }),
      other('evt_nul', '"\\u0000"'),
      other('evt_lone', '"\\ud800"'),
      anItem(
        Buffer.from(
          '{"id":"evt_year","type":"wallet.large_trade","created_at":"0000-01-01T00:00:00Z","data":{"amount_usd":3}}',
        ),
      ),
    ]
    await sink.send(items)
    expect(
      await ask(url, 'SELECT event_id, amount_usd, token_symbol FROM onchain_wallet_large_trade ORDER BY event_id'),
    ).toEqual([
      { event_id: 'evt_good', amount_usd: '1', token_symbol: 'T' },
      { event_id: 'evt_huge', amount_usd: null, token_symbol: null },
      { event_id: 'evt_nul\uFFFD', amount_usd: '2', token_symbol: 'T' },
      { event_id: 'evt_symbol', amount_usd: null, token_symbol: 'a\uFFFDb' },
      { event_id: 'evt_year', amount_usd: null, token_symbol: null },
    ])
    const others = await ask(url, 'SELECT event_id, body, raw FROM onchain_other ORDER BY event_id')
    expect(others).toMatchObject([
      { event_id: 'evt_lone', body: null },
      { event_id: 'evt_nul', body: null },
    ])
    expect(others.map(({ raw }) => (raw as Buffer).length)).toEqual([
      items[5]!.event.raw.length,
      items[4]!.event.raw.length,
    ])
  })

  test('adds missing columns, which a replay fills, and needs CREATE only then', async () => {
    const url = await anEmptyPlace()
    await using old = aSqlSink(url)
    await old.send([trade('evt_1', '1')])
    await ask(url, 'ALTER TABLE onchain_wallet_large_trade DROP COLUMN amount_usd')
    await using upgraded = aSqlSink(url)
    await upgraded.send([trade('evt_1', '1.5')])
    expect(await ask(url, 'SELECT amount_usd FROM onchain_wallet_large_trade')).toEqual([{ amount_usd: '1.5' }])

    await ask(url, `CREATE ROLE writer LOGIN PASSWORD 'w'`)
    await ask(url, `GRANT USAGE ON SCHEMA s${schemas} TO writer`)
    await ask(url, `GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA s${schemas} TO writer`)
    await using lowly = aSqlSink(url.replace('tester:of-the-test', 'writer:w'))
    await lowly.send([trade('evt_2', '2')])
    expect(await ask(url, 'SELECT count(*)::int AS n FROM onchain_wallet_large_trade')).toEqual([{ n: 2 }])
  })

  test('many replicas can start at once on an empty database', async () => {
    const url = await anEmptyPlace()
    const sinks = Array.from({ length: 6 }, () => aSqlSink(url))
    await Promise.all(sinks.map((sink, at) => sink.send([trade(`evt_${at}`, '1')])))
    await Promise.all(sinks.map((sink) => sink[Symbol.asyncDispose]()))
    expect(await ask(url, 'SELECT count(*)::int AS n FROM onchain_wallet_large_trade')).toEqual([{ n: 6 }])
  })

  test('a batch is atomic', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url)
    await sink.send([trade('evt_0', '0')])
    await ask(url, `ALTER TABLE onchain_other ADD CONSTRAINT nothing CHECK (event_id <> 'evt_2')`)
    const batch = [trade('evt_1', '1'), anItem({ id: 'evt_2', type: 'new.type' })]
    await expect(sink.send(batch)).rejects.toThrow('nothing')
    expect(await ask(url, 'SELECT event_id FROM onchain_wallet_large_trade')).toEqual([{ event_id: 'evt_0' }])
    await ask(url, 'ALTER TABLE onchain_other DROP CONSTRAINT nothing')
    await sink.send(batch)
    expect(await ask(url, 'SELECT count(*)::int AS n FROM onchain_wallet_large_trade')).toEqual([{ n: 2 }])
  })

  test('survives the loss of its connections, and ends slow statements', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url, { statementTimeoutMs: 200 })
    await sink.send([trade('evt_1', '1')])
    await ask(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
    await sink.send([trade('evt_2', '2')]).catch(() => {})
    await sink.send([trade('evt_2', '2')])

    await ask(
      url,
      `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'`,
    )
    await ask(
      url,
      'CREATE TRIGGER slow BEFORE INSERT ON onchain_wallet_large_trade FOR EACH ROW EXECUTE FUNCTION slow()',
    )
    await expect(sink.send([trade('evt_3', '3')])).rejects.toThrow('statement timeout')
    await ask(url, 'DROP TRIGGER slow ON onchain_wallet_large_trade')
    await sink.send([trade('evt_3', '3')])
    expect(await ask(url, 'SELECT count(*)::int AS n FROM onchain_wallet_large_trade')).toEqual([{ n: 3 }])
  })

  test('the view of docs/sinks.md returns the last price of each token', async () => {
    const url = await anEmptyPlace()
    await using sink = aSqlSink(url)
    const price = (id: string, created: string, price: string, token: string) =>
      anItem(
        Buffer.from(
          `{"id":"${id}","type":"token.price_alert","created_at":"${created}","data":{"network":"base","token_address":"${token}","current_price_usd":${price}}}`,
        ),
      )
    await sink.send([
      price('evt_2', '2026-01-31T15:00:00Z', '2.50', '0xA'),
      price('evt_1', '2026-01-31T14:00:00Z', '1.50', '0xA'),
      price('evt_3', '2026-01-31T13:00:00Z', '9', '0xB'),
    ])
    const doc = await readFile(new URL('../../docs/sinks.md', import.meta.url), 'utf8')
    const [, view] = /```sql\n(CREATE VIEW latest_price[^`]+)```/.exec(doc) ?? []
    await ask(url, view!)
    expect(await ask(url, 'SELECT token_address, current_price_usd FROM latest_price ORDER BY token_address')).toEqual([
      { token_address: '0xA', current_price_usd: '2.50' },
      { token_address: '0xB', current_price_usd: '9' },
    ])
  })
})
