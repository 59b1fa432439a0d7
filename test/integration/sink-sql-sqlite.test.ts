import Sqlite from 'better-sqlite3'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import sqlKind from '../../handlers/sinks/sql.ts'
import { anItem, aSinkContext, underTest } from '../support/sink-items.ts'
import { rowsOf } from '../support/sqlite-files.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'

function aSqlSink(dir: TempDir, more: Record<string, unknown> = {}) {
  const options = sqlKind.options.parse({ url: 'sqlite:sub/events.db', ...more })
  return underTest(sqlKind.create({ name: 'warehouse', options }, { baseDir: dir.path }))
}

const ask = (dir: TempDir, sql: string) => rowsOf<Record<string, unknown>>(join(dir.path, 'sub/events.db'), sql)

const trade = (id: string, amount: string, created = '2026-01-31T14:03:22Z') =>
  anItem(
    Buffer.from(
      `{"id":${JSON.stringify(id)},"type":"wallet.large_trade","created_at":"${created}","data":{"network":"base","amount_usd":${amount}}}`,
    ),
  )

describe('the sink `sql` on SQLite', () => {
  test('stores numbers as REAL and exact text, sortable times and exact bytes', async () => {
    await using dir = await createTempDir()
    await using sink = aSqlSink(dir)
    const items = [
      trade('evt_3', '123456789012345678901.10', '2026-01-31t14:03:23.000000001z'),
      trade('evt_2', '1e-18', '2026-01-31T14:03:22.5+00:00'),
      trade('evt_1', '1.50'),
    ]
    await sink.send(items)
    const rows = ask(dir, 'SELECT * FROM onchain_wallet_large_trade ORDER BY created_at')
    expect(rows).toMatchObject([
      { event_id: 'evt_1', amount_usd: 1.5, amount_usd_exact: '1.50', created_at: '2026-01-31T14:03:22.000000000Z' },
      { event_id: 'evt_2', amount_usd: 1e-18, amount_usd_exact: '1e-18', created_at: '2026-01-31T14:03:22.500000000Z' },
      {
        event_id: 'evt_3',
        amount_usd: 123456789012345680000,
        amount_usd_exact: '123456789012345678901.10',
        created_at: '2026-01-31T14:03:23.000000001Z',
      },
    ])
    expect((rows[2]!.raw as Buffer).equals(items[0]!.event.raw)).toBe(true)
  })

  test('a repeated event has one row; undocumented types go to `other`, payloads to `items`', async () => {
    await using dir = await createTempDir()
    await using sink = aSqlSink(dir)
    const items = [
      trade('evt_1', '1'),
      trade('evt_1', '1'),
      anItem({ id: 'evt_2', type: 'new.type' }),
      anItem({ id: 'evt_2', type: 'new.type' }, { payload: null, idempotencyKey: 'h:evt_2:0' }),
    ]
    await sink.send(items)
    await sink.send(items)
    expect(ask(dir, 'SELECT seq, event_id FROM onchain_wallet_large_trade')).toEqual([{ seq: 1, event_id: 'evt_1' }])
    expect(ask(dir, `SELECT event_id, body ->> '$.type' AS type FROM onchain_other`)).toEqual([
      { event_id: 'evt_2', type: 'new.type' },
    ])
    expect(ask(dir, 'SELECT idempotency_key, payload FROM onchain_items')).toEqual([
      { idempotency_key: 'h:evt_2:0', payload: 'null' },
    ])
  })

  test('waits for another writer without blocking the thread, up to the timeout', async () => {
    await using dir = await createTempDir()
    await using sink = aSqlSink(dir, { statementTimeoutMs: 100 })
    await sink.send([trade('evt_1', '1')])
    const other = new Sqlite(join(dir.path, 'sub/events.db'))
    other.exec('BEGIN IMMEDIATE')
    await expect(sink.send([trade('evt_2', '2')])).rejects.toThrow('another process locked')
    await expect(
      sink.send([trade('evt_2', '2')], aSinkContext({ signal: AbortSignal.abort(new Error('over')) })),
    ).rejects.toThrow('over')
    const waiting = sink.send([trade('evt_2', '2')])
    setImmediate(() => other.exec('COMMIT'))
    await waiting
    other.close()
    expect(ask(dir, 'SELECT count(*) AS n FROM onchain_wallet_large_trade')).toEqual([{ n: 2 }])
  })

  test.for([
    ['mysql://localhost/x', {}],
    ['postgres://a b/x', {}],
    ['sqlite:', {}],
    ['sqlite:folder/', {}],
    ['sqlite:x.db', { tablePrefix: 'x"; DROP TABLE y; --' }],
    ['sqlite:x.db', { tablePrefix: 'Upper' }],
  ] as const)('refuses the options %s %j', ([url, rest]) => {
    expect(sqlKind.options.safeParse({ url: 'sqlite:./x.db' }).success).toBe(true)
    expect(sqlKind.options.safeParse({ url, ...rest }).success).toBe(false)
  })
})
