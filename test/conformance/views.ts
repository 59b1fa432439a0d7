import { describe, expect } from 'vitest'
import type { Page } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, stageTest, anEvent, boom } from './stage.ts'

/** Events, and dead letters. */
export function describeViews(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('events', () => {
    test('lists newest first', async ({ stage }) => {
      await stage.accept(anEvent('b', { receivedAt: 30 }), anEvent('a', { receivedAt: 10 }))
      await stage.accept(anEvent('c', { receivedAt: 20, network: 'base', address: '0xab', type: 'wallet.pnl' }))
      const { data, nextCursor } = await stage.inbox.events({ limit: 10 })
      expect(data.map(({ id }) => id)).toEqual(['c', 'a', 'b'])
      expect(nextCursor).toBeNull()
      expect(data[0]).toEqual({
        seq: 3,
        id: 'c',
        source: 'default',
        type: 'wallet.pnl',
        createdAt: '2026-01-01T00:00:00Z',
        receivedAt: 20,
        network: 'base',
        address: '0xab',
        status: 'pending',
      })
    })

    test('refuse an invalid cursor', async ({ stage: { inbox } }) => {
      for (const cursor of ['', 'x', 'bm90IGEgbnVtYmVy', 'MS4yLjM', '../..', "' OR 1=1 --"]) {
        const refusal = expect.objectContaining({ code: 'bad_request' })
        await expect(inbox.events({ limit: 1, cursor }), cursor).rejects.toEqual(refusal)
        await expect(inbox.deadLetters({ limit: 1, cursor }), cursor).rejects.toEqual(refusal)
        await expect(inbox.quarantine({ limit: 1, cursor }), cursor).rejects.toEqual(refusal)
        await expect(inbox.conflicts({ limit: 1, cursor }), cursor).rejects.toEqual(refusal)
      }
    })

    test('unknownIds returns the ids that no event has, pruned events included', async () => {
      await using stage = await Stage.open(harness, [])
      await stage.accept(anEvent('a'), anEvent('b', { receivedAt: 0 }))
      await stage.inbox.prune({ receivedBefore: 1, maxBytes: null })
      expect(await stage.inbox.unknownIds(['a', 'x', 'b', 'A'])).toEqual(['x', 'A'])
      expect(await stage.inbox.unknownIds([])).toEqual([])
    })
  })

  describe('dead letters', () => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    const withDead = async () => {
      const stage = await Stage.open(harness)
      for (const id of ids) {
        await stage.accept(anEvent(id, { key: 'k', type: `type.${id}` }))
        await stage.clock.advance(10)
        await stage.killReady()
      }
      return stage
    }

    test('are listed by time of death across pages, independent of run ids', async ({ stage }) => {
      await stage.accept(...ids.map((id) => anEvent(id)))
      const leases = new Map((await stage.claim()).map((lease) => [lease.event.id, lease]))
      for (const together of [['c'], ['e', 'a'], ['b', 'd']]) {
        await stage.clock.advance(10)
        await stage.dead(...together.map((id) => leases.get(id)!))
      }
      const order = ['d', 'b', 'e', 'a', 'c']
      const { data } = await stage.inbox.deadLetters({ limit: 5 })
      expect(data.map(({ eventId }) => eventId)).toEqual(order)
      const { runId } = leases.get('d')!
      const dead = { runId, eventId: 'd', type: 'wallet.large_trade', handler: 'ordered', attempt: 1, crashed: 0 }
      expect(data[0]).toEqual({ ...dead, diedAt: stage.clock.now(), held: false, error: boom })
      expect(await stage.inbox.deadLetter(runId)).toEqual(data[0])
      expect(await stage.inbox.deadLetter(4_711)).toBeNull()
    })

    test('are counted for an hour after their death, unless requeued', async () => {
      await using stage = await withDead()
      await stage.clock.advance(3_599_960)
      expect(await stage.inbox.deadLastHour()).toBe(5)
      await stage.clock.advance(20)
      expect(await stage.inbox.deadLastHour()).toBe(3)
      await stage.inbox.requeueDead([(await stage.run('e')).runId])
      expect(await stage.inbox.deadLastHour()).toBe(2)
    })

    test('are listed once each while more die and some are requeued', async () => {
      await using stage = await withDead()
      let pages = 0
      const seen = await readAll(async (cursor) => {
        const page = await stage.inbox.deadLetters({ ...cursor, limit: 2 })
        await stage.inbox.requeueDead(page.data.map(({ runId }) => runId))
        await stage.accept(anEvent(`more${(pages += 1)}`))
        await stage.killReady()
        return page
      })
      expect(seen.slice(0, 3).map(({ eventId }) => eventId)).toEqual(['e', 'd', 'c'])
      expect(new Set(seen.map(({ runId }) => runId)).size).toBe(seen.length)
    })

    test('start again when requeued, and keep their attempts', async ({ stage }) => {
      await stage.accept(anEvent('a'))
      await stage.retry(await stage.claimOne())
      await stage.killReady()
      await stage.inbox.requeueDead('all')
      expect(await stage.run('a')).toMatchObject({ state: 'ready', attempt: 0, crashed: 0 })
      const lease = await stage.claimOne()
      expect(lease).toMatchObject({ attempt: 1, crashed: 0 })
      await stage.done(lease)
      expect((await stage.run('a')).attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
        [1, 'retry'],
        [2, 'dead'],
        [1, 'done'],
      ])
    })
  })
}

/** Reads page after page until there is no cursor. */
export async function readAll<T>(read: (cursor: { readonly cursor?: string }) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = []
  let page = await read({})
  all.push(...page.data)
  while (page.nextCursor !== null) {
    page = await read({ cursor: page.nextCursor })
    all.push(...page.data)
  }
  return all
}
