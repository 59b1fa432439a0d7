import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDatabase, type Database } from '../../src/inbox/postgres/database.ts'
import { toStored } from '../../src/inbox/postgres/text.ts'
import { createViews } from '../../src/inbox/postgres/views.ts'
import { startPostgresInboxes, type PostgresInboxes } from '../support/postgres-inboxes.ts'

const events = 600
/** U+0000, and the character that stands for it in the database. */
const odd = 'a\0b\u0001c'

let inboxes: PostgresInboxes
let db: Database
let views: ReturnType<typeof createViews>

beforeAll(async () => {
  inboxes = await startPostgresInboxes()
  db = createDatabase({ url: await inboxes.createDatabase() })
  views = createViews(db, createTestClock())
  const statements = [
    `INSERT INTO inbox.event (seq, id, type, created_at, received_at, secret_label)
     SELECT n, 'e' || n, 't', '', n, 'main' FROM generate_series(1, ${events}) n`,
    `INSERT INTO inbox.body (seq, total, raw) SELECT n, 0, convert_to('{"word":"w' || n || '"}', 'UTF8') FROM generate_series(1, ${events}) n`,
  ]
  for (const statement of statements) await db.query(statement)
})
afterAll(async () => {
  await db.close()
  await inboxes[Symbol.asyncDispose]()
})

describe('texts that PostgreSQL cannot store as they are', () => {
  test('come back as they came, and are found', async () => {
    const text = toStored(odd)
    const statements: [string, unknown[]][] = [
      [`INSERT INTO inbox.handler (name) VALUES ($1)`, [text]],
      [`INSERT INTO inbox.header_set (headers) VALUES ($1)`, [text]],
      [
        `INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label, header_set, trace)
         VALUES (1000, $1, $1, $1, 1, $1 || ':' || $1, $1, 1, $1)`,
        [text],
      ],
      [`INSERT INTO inbox.body (seq, total, raw) VALUES (1000, 0, convert_to('{"w":"needle"}', 'UTF8'))`, []],
      [
        `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at, attempt, ended_at, error_group)
         VALUES (1, 1000, 1, 0, 5, 1, 1, 1, $1), (2, 1000, 1, 0, 6, 1, 1, 1, NULL), (3, 1000, 1, 0, 1, 1, 0, NULL, NULL)`,
        [text],
      ],
      [`INSERT INTO inbox.item (run_id, payload, idempotency_key) VALUES (3, $1, $1)`, [text]],
      [`INSERT INTO inbox.state (handler_id, key, value, version) VALUES (1, $1, '1', 2 * 1024 + 1)`, [text]],
      [
        `INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message, error_stack)
         VALUES (1, 1, 1, 1, 'dead', $1, $1, $1)`,
        [text],
      ],
      [`INSERT INTO inbox.conflict VALUES (1000, 'd', 1, 1, 'x')`, []],
      [
        `INSERT INTO inbox.quarantine (id, reason, received_at, secret_label, count, total, raw) VALUES ($1, $1, 1, $1, 1, 1, 'x')`,
        [text],
      ],
      [
        `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (1, 'prune', $1, $2)`,
        [toStored(JSON.stringify({ odd })), text],
      ],
    ]
    for (const [statement, values] of statements) await db.query(statement, values)

    const summary = { id: odd, type: odd, createdAt: odd, network: odd, address: odd }
    const detail = await views.event(odd)
    expect(detail).toMatchObject({ ...summary, key: `${odd}:${odd}`, secretLabel: odd, headers: odd, trace: odd })
    const error = { name: odd, message: odd, stack: odd }
    expect(detail?.runs).toMatchObject([
      { handler: odd, state: 'dead', attempts: [{ error }] },
      { stateKeys: [odd] },
      { item: { payload: odd, idempotencyKey: odd } },
    ])
    for (const filter of [
      { type: odd },
      { network: odd },
      { address: odd },
      { type: odd, network: odd, address: odd },
    ]) {
      expect((await views.events({ limit: 9, ...filter })).data).toMatchObject([summary])
    }
    expect((await views.events({ limit: 9, q: 'needle' })).data.map(({ id }) => id)).toEqual([odd])
    expect(await views.unknownIds([odd, `${odd}!`])).toEqual([`${odd}!`])
    const letter = { runId: 1, eventId: odd, type: odd, handler: odd, error }
    const { data } = await views.deadLetters({ limit: 9, handler: odd, type: odd, group: odd })
    expect(data).toMatchObject([letter])
    expect((await views.deadGroups({})).groups).toMatchObject([{ handler: odd, group: odd, sample: letter }])
    expect((await views.conflicts({ limit: 9 })).data).toMatchObject([{ eventId: odd, type: odd }])
    expect(await views.conflict(odd, 'd')).toMatchObject({ eventId: odd })
    const quarantined = { reason: odd, secretLabel: odd }
    expect((await views.quarantine({ limit: 9, reason: odd })).data).toMatchObject([{ id: odd, ...quarantined }])
    expect(await views.quarantined(odd)).toMatchObject(quarantined)
    expect(await views.quarantineGroups()).toMatchObject([quarantined])
    expect((await views.audit({ limit: 9 })).data).toMatchObject([{ detail: { odd }, by: odd }])
    expect((await views.stats()).handlers).toMatchObject([{ handler: odd, ready: 1, dead: 1 }])
  })
})
