import { afterAll, expect, test } from 'vitest'
import { callOperation } from '../../src/admin/routes.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createEventFollower } from '../../src/cli/events-tail.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { readAsEvent } from '../../src/receiver/readers.ts'
import { arrivalOf } from '../fixtures/stored-events.ts'

const clock = createTestClock()
const inbox = await createMemoryInbox({ clock })
afterAll(() => inbox.close())
const startedAt = Date.UTC(2026, 0, 31)

/** Follows the inbox. `queries` are those sent. */
function follow(filters: Readonly<Record<string, string>> = {}) {
  const queries: Readonly<Record<string, unknown>>[] = []
  const context = { inbox, readEvent: readAsEvent, now: () => clock.now() }
  const look = createEventFollower((query) => {
    queries.push(query)
    return callOperation(context, 'listEvents', { query })
  }, filters)
  return { queries, look: async () => (await look()).map(({ id }) => id) }
}

const accept = (ids: readonly string[], type?: string, atMs = startedAt) =>
  inbox.accept(ids.map((id) => arrivalOf(id, type, '1', atMs)))

test('follows an inbox from its first event, each event once, over as many pages as needed', async () => {
  const { look, queries } = follow()
  expect(await look()).toEqual([])
  const ids = Array.from({ length: 450 }, (_, n) => `evt_${n}`)
  await accept(ids)
  expect(await look()).toEqual(ids)
  expect(await look()).toEqual([])
  await accept(['evt_later'], undefined, startedAt + 60_000)
  expect(await look()).toEqual(['evt_later'])
  expect(await look()).toEqual([])
  expect(queries.at(-1)).toMatchObject({ from: '2026-01-31T00:00:58.000Z' })
})

test('finds an event that was stored after one with a later receipt, and applies filters', async () => {
  const { look } = follow({ type: 'wallet.large_trade', address: '0xabc' })
  await look()
  await accept(['evt_other'], 'token.price_alert', startedAt + 120_000)
  expect(await look()).toEqual([])
  await accept(['evt_earlier'], undefined, startedAt + 119_000)
  expect(await look()).toEqual(['evt_earlier'])
})
