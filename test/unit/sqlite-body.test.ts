import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openMemoryStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent, bytes, idsOf, ordered } from '../conformance/stage.ts'

/** An inbox with events whose rows can be deleted. */
async function anInboxWith(...ids: string[]) {
  const clock = createTestClock()
  const open = await openMemoryStore({ clock })
  let commits = 0
  const committed = () => {
    commits += 1
    return null
  }
  const inbox = createLocalSqliteInbox({ ...open, committed }, { clock })
  await inbox.register([ordered])
  await inbox.accept(ids.map((id) => anEvent(id, { key: `of ${id.slice(0, 1)}` })))
  return {
    inbox,
    clock,
    commits: () => commits,
    remove: (table: 'body' | 'event', seq: number) => void open.db.exec(`DELETE FROM ${table} WHERE seq = ${seq}`),
    claim: (max: number) => inbox.claim({ handlers: ['ordered'], max, owner: 'me', suspects: false }),
    [Symbol.asyncDispose]: () => inbox.close(),
  }
}

test('a claim returns at most 4 MiB of bodies, but at least one', async () => {
  await using stage = await anInboxWith()
  const large = Array.from({ length: 40 }, (_, n) =>
    anEvent(`e${n}`, { key: `k${n}`, raw: bytes('x'.repeat(1_000_000)) }),
  )
  const first = stage.claim(100)
  await stage.inbox.accept(large)
  const counts = [(await first).length]
  for (let left = 40 - counts[0]!; left > 0; left -= counts.at(-1)!) counts.push((await stage.claim(100)).length)
  expect(counts).toEqual(Array.from({ length: 8 }, () => 5))
  await stage.inbox.accept([anEvent('huge', { raw: bytes('x'.repeat(5_000_000)) })])
  expect(idsOf(await stage.claim(100))).toEqual(['huge'])
})

test.each(['body', 'event'] as const)(
  'runs without %s become dead letters: their keys continue, and no claim retries them in a loop',
  async (table) => {
    await using stage = await anInboxWith('a', 'a2', 'b', 'b2')
    for (const seq of [1, 3, 4]) stage.remove(table, seq)
    expect(idsOf(await stage.claim(10))).toEqual(['a2'])
    const { data } = await stage.inbox.deadLetters({ limit: 10 })
    const error = { name: 'body_missing', message: expect.stringMatching(/missing in the database/) }
    expect(data).toMatchObject([1, 2, 3].map(() => ({ attempt: 1, error })))
    const waiting = stage.claim(1)
    const before = stage.commits()
    await stage.clock.advance(60_000)
    expect(stage.commits()).toBe(before)
    await stage.inbox.close()
    expect(await waiting).toEqual([])
  },
)
