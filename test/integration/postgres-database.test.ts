import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Database, createDatabase } from '../../src/inbox/postgres/database.ts'
import { startDelayingProxy } from '../support/delaying-proxy.ts'
import { ask } from '../support/postgres.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { until } from '../support/until.ts'

let server: PostgresInboxes
let url: string
beforeAll(async () => {
  server = await startPostgresInboxes()
  url = await server.createDatabase()
})
afterAll(() => server[Symbol.asyncDispose]())

function open(
  to: string,
  more: { readonly connections?: number; readonly statementMs?: number; readonly applicationName?: string } = {},
): Database {
  const db = createDatabase({ url: to, ...more })
  onTestFinished(() => db.close())
  return db
}

test('numbers of 64 bits come as numbers, bytes as buffers', async () => {
  const db = open(url)
  expect(await db.query(`SELECT $1::bigint AS n, $2::bytea AS raw`, [2 ** 52, Buffer.from([0, 255])])).toEqual([
    { n: 2 ** 52, raw: Buffer.from([0, 255]) },
  ])
})

test('a statement that takes too long is cancelled in the server, and the next one goes through', async () => {
  const db = open(url, { statementMs: 200, connections: 1, applicationName: 'slow one' })
  await expect(db.query(`SELECT pg_sleep(60)`)).rejects.toMatchObject({ code: 'store_unavailable' })
  await until(async () => {
    const [row] = await ask<{ n: number }>(
      url,
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60)%' AND state = 'active'`,
    )
    return row?.n === 0
  }, 'the statement has ended')
  expect(await db.query(`SELECT 1 AS n`)).toEqual([{ n: 1 }])
  expect(db.health()).toEqual({ ok: true })
})

test('a connection that ends as soon as it is ready fails a statement, not the process', async () => {
  let isEnding = false
  await using proxy = await startProxy(url, (chunk) =>
    isEnding && chunk.subarray(-6).equals(readyForQuery) ? Buffer.concat([chunk, terminated]) : chunk,
  )
  const db = open(proxy.url, { connections: 2 })
  await db.query(`SELECT 1`)
  isEnding = true
  // One of them has the connection that is there, the other one a new one.
  for (const answer of [db.query(`SELECT 1`), db.query(`SELECT 1`)])
    await answer.catch((error: unknown) => expect(error).toMatchObject({ code: 'store_unavailable' }))
  expect(proxy.changed()).toBeGreaterThan(0)
  isEnding = false
  await until(() => db.query(`SELECT 1`).then(Boolean, () => false), 'the next one goes through')
})

const readyForQuery = Buffer.from('Z\0\0\0\x05I')
const fields = Buffer.from('SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0')
const terminated = Buffer.concat([Buffer.from('E'), Buffer.from([0, 0, 0, 4 + fields.length]), fields])

/** Before the server of a URL: `change` may change what it says, packet by packet. */
async function startProxy(to: string, change: (chunk: Buffer) => Buffer) {
  let changed = 0
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const behind = connect(Number(new URL(to).port), '127.0.0.1')
    for (const socket of [client, behind]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => [client, behind].map((either) => either.destroy()))
    }
    client.pipe(behind)
    behind.on('data', (chunk: Buffer) => {
      const said = change(chunk)
      if (said !== chunk) changed += 1
      client.write(said)
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const through = new URL(to)
  through.port = String((listener.address() as AddressInfo).port)
  return {
    url: through.href,
    changed: () => changed,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

test('a statement may be given less time than the others', async () => {
  const db = open(url)
  const begunAt = performance.now()
  await expect(db.query(`SELECT pg_sleep(60)`, [], 100)).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(performance.now() - begunAt).toBeLessThan(5_000)
})

test('a statement that the limits of a transaction end leaves nothing of the transaction', async () => {
  const db = open(url, { statementMs: 200 })
  const slow = db.alone(async (trx) => {
    await trx.query(`INSERT INTO inbox.meta VALUES ('of the slow', 1)`)
    await trx.query(`SELECT pg_sleep(60)`)
  })
  await expect(slow).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(await db.query(`SELECT * FROM inbox.meta WHERE name = 'of the slow'`)).toEqual([])
})

test('an error of the work undoes the transaction and comes out as it is', async () => {
  const db = open(url)
  const failing = db.alone(async (trx) => {
    await trx.query(`INSERT INTO inbox.meta VALUES ('of the failed', 1)`)
    throw new RangeError('no')
  })
  await expect(failing).rejects.toThrow(new RangeError('no'))
  expect(await db.query(`SELECT * FROM inbox.meta WHERE name = 'of the failed'`)).toEqual([])
})

test('two that are alone are so one after the other', async () => {
  const db = open(url)
  let inside = 0
  let most = 0
  await Promise.all(
    Array.from({ length: 5 }, () =>
      db.alone(async (trx) => {
        most = Math.max(most, ++inside)
        await trx.query(`SELECT pg_sleep(0.01)`)
        inside--
      }),
    ),
  )
  expect(most).toBe(1)
})

test('a deadlock is tried again', async () => {
  const db = open(url)
  await db.query(`INSERT INTO inbox.meta VALUES ('left', 0), ('right', 0)`)
  await db.query(`CREATE FUNCTION inbox.in_turn(first text, second text) RETURNS void LANGUAGE sql AS $$
    UPDATE inbox.meta SET value = value + 1 WHERE name = first; SELECT pg_sleep(0.2);
    UPDATE inbox.meta SET value = value + 1 WHERE name = second $$`)
  await Promise.all([
    db.query(`SELECT inbox.in_turn('left', 'right')`),
    db.query(`SELECT inbox.in_turn('right', 'left')`),
  ])
  expect(await db.query(`SELECT value FROM inbox.meta WHERE name IN ('left', 'right')`)).toEqual([
    { value: 2 },
    { value: 2 },
  ])
})

test('connections that the server ends are replaced, also in the middle of a transaction', async () => {
  const db = open(url, { applicationName: 'victims' })
  const end = () =>
    ask(url, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'victims'`)
  await Promise.all([db.query(`SELECT pg_sleep(0.05)`), db.query(`SELECT pg_sleep(0.05)`)])
  await end()
  await until(
    () =>
      db.query(`SELECT 1`).then(
        () => true,
        () => false,
      ),
    'it answers again',
  )
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const transaction = db.alone(async (trx) => {
    begun.resolve()
    await ended.promise
    await trx.query(`SELECT 1`)
  })
  await begun.promise
  await end()
  ended.resolve()
  await expect(transaction).rejects.toMatchObject({ code: 'store_unavailable' })
  await until(
    () =>
      db.query(`SELECT 1`).then(
        () => true,
        () => false,
      ),
    'it answers again',
  )
})

test('detects a silent database within a second, and its return within another', async () => {
  await using proxy = await startStallingProxy(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String(proxy.port)
  const db = open(through.href)
  await db.query(`SELECT 1`)
  proxy.stall()
  const silentAt = performance.now()
  const asked = await Promise.allSettled([db.query(`SELECT 1`), db.alone((trx) => trx.query(`SELECT 1`))])
  const refused = { status: 'rejected', reason: expect.objectContaining({ code: 'store_unavailable' }) as object }
  expect(asked).toEqual([refused, refused])
  // Half a second of it for a machine that is busy.
  expect(performance.now() - silentAt).toBeLessThan(1_500)
  expect(db.health()).toMatchObject({ ok: false, reason: expect.stringContaining('cannot be reached') as string })
  const askedAt = performance.now()
  await expect(db.query(`SELECT 1`)).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(performance.now() - askedAt).toBeLessThan(50)
  proxy.resume()
  const backAt = performance.now()
  await until(() => db.health().ok, 'it is well again')
  expect(performance.now() - backAt).toBeLessThan(1_500)
  expect(await db.query(`SELECT 1 AS n`)).toEqual([{ n: 1 }])
})

test('a database that is only slow is not taken for one that is away', async () => {
  const db = open(url)
  const slow = db.query(`SELECT pg_sleep(1.5)`)
  expect(await slow).toHaveLength(1)
  expect(db.health()).toEqual({ ok: true })
})

test('a distant database does not count as unavailable during a reconnect', async () => {
  await using far = await startDelayingProxy(Number(new URL(url).port), 150)
  const through = new URL(url)
  through.port = String(far.port)
  const db = open(through.href, { applicationName: 'far away' })
  await db.query(`SELECT 1`)
  const slow = db.query(`SELECT pg_sleep(3)`)
  const ended = await ask(
    url,
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'far away' AND query LIKE 'SELECT current_setting%'`,
  )
  expect(ended).toHaveLength(1)
  expect(await slow).toHaveLength(1)
  expect(db.health()).toEqual({ ok: true })
})

test('one that takes no writes is not well', async () => {
  const readOnly = await server.createDatabase()
  const db = open(readOnly)
  await db.query(`SELECT 1`)
  await ask(readOnly, `ALTER DATABASE ${new URL(readOnly).pathname.slice(1)} SET default_transaction_read_only = on`)
  await ask(
    readOnly,
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  )
  await until(() => !db.health().ok, 'that is seen')
  expect(db.health()).toMatchObject({ reason: expect.stringContaining('read-only') as string })
})

test('what is apart waits for nobody', async () => {
  const db = open(url, { connections: 1 })
  let isOver = false
  const slow = db.query(`SELECT pg_sleep(1)`).then(() => (isOver = true))
  expect(await db.apart.query(`SELECT 1 AS n`)).toEqual([{ n: 1 }])
  expect(isOver).toBe(false)
  await slow
})

test('a commit that takes too long is given up, and is not taken for done', async () => {
  const slow = await server.createDatabase()
  await ask(
    slow,
    `CREATE FUNCTION inbox.dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$`,
  )
  await ask(
    slow,
    `CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON inbox.meta INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION inbox.dawdle()`,
  )
  const db = open(slow, { statementMs: 300 })
  const begunAt = performance.now()
  const committing = db.alone((trx) => trx.query(`INSERT INTO inbox.meta VALUES ('of the commit', 1)`))
  await expect(committing).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(performance.now() - begunAt).toBeLessThan(5_000)
  expect(await db.query(`SELECT * FROM inbox.meta WHERE name = 'of the commit'`)).toEqual([])
  expect(db.health()).toEqual({ ok: true })
})

test('only a full disk is called full: what else the server lacks comes back by itself', async () => {
  const db = open(url)
  const raise = (code: string) => db.query(`DO $$ BEGIN RAISE 'no' USING ERRCODE = '${code}'; END $$`)
  await expect(raise('53100')).rejects.toMatchObject({ code: 'store_full' })
  await expect(raise('53200')).rejects.toMatchObject({ code: 'store_unavailable' })
  await expect(raise('53400')).rejects.toMatchObject({ code: 'store_unavailable' })
})

test('a closed one refuses, and says so', async () => {
  const db = open(url)
  await db.query(`SELECT 1`)
  await Promise.all([db.close(), db.close()])
  await expect(db.query(`SELECT 1`)).rejects.toMatchObject({ code: 'shutting_down' })
})
