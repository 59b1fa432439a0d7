import { describe, expect, test } from 'vitest'
import type { EventQuery, EventStatus, Page } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, anEvent, boom, idsOf, loose, noRuns, ordered } from './stage.ts'

/** What the reads for operators promise. */
export function describeViews(harness: ConformanceHarness): void {
  describe('status of an event', () => {
    const route = { types: ['*'], order: 'key' } as const
    const routes = [
      { ...route, name: 'ordered' },
      { ...route, name: 'second' },
    ]
    const second = { handlers: ['second'] }
    const cases: [EventStatus, string, (stage: Stage) => Promise<unknown>][] = [
      ['pending', 'nothing was tried', async () => {}],
      ['running', 'a run has a lease', (stage) => stage.claimOne()],
      ['pending', 'a lease was released', async (stage) => stage.release(await stage.claimOne())],
      ['retrying', 'a run will be tried again', async (stage) => stage.retry(await stage.claimOne())],
      ['retrying', 'a run is a suspect', (stage) => stage.crashRun(1)],
      ['pending', 'one run is done, one is not', async (stage) => stage.done(await stage.claimOne())],
      ['pending', 'one run is dead, one is open', (stage) => stage.killReady()],
      ['done', 'all are done', async (stage) => stage.done(await stage.claimOne(), await stage.claimOne(second))],
      [
        'dropped',
        'a dead one was dropped, one is open no more',
        async (s) => {
          await s.killReady()
          await s.done(await s.claimOne(second))
          await s.inbox.dropDead('all', 'x')
        },
      ],
      [
        'dead',
        'one is dropped, one dead',
        async (s) => {
          await s.inbox.discardPendingRuns('second', 'x')
          await s.killReady()
        },
      ],
      ['dead', 'one is dead, one done', async (s) => (await s.killReady(), s.done(await s.claimOne(second)))],
      [
        'running',
        'one runs, one is to be retried',
        async (s) => (await s.claimOne(), s.retry(await s.claimOne(second))),
      ],
      ['pending', 'a dead one was requeued', async (s) => (await s.killReady(), s.inbox.requeueDead('all'))],
    ]

    test.each(cases)('is %s when %s', async (status, _, act) => {
      await using stage = await Stage.open(harness, routes)
      await stage.accept(anEvent('a'))
      await act(stage)
      expect(await stage.detail('a')).toMatchObject({ status })
      expect((await stage.inbox.events({ limit: 10 })).data).toMatchObject([{ id: 'a', status }])
      expect((await stage.inbox.events({ limit: 10, status })).data).toHaveLength(1)
      const others = [
        'pending',
        'running',
        'retrying',
        'done',
        'dead',
        'unhandled',
        'held',
        'expired',
        'dropped',
      ] as const
      for (const other of others.filter((candidate) => candidate !== status)) {
        expect((await stage.inbox.events({ limit: 10, status: other })).data).toEqual([])
      }
    })

    test('is pending for a run that waits for its key, and unhandled without runs', async () => {
      await using stage = await Stage.open(harness, [{ ...ordered, types: ['a'] }])
      await stage.accept(anEvent('a', { type: 'a', key: 'k' }), anEvent('b', { type: 'a', key: 'k' }), anEvent('c'))
      await stage.claimOne()
      const { data } = await stage.inbox.events({ limit: 10 })
      expect(data.map(({ id, status }) => [id, status])).toEqual([
        ['c', 'unhandled'],
        ['b', 'pending'],
        ['a', 'running'],
      ])
    })
  })

  describe('a replay that was cancelled', () => {
    test('leaves the status of an event as it was', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.done(await stage.claimOne())
      await stage.inbox.startReplay({ filter: { ids: ['a'] }, perSecond: null, newKeys: false })
      await stage.until(async () => (await stage.detail('a')).status === 'pending')
      await stage.inbox.cancelReplay(1)
      expect(await stage.detail('a')).toMatchObject({ status: 'done', runs: [{ state: 'done' }, { state: 'dropped' }] })
    })
  })

  describe('events', () => {
    test('lists newest first', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('b', { receivedAt: 30 }), anEvent('a', { receivedAt: 10 }))
      await stage.accept(anEvent('c', { receivedAt: 20, network: 'base', address: '0xab', type: 'wallet.pnl' }))
      const { data, nextCursor } = await stage.inbox.events({ limit: 10 })
      expect(data.map(({ id }) => id)).toEqual(['c', 'a', 'b'])
      expect(nextCursor).toBeNull()
      expect(data[0]).toEqual({
        seq: 3,
        id: 'c',
        type: 'wallet.pnl',
        createdAt: '2026-01-01T00:00:00Z',
        receivedAt: 20,
        network: 'base',
        address: '0xab',
        status: 'pending',
      })
    })

    test('is empty in an empty inbox', async () => {
      await using stage = await Stage.open(harness)
      expect(await stage.inbox.events({ limit: 10 })).toEqual({ data: [], nextCursor: null, searchedTo: null })
      expect(await stage.inbox.event('a')).toBeNull()
    })

    const filters: [Omit<EventQuery, 'limit'>, string[]][] = [
      [{ type: 'x' }, ['d', 'c', 'a']],
      [{ network: 'solana' }, ['c', 'b', 'a']],
      [{ address: 'A' }, ['d', 'b', 'a']],
      [{ network: 'solana', address: 'A' }, ['b', 'a']],
      [{ type: 'x', network: 'solana', address: 'A' }, ['a']],
      [{ from: 20 }, ['e', 'd', 'c', 'b']],
      [{ to: 20 }, ['a']],
      [{ from: 20, to: 40 }, ['c', 'b']],
      [{ status: 'unhandled', network: 'solana' }, ['b']],
      [{ status: 'pending', from: 30 }, ['d', 'c']],
      [{ type: 'x*' }, []],
      [{ network: '' }, []],
      [{ address: 'a' }, []],
    ]

    test.each(filters)('filters by %j', async (filter, ids) => {
      await using stage = await Stage.open(harness, [{ ...ordered, types: ['x'] }])
      await stage.accept(
        anEvent('a', { type: 'x', network: 'solana', address: 'A', receivedAt: 10 }),
        anEvent('b', { type: 'y', network: 'solana', address: 'A', receivedAt: 20 }),
        anEvent('c', { type: 'x', network: 'solana', address: 'B', receivedAt: 30 }),
        anEvent('d', { type: 'x', network: 'base', address: 'A', receivedAt: 40 }),
        anEvent('e', { type: 'z', receivedAt: 50 }),
      )
      const { data } = await stage.inbox.events({ ...filter, limit: 10 })
      expect(data.map(({ id }) => id)).toEqual(ids)
      const paged = await readAll((cursor) => stage.inbox.events({ ...filter, ...cursor, limit: 1 }))
      expect(paged.map(({ id }) => id)).toEqual(ids)
    })

    test('pages through all, each once, while more arrive', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...Array.from({ length: 25 }, (_, i) => anEvent(`e${i}`)))
      let more = 0
      const seen = await readAll(async (cursor) => {
        const page = await stage.inbox.events({ ...cursor, limit: 7 })
        await stage.accept(anEvent(`more${(more += 1)}`), anEvent(`and${more}`))
        return page
      })
      expect(seen.map(({ id }) => id)).toEqual(Array.from({ length: 25 }, (_, i) => `e${24 - i}`))
    })

    test('gives no cursor when the last page is exactly full', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'), anEvent('b'))
      expect((await stage.inbox.events({ limit: 2 })).nextCursor).toBeNull()
    })

    test.each(['', 'x', 'bm90IGEgbnVtYmVy', 'MS4yLjM', '../..', "' OR 1=1 --"])(
      'refuses the cursor %j',
      async (cursor) => {
        await using stage = await Stage.open(harness)
        const refusal = expect.objectContaining({ code: 'bad_request' })
        await expect(stage.inbox.events({ limit: 1, cursor })).rejects.toEqual(refusal)
        await expect(stage.inbox.deadLetters({ limit: 1, cursor })).rejects.toEqual(refusal)
        await expect(stage.inbox.quarantine({ limit: 1, cursor })).rejects.toEqual(refusal)
      },
    )

    test('says which ids no event has', async () => {
      await using stage = await Stage.open(harness, [])
      await stage.accept(anEvent('a'), anEvent('b', { receivedAt: 0 }))
      await stage.inbox.prune({ receivedBefore: 1, maxBytes: null })
      expect(await stage.inbox.unknownIds(['a', 'x', 'b', 'A'])).toEqual(['x', 'A'])
      expect(await stage.inbox.unknownIds([])).toEqual([])
    })

    test('shows one run per handler with the timeline of its attempts', async () => {
      await using stage = await Stage.open(harness, [ordered, loose])
      await stage.accept(anEvent('a'))
      await stage.crashRun(1)
      await stage.clock.advance(100)
      await stage.retry(await stage.claimOne({ suspects: true }))
      await stage.clock.advance(100)
      await stage.done(await stage.claimOne())
      const now = stage.clock.now()
      const { attempts } = await stage.run('a')
      expect(attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
        [1, 'crashed'],
        [2, 'retry'],
        [3, 'done'],
      ])
      expect(attempts[0]).toMatchObject({ endedAt: now - 200 })
      expect(attempts[1]).toMatchObject({ startedAt: now - 105, endedAt: now - 100, error: boom })
      expect(attempts[2]).toMatchObject({ startedAt: now - 5, endedAt: now, error: null })
      expect(await stage.run('a', 'loose')).toMatchObject({ handler: 'loose', state: 'ready', attempts: [] })
      expect((await stage.detail('a')).runs).toHaveLength(2)
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

    test('are listed newest first', async () => {
      await using stage = await withDead()
      const { data, nextCursor } = await stage.inbox.deadLetters({ limit: 10 })
      expect(data.map(({ eventId }) => eventId)).toEqual(ids.toReversed())
      expect(nextCursor).toBeNull()
      const { runId } = await stage.run('e')
      const known = { runId, eventId: 'e', type: 'type.e', handler: 'ordered', attempt: 1, crashed: 0 }
      expect(data[0]).toEqual({ ...known, diedAt: stage.clock.now(), held: false, error: boom })
    })

    test('are listed by time of death across pages, independent of run ids', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...ids.map((id) => anEvent(id)))
      const leases = new Map((await stage.claim()).map((lease) => [lease.event.id, lease]))
      for (const together of [['c'], ['e', 'a'], ['b', 'd']]) {
        await stage.clock.advance(10)
        await stage.dead(...together.map((id) => leases.get(id)!))
      }
      const order = ['d', 'b', 'e', 'a', 'c']
      expect((await stage.inbox.deadLetters({ limit: 5 })).data.map(({ eventId }) => eventId)).toEqual(order)
      for (const limit of [1, 2, 3]) {
        const seen = await readAll((cursor) => stage.inbox.deadLetters({ ...cursor, limit }))
        expect(seen.map(({ eventId }) => eventId)).toEqual(order)
      }
    })

    test('are paged, each once, while more die and some are requeued', async () => {
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

    test('are requeued all together', async () => {
      await using stage = await withDead()
      expect(await stage.inbox.requeueDead('all')).toBe(5)
      expect(await stage.inbox.deadLetters({ limit: 10 })).toEqual({ data: [], nextCursor: null })
      expect(await stage.stats()).toEqual({ ...noRuns, ready: 1, waiting: 4 })
      expect(await stage.inbox.requeueDead('all')).toBe(0)
    })

    test('are requeued in accept order', async () => {
      await using stage = await withDead()
      const runs = await Promise.all(['e', 'b', 'd', 'a', 'c'].map((id) => stage.run(id)))
      expect(await stage.inbox.requeueDead(runs.map(({ runId }) => runId))).toBe(5)
      const started: string[] = []
      for (const _ of ids) {
        const lease = await stage.claimOne()
        started.push(lease.event.id)
        await stage.done(lease)
      }
      expect(started).toEqual(ids)
    })

    test('are requeued by run id; ids of others are passed over', async () => {
      await using stage = await withDead()
      await stage.accept(anEvent('open'))
      const open = await stage.run('open')
      const b = await stage.run('b')
      expect(await stage.inbox.requeueDead([b.runId, open.runId, b.runId, 4_711])).toBe(1)
      expect(await stage.inbox.requeueDead([])).toBe(0)
      expect(await stage.states('a', 'b', 'c')).toEqual(['dead', 'ready', 'dead'])
      expect(await stage.run('open')).toEqual(open)
    })

    test('are tried anew when requeued, and keep their history', async () => {
      await using stage = await Stage.open(harness)
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

    test('that crashed are no suspects when requeued', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(anEvent('a'))
      await stage.crashRun(3)
      expect(await stage.inbox.requeueDead('all')).toBe(1)
      expect(await stage.claimOne()).toMatchObject({ attempt: 1, crashed: 0 })
    })

    test('wait, when requeued, behind the open run of their key, and go before younger ones', async () => {
      await using stage = await Stage.open(harness)
      await stage.accept(...['a', 'b', 'c'].map((id) => anEvent(id, { key: 'k' })))
      await stage.killReady()
      const b = await stage.claimOne()
      expect(idsOf([b])).toEqual(['b'])
      await stage.inbox.requeueDead('all')
      expect(await stage.states('a', 'b', 'c')).toEqual(['waiting', 'running', 'waiting'])
      await stage.done(b)
      expect(await stage.states('a', 'b', 'c')).toEqual(['ready', 'done', 'waiting'])
    })

    test('do not wait, when requeued, where no order is kept', async () => {
      await using stage = await Stage.open(harness, [loose])
      await stage.accept(anEvent('a', { key: 'k' }), anEvent('b', { key: 'k' }))
      await stage.dead(await stage.claimOne({ handlers: ['loose'] }))
      await stage.inbox.requeueDead('all')
      expect(idsOf(await stage.claim({ handlers: ['loose'] })).toSorted()).toEqual(['a', 'b'])
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
