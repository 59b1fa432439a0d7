import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createPostgresInbox } from '../../src/inbox/postgres/inbox.ts'
import { migrateSchema, openSchema } from '../../src/inbox/postgres/migrate.ts'
import { migrations, type Migration } from '../../src/inbox/postgres/migrations.ts'
import { anEvent, loose } from '../conformance/stage.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { freePort } from '../support/stream-sinks.ts'

const server = usePostgres()

/** The migrations of a later version. */
function withNext(oldest: number, statement = 'CREATE TABLE inbox.next (id integer)'): readonly Migration[] {
  return [...migrations, { name: '9999-next', oldest, up: [statement] }]
}

const all = migrations.map(({ name }) => name)
const newest = all.at(-1)!
const appliedTo = async (url: string) =>
  (await ask<{ name: string }>(url, `SELECT name FROM inbox.kysely_migration ORDER BY name`)).map(({ name }) => name)

function changed(url: string, change: Partial<Pick<URL, 'password' | 'username' | 'pathname' | 'port'>>): string {
  return Object.assign(new URL(url), change).href
}

test('ten replicas that start at once create one schema', async () => {
  const url = await server.createBare()
  await Promise.all(Array.from({ length: 10 }, () => openSchema(url, 'refuse')))
  expect(await appliedTo(url)).toEqual(all)
  expect(await ask(url, `SELECT count(*)::int AS n FROM inbox.lane`)).toEqual([{ n: 65536 }])
})

test('refuses an older schema, or upgrades it once for ten replicas', async () => {
  const url = await server.createDatabase()
  const refused = openSchema(url, 'refuse', withNext(1))
  await expect(refused).rejects.toMatchObject({
    code: 'database_older',
    message: expect.stringContaining('onchain-inbox migrate') as string,
  })
  expect(await appliedTo(url)).toEqual(all)
  await Promise.all(Array.from({ length: 10 }, () => openSchema(url, 'auto', withNext(1))))
  expect(await appliedTo(url)).toEqual([...all, '9999-next'])
  await openSchema(url, 'refuse', withNext(1))
})

test('refuses a newer schema, unless its migrations allow this version', async () => {
  const breaking = await server.createDatabase()
  await openSchema(breaking, 'auto', withNext(migrations.length + 1))
  const newer = { code: 'database_newer', message: expect.stringContaining('9999-next') as string }
  await expect(openSchema(breaking, 'auto')).rejects.toMatchObject(newer)
  await expect(migrateSchema(breaking)).rejects.toMatchObject(newer)
  const compatible = await server.createDatabase()
  await openSchema(compatible, 'auto', withNext(1))
  await openSchema(compatible, 'refuse')
  expect(await migrateSchema(compatible)).toEqual({ from: '9999-next', to: '9999-next', isChanged: false })
  expect(await appliedTo(compatible)).toEqual([...all, '9999-next'])
})

test('migrate replaces the functions of an older version, and an older program keeps newer ones', async () => {
  const url = await server.createBare()
  await migrateSchema(url)
  const source = () =>
    ask(
      url,
      `SELECT proname AS name, prosrc AS source FROM pg_proc WHERE pronamespace = 'inbox'::regnamespace ORDER BY 1`,
    )
  const current = await source()
  await ask(
    url,
    `DELETE FROM inbox.meta WHERE starts_with(name, 'functions:'); DROP FUNCTION inbox.promote;
     CREATE FUNCTION inbox.of_old(id integer) RETURNS integer LANGUAGE sql AS 'SELECT id'`,
  )
  await expect(openSchema(url, 'refuse')).rejects.toMatchObject({ code: 'database_older' })
  expect(await migrateSchema(url)).toEqual({ from: newest, to: newest, isChanged: true })
  expect(await source()).toEqual(current)
  await ask(url, `CREATE FUNCTION inbox.of_newer(id integer) RETURNS integer LANGUAGE sql AS 'SELECT id'`)
  await openSchema(url, 'auto')
  expect(await source()).toHaveLength(current.length + 1)
})

test('a backlog of an older schema keeps its runs, state, outbox and backfills, and old calls fail', async () => {
  const url = await server.createBare()
  await migrateSchema(url, migrations.slice(0, 3))
  await ask(
    url,
    `INSERT INTO inbox.handler (name) VALUES ('ordered'), ('sink');
     INSERT INTO inbox.handler (name, backfill_seq, backfill_from) VALUES ('late', 2, 0);
     INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label)
       SELECT n, 'e' || n, 't', '', 0, 'k', 'main' FROM generate_series(1, 3) n;
     INSERT INTO inbox.body SELECT n, n, 'x' FROM generate_series(1, 3) n;
     UPDATE inbox.counter SET last_seq = 3, body_bytes = 3;
     INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, attempt, token, owner, claim_id) VALUES
       (nextval('inbox.run_id'), 1, 1, 0, 'k', 3, 0, 1, 1, 'gone w', 1), (nextval('inbox.run_id'), 2, 1, 0, 'k', 0, 0, 0, 0, NULL, NULL),
       (nextval('inbox.run_id'), 3, 2, 0, 'k', 1, 0, 0, 0, NULL, NULL), (nextval('inbox.run_id'), 3, 3, 0, 'k', 6, 0, 1, 1, NULL, NULL);
     INSERT INTO inbox.item VALUES (3, 'payload', 'once');
     INSERT INTO inbox.state (handler_id, key, value, version) VALUES (1, 's', '1', 1);
     INSERT INTO inbox.meta VALUES ('seen_at', 9000000000000)`,
  )
  await expect(openSchema(url, 'refuse')).rejects.toMatchObject({ code: 'database_older' })
  await migrateSchema(url)
  const argumentTypes =
    'text text text bigint bigint text text integer text bytea text integer text text text boolean integer text integer integer text text bigint integer'
  const oldAccept = `inbox.accept(${argumentTypes.replaceAll(/\w+/g, 'NULL::$&[]').replaceAll(' ', ', ')})`
  for (const call of [`inbox.claim('[]', 1)`, `inbox.reap('gone w', 1)`, oldAccept]) {
    await expect(ask(url, `SELECT * FROM ${call}`)).rejects.toThrow('does not exist')
  }
  const inbox = await createPostgresInbox({ url, clock: systemClock })
  onTestFinished(() => inbox.close())
  const claim = (handler: string) => inbox.claim({ handlers: [handler], max: 9, owner: 'w', suspects: false })
  expect(await claim('sink')).toMatchObject([{ event: { id: 'e3' }, item: { payload: 'payload' } }])
  expect(await inbox.readState('ordered', { key: 's' })).toMatchObject([{ value: '1', version: 1 }])
  await ask(url, `SELECT * FROM inbox.reap('gone w')`)
  const suspects = await inbox.claim({ handlers: ['ordered'], max: 9, owner: 'w', suspects: true })
  expect(suspects).toMatchObject([{ event: { id: 'e1' }, attempt: 2, crashed: 1 }])
  const waiting = claim('ordered')
  await inbox.settle(suspects.map((lease) => ({ ...lease, startedAt: 0, endedAt: 0, kind: 'done' })))
  expect(await waiting).toMatchObject([{ event: { id: 'e2' } }])
  await inbox.register([{ ...loose, name: 'late' }])
  expect(await claim('late')).toMatchObject([{ event: { id: 'e2' } }])
  await inbox.accept([anEvent('e4')])
  expect(await claim('late')).toMatchObject([{ event: { id: 'e4' } }])
})

test('the upgrade reduces stored headers, and equal sets leave room for new ones', async () => {
  const url = await server.createBare()
  await migrateSchema(url, migrations.slice(0, 1))
  await ask(
    url,
    `INSERT INTO inbox.header_set (headers) VALUES ('{"host":"a.example","x-proof":"hunter2"}'), ('{"host":"a.example","cookie":"hunter2"}');
     INSERT INTO inbox.header_set (headers) SELECT format('{"x-request-id":"%s"}', n) FROM generate_series(3, 1000) n`,
  )
  expect(await migrateSchema(url)).toEqual({ from: all[0], to: newest, isChanged: true })
  const stored = `SELECT headers, min(id) AS id, count(*)::integer AS count FROM inbox.header_set GROUP BY headers ORDER BY id`
  const reduced = [
    { headers: '{"host":"a.example"}', id: 1, count: 2 },
    { headers: '{}', id: 3, count: 998 },
  ]
  expect(await ask(url, stored)).toEqual(reduced)
  const inbox = await createPostgresInbox({ url, clock: systemClock })
  onTestFinished(() => inbox.close())
  const headers = ['{"via":"b"}', null, '{"host":"a.example"}']
  await inbox.accept(headers.map((text, n) => anEvent(`e${n}`, { headers: text })))
  expect(await Promise.all(headers.map(async (_, n) => (await inbox.event(`e${n}`))?.headers))).toEqual(headers)
  expect(await ask(url, stored)).toEqual([...reduced, { headers: '{"via":"b"}', id: 1_001, count: 1 }])
})

test('a failed migration changes nothing', async () => {
  const url = await server.createDatabase()
  const failing = migrateSchema(
    url,
    withNext(migrations.length + 1, 'CREATE TABLE inbox.half (id integer); SELECT 1 / 0'),
  )
  await expect(failing).rejects.toMatchObject({
    code: 'database_corrupt',
    message: expect.stringContaining('it is unchanged') as string,
  })
  expect(await appliedTo(url)).toEqual(all)
  expect(await ask(url, `SELECT to_regclass('inbox.half') AS half`)).toEqual([{ half: null }])
  await openSchema(url, 'refuse')
})

test('refuses a database with another encoding', async () => {
  const url = await server.createBare()
  await ask(
    url,
    `CREATE DATABASE ${new URL(url).pathname.slice(1)}_latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'`,
  )
  const latin = `${url}_latin`
  try {
    await expect(openSchema(latin, 'refuse')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('must have the encoding UTF8 (got LATIN1)') as string,
    })
  } finally {
    await ask(url, `DROP DATABASE ${new URL(latin).pathname.slice(1)} WITH (FORCE)`)
  }
})

test('errors of a failed start contain no password', async () => {
  const url = await server.createBare()
  const cases: readonly [string, string, RegExp][] = [
    [changed(url, { password: 's3cr3t' }), 'config_invalid', /password authentication failed.*correct the user and/],
    [changed(url, { pathname: '/not_there' }), 'config_invalid', /does not exist; create it with CREATE DATABASE/],
    [changed(url, { password: 's3cr3t', port: String(await freePort()) }), 'store_unavailable', /ECONNREFUSED/],
    ['postgres://user:s3cr3t@[half/db', 'config_invalid', /not a PostgreSQL URL/],
    ['https://user:s3cr3t@host/db', 'config_invalid', /not a PostgreSQL URL/],
  ]
  for (const [wrong, code, message] of cases) {
    const error: unknown = await openSchema(wrong, 'auto').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) as string })
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String((error as Error).cause)).not.toContain(
      's3cr3t',
    )
  }
})

test('a user without the right to create a schema gets an error, and can use an existing one', async () => {
  const url = await server.createBare()
  const user = `${new URL(url).pathname.slice(1)}_small`
  await ask(url, `CREATE ROLE ${user} LOGIN PASSWORD 'small'`)
  try {
    await expect(openSchema(changed(url, { username: user, password: 'small' }), 'auto')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('grant the user the right to create a schema') as string,
    })
    await ask(url, `CREATE SCHEMA inbox AUTHORIZATION ${user}`)
    await openSchema(changed(url, { username: user, password: 'small' }), 'auto')
    expect(await appliedTo(url)).toEqual(all)
  } finally {
    await ask(url, `DROP OWNED BY ${user}; DROP ROLE ${user}`)
  }
})
