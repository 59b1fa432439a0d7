import { expect, onTestFinished, test } from 'vitest'
import { createDatabase, type Database, type DatabaseOptions } from '../../src/inbox/postgres/database.ts'
import { toStartError, toStoreError } from '../../src/inbox/postgres/failure.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { startProxy, terminatedMessage } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const server = usePostgres()
const unavailable = { code: 'store_unavailable' }

async function open(options: Partial<DatabaseOptions> = {}): Promise<{ readonly url: string; readonly db: Database }> {
  const { url = await server.createDatabase() } = options
  const db = createDatabase({ ...options, url })
  onTestFinished(() => db.close())
  return { url, db }
}

function throughPort(url: string, port: number): string {
  return Object.assign(new URL(url), { port: String(port) }).href
}

const answers = (db: Database) => db.query(`SELECT 1`).then(Boolean, () => false)
const untilAnswered = (db: Database) => until(() => answers(db), 'it responds again')

/** Ends the connections with an application name; `having` is an SQL condition. */
const terminate = (url: string, name: string, having = 'true') =>
  ask(
    url,
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '${name}' AND ${having}`,
  )

test.each([{ statementMs: 200 }, { limitMs: 200 }])(
  'cancels a slow statement in the server, and runs the next one: %j',
  async ({ statementMs, limitMs }) => {
    const { db, url } = await open({ connections: 1, ...(statementMs !== undefined && { statementMs }) })
    await expect(db.query(`SELECT pg_sleep(60)`, [], limitMs)).rejects.toMatchObject(unavailable)
    const active = `SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60)%' AND state = 'active' AND datname = current_database()`
    await until(async () => (await ask(url, active)).length === 0, 'the statement has ended')
    expect(await db.query(`SELECT 1 AS n`)).toEqual([{ n: 1 }])
    expect(db.health()).toEqual({ ok: true })
  },
)

test.each(['a slow statement', 'an error', 'a slow commit'])('%s rolls its transaction back', async (what) => {
  const { db, url } = await open({ statementMs: 300 })
  if (what === 'a slow commit')
    await ask(
      url,
      `CREATE FUNCTION inbox.dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
       CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON inbox.meta INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION inbox.dawdle()`,
    )
  const failing = db.exclusively(async (trx) => {
    await trx.query(`INSERT INTO inbox.meta VALUES ('failed', 1)`)
    if (what === 'a slow statement') await trx.query(`SELECT pg_sleep(60)`)
    if (what === 'an error') throw new RangeError('no')
  })
  await expect(failing).rejects.toMatchObject(what === 'an error' ? { message: 'no' } : unavailable)
  expect(await db.query(`SELECT * FROM inbox.meta WHERE name = 'failed'`)).toEqual([])
  expect(db.health()).toEqual({ ok: true })
})

test('retries after a deadlock', async () => {
  const { db } = await open()
  await db.query(`INSERT INTO inbox.meta VALUES ('left', 0), ('right', 0)`)
  await db.query(`CREATE FUNCTION inbox.in_turn(first text, second text) RETURNS void LANGUAGE sql AS $$
    UPDATE inbox.meta SET value = value + 1 WHERE name = first; SELECT pg_sleep(0.2);
    UPDATE inbox.meta SET value = value + 1 WHERE name = second $$`)
  await Promise.all([
    db.query(`SELECT inbox.in_turn('left', 'right')`),
    db.query(`SELECT inbox.in_turn('right', 'left')`),
  ])
  expect(await db.query(`SELECT sum(value) AS sum FROM inbox.meta WHERE name IN ('left', 'right')`)).toEqual([
    { sum: '4' },
  ])
})

test('replaces connections that the server ends, also during a transaction', async () => {
  const { db, url } = await open({ applicationName: 'victims' })
  await Promise.all([db.query(`SELECT pg_sleep(0.05)`), db.query(`SELECT pg_sleep(0.05)`)])
  await terminate(url, 'victims')
  await untilAnswered(db)
  const transaction = db.exclusively(async (trx) => {
    await terminate(url, 'victims')
    await trx.query(`SELECT 1`)
  })
  await expect(transaction).rejects.toMatchObject(unavailable)
  await untilAnswered(db)
})

test('a connection that ends as soon as it is ready fails a statement, not the process', async () => {
  const url = await server.createDatabase()
  let isEnding = false
  let ended = 0
  await using proxy = await startProxy(Number(new URL(url).port), {
    change(chunk) {
      // ReadyForQuery ends the start of a connection.
      if (!isEnding || !chunk.subarray(-6).equals(Buffer.from('Z\0\0\0\x05I'))) return chunk
      ended += 1
      return Buffer.concat([chunk, terminatedMessage])
    },
  })
  const { db } = await open({ url: throughPort(url, proxy.port), connections: 2 })
  await db.query(`SELECT 1`)
  isEnding = true
  // One of the statements needs a new connection.
  for (const answer of await Promise.allSettled([db.query(`SELECT 1`), db.query(`SELECT 1`)]))
    if (answer.status === 'rejected') expect(answer.reason).toMatchObject(unavailable)
  expect(ended).toBeGreaterThan(0)
  isEnding = false
  await untilAnswered(db)
})

test('detects a silent database within a second, and its return within another', async () => {
  const url = await server.createDatabase()
  await using proxy = await startProxy(Number(new URL(url).port))
  const { db } = await open({ url: throughPort(url, proxy.port) })
  await db.query(`SELECT 1`)
  proxy.stall()
  const silentAt = performance.now()
  const asked = await Promise.allSettled([db.query(`SELECT 1`), db.exclusively((trx) => trx.query(`SELECT 1`))])
  const rejected = { status: 'rejected', reason: expect.objectContaining(unavailable) as object }
  expect(asked).toEqual([rejected, rejected])
  // Twice the promised time, for a busy machine.
  expect(performance.now() - silentAt).toBeLessThan(2_000)
  expect(db.health()).toMatchObject({ ok: false, reason: expect.stringContaining('cannot be reached') as string })
  await expect(db.query(`SELECT 1`)).rejects.toMatchObject(unavailable)
  proxy.resume()
  await until(() => db.health().ok, 'it is healthy again', 5_000)
  expect(await db.query(`SELECT 1 AS n`)).toEqual([{ n: 1 }])
})

test('a slow database does not count as unavailable', async () => {
  const { db } = await open()
  expect(await db.query(`SELECT pg_sleep(1.5)`)).toHaveLength(1)
  expect(db.health()).toEqual({ ok: true })
})

test('a read-only database counts as unavailable', async () => {
  const { db, url } = await open({ applicationName: 'read-only' })
  await db.query(`SELECT 1`)
  await ask(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`)
  await terminate(url, 'read-only')
  await until(() => !db.health().ok, 'it is seen')
  expect(db.health()).toMatchObject({ reason: expect.stringContaining('read-only') as string })
})

test('statements on the reserved connection wait for no others', async () => {
  const { db } = await open({ connections: 1 })
  let hasEnded = false
  const slow = db.query(`SELECT pg_sleep(1)`).then(() => (hasEnded = true))
  expect(await db.reserved.query(`SELECT 1 AS n`)).toEqual([{ n: 1 }])
  expect(hasEnded).toBe(false)
  await slow
})

test.each([
  ['53100', 'store_full'],
  ['53200', 'store_unavailable'],
  ['53400', 'store_unavailable'],
])('SQLSTATE %s becomes %s', async (state, code) => {
  const { db } = await open()
  await expect(db.query(`DO $$ BEGIN RAISE 'no' USING ERRCODE = '${state}'; END $$`)).rejects.toMatchObject({ code })
})

test.each([
  ['EMFILE', 'store_unavailable', /^db cannot be reached/],
  ['EPROTO', 'store_unavailable', /^db cannot be reached/],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'config_invalid',
    /^db: no; .*NODE_EXTRA_CA_CERTS, or sslrootcert in INBOX_DATABASE_URL/,
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'config_invalid', /^db: no; renew its certificate, or connect to a host name/],
])('%s is an outage', (code, startCode, message) => {
  const error = Object.assign(new Error('no'), { code })
  expect(toStoreError(error)).toMatchObject(unavailable)
  expect(toStartError(error, 'db')).toMatchObject({
    code: startCode,
    message: expect.stringMatching(message) as string,
  })
})

test('rejects statements after it was closed', async () => {
  const { db } = await open()
  await Promise.all([db.close(), db.close()])
  await expect(db.query(`SELECT 1`)).rejects.toMatchObject({ code: 'shutting_down' })
})
