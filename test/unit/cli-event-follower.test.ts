import { expect, test } from 'vitest'
import type { EventSummaryJson } from '../../src/admin/events.ts'
import { createEventFollower, type EventFilters } from '../../src/cli/events-tail.ts'

/** A growing list of events, as the admin API returns it. `calls` counts pages. */
function createList() {
  const events: EventSummaryJson[] = []
  const list = {
    events,
    calls: 0,
    add(count: number, more: Partial<EventSummaryJson> = {}) {
      for (let n = 0; n < count; n++) {
        const seq = events.length + 1
        const at = '2026-01-31T14:00:00.000Z'
        const event = { id: `evt_${seq}`, type: 'token.price_alert', created_at: at, received_at: at, network: 'base' }
        events.push({ ...event, seq, address: '0xab', status: 'pending', ...more })
      }
    },
    follow: (filters: EventFilters = {}) =>
      createEventFollower(async ({ limit, cursor }) => {
        list.calls++
        const below = cursor === undefined ? Infinity : Number(cursor)
        const data = events.filter(({ seq }) => seq < below).slice(-Number(limit))
        const first = data[0]?.seq ?? 1
        return { data: data.toReversed(), next_cursor: first > 1 ? String(first) : null, searched_to: null }
      }, filters),
  }
  return list
}

const seqs = (events: readonly EventSummaryJson[]) => events.map(({ seq }) => seq)

test('returns new events, oldest first, over as many pages as needed', async () => {
  const list = createList()
  list.add(5_000)
  const follower = list.follow()
  expect(await follower.look()).toEqual([])
  expect(list.calls).toBe(1)
  list.add(450)
  expect(seqs(await follower.look())).toEqual(Array.from({ length: 450 }, (_, index) => 5_001 + index))
  expect(await follower.look()).toEqual([])
  // A page per 200 events, and one without new events.
  expect(list.calls).toBe(1 + 3 + 1)
})

test('follows an empty store from its first event', async () => {
  const list = createList()
  const follower = list.follow()
  await follower.look()
  list.add(1)
  expect(seqs(await follower.look())).toEqual([1])
})

test('applies all filters, to EVM addresses in any case', async () => {
  const list = createList()
  const address = `0x${'AB'.repeat(20)}`
  const follower = list.follow({ type: 'wallet.large_trade', network: 'base', address })
  await follower.look()
  const wanted = { type: 'wallet.large_trade', address: address.toLowerCase() }
  list.add(1, { ...wanted, network: 'solana' })
  list.add(1, { ...wanted, type: 'wallet.new_position' })
  list.add(1, { ...wanted, address: '0xcd' })
  list.add(1, wanted)
  expect(seqs(await follower.look())).toEqual([4])
  // It reads back to the last look only.
  expect(list.calls).toBe(2)
})

test('with a status, returns an event each time it reaches the status', async () => {
  const list = createList()
  list.add(2_000)
  const set = (seq: number, status: EventSummaryJson['status']) =>
    (list.events[seq - 1] = { ...list.events[seq - 1]!, status })
  set(1_990, 'dead')
  const follower = list.follow({ status: 'dead' })
  expect(await follower.look()).toEqual([])
  set(1_001, 'dead')
  set(2_000, 'dead')
  expect(seqs(await follower.look())).toEqual([1_001, 2_000])
  set(1_001, 'done')
  expect(await follower.look()).toEqual([])
  set(1_001, 'dead')
  // Older than the newest 1,000.
  set(1_000, 'dead')
  expect(seqs(await follower.look())).toEqual([1_001])
})

test('follows a store that was replaced by a smaller one', async () => {
  const list = createList()
  list.add(10)
  const follower = list.follow()
  await follower.look()
  list.events.length = 4
  expect(await follower.look()).toEqual([])
  list.add(1)
  expect(seqs(await follower.look())).toEqual([5])
})
