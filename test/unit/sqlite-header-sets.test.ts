import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { openMemoryStore, type OpenStore } from '../../src/inbox/sqlite/open.ts'
import { createViews } from '../../src/inbox/sqlite/views.ts'
import { anEvent } from '../conformance/stage.ts'

const clock = createTestClock(1_000)
let open: OpenStore

beforeEach(async () => {
  open = await openMemoryStore({ clock })
})
afterEach(() => open.close())

const accept = (id: string, headers: string | null) =>
  open.store.transact([], () => open.store.accept([anEvent(id, { headers })]))
const headersOf = async (id: string) => (await createViews(open.db, clock).event(id))?.headers
const setCount = () => open.db.prepare('SELECT count(*) FROM header_set').pluck().get()

test('stores each set once, and at most 1,000 sets; other headers are dropped', async () => {
  for (let n = 0; n < 1_010; n += 1) accept(`e${n}`, `{"via":"${n}"}`)
  expect(setCount()).toBe(1_000)
  expect(await headersOf('e999')).toBe('{"via":"999"}')
  expect(await headersOf('e1000')).toBeNull()
  accept('again', '{"via":"5"}')
  expect(await headersOf('again')).toBe('{"via":"5"}')
})

test('a rolled-back set is stored the next time', async () => {
  const failing = () => {
    open.store.accept([anEvent('a', { headers: '{"via":"a"}' })])
    throw new Error('rolled back')
  }
  expect(() => open.store.transact([], failing)).toThrow('rolled back')
  expect(setCount()).toBe(0)
  accept('a', '{"via":"a"}')
  expect(await headersOf('a')).toBe('{"via":"a"}')
})
