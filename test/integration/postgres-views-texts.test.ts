import { expect, onTestFinished, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createDatabase } from '../../src/inbox/postgres/database.ts'
import { toStored } from '../../src/inbox/postgres/text.ts'
import { createViews } from '../../src/inbox/postgres/views.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'

const server = usePostgres()
/** PostgreSQL can't store U+0000. U+0001 is its escape character. */
const odd = 'a\0b\u0001c'

test('views return and find text with U+0000', async () => {
  const db = createDatabase({ url: await server.createDatabase() })
  onTestFinished(() => db.close())
  const views = createViews(db, createTestClock())
  const statements = [
    `INSERT INTO inbox.handler (name) VALUES ($1)`,
    `INSERT INTO inbox.header_set (headers) VALUES ($1)`,
    `INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label, header_set, trace)
     VALUES (1, $1, $1, $1, 1, $1 || ':' || $1, $1, 1, $1)`,
    `INSERT INTO inbox.body (seq, total, raw) SELECT 1, 0, convert_to('{"w":"needle"}', 'UTF8') WHERE $1 <> ''`,
    `INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, state, run_at, attempt, ended_at, error_group)
     VALUES (1, 1, 1, 0, 5, 1, 1, 1, $1), (2, 1, 1, 0, 6, 1, 1, 1, NULL), (3, 1, 1, 0, 1, 1, 0, NULL, NULL)`,
    `INSERT INTO inbox.item (run_id, payload, idempotency_key) VALUES (3, $1, $1)`,
    `INSERT INTO inbox.state (handler_id, key, value, version) VALUES (1, $1, '1', 2 * 1024 + 1)`,
    `INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message, error_stack)
     VALUES (1, 1, 1, 1, 'dead', $1, $1, $1)`,
    `INSERT INTO inbox.quarantine (id, reason, received_at, secret_label, count, total, raw) VALUES ($1, $1, 1, $1, 1, 1, 'x')`,
  ]
  for (const statement of statements) await db.query(statement, [toStored(odd)])

  const summary = { id: odd, type: odd, createdAt: odd, network: odd, address: odd }
  const detail = await views.event(odd)
  expect(detail).toMatchObject({ ...summary, key: `${odd}:${odd}`, secretLabel: odd, headers: odd, trace: odd })
  const error = { name: odd, message: odd, stack: odd }
  expect(detail?.runs).toMatchObject([
    { handler: odd, state: 'dead', attempts: [{ error }] },
    { stateKeys: [odd] },
    { item: { payload: odd, idempotencyKey: odd } },
  ])
  const { data: found } = await views.events({ limit: 9, type: odd, network: odd, address: odd, q: 'needle' })
  expect(found).toMatchObject([summary])
  expect(await views.unknownIds([odd, `${odd}!`])).toEqual([`${odd}!`])
  const deadLetter = { runId: 1, eventId: odd, type: odd, handler: odd, error }
  const { data } = await views.deadLetters({ limit: 9, handler: odd, type: odd, group: odd })
  expect(data).toMatchObject([deadLetter])
  expect((await views.deadGroups({})).groups).toMatchObject([{ handler: odd, group: odd, sample: deadLetter }])
  expect(await views.quarantined(odd)).toMatchObject({ reason: odd, secretLabel: odd })
})
