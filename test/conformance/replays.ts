import { describe, expect, test } from 'vitest'
import type { Lease, NewReplay, ReplayRecord } from '../../src/inbox/port.ts'
import { type ConformanceHarness, Stage, anEvent, idsOf, loose, ordered } from './stage.ts'
import { readAll } from './views.ts'

const replayOf = (filter: NewReplay['filter'], given: Partial<NewReplay> = {}): NewReplay => ({
  filter,
  perSecond: null,
  newKeys: false,
  ...given,
})

const holding = { ...ordered, onDead: 'hold' } as const
const fourIds = ['e0', 'e1', 'e2', 'e3']

/** Replays and backfills. */
export function describeReplays(harness: ConformanceHarness): void {
  /** Events e0, e1 … of two types, all done. A large number has many keys, so that they run in parallel. */
  async function handled(count = 4): Promise<Stage> {
    const stage = await Stage.open(harness)
    const addresses = count < 1_000 ? 1 : 500
    const events = Array.from({ length: count }, (_, n) =>
      anEvent(`e${n}`, {
        network: n % 2 === 0 ? 'solana' : 'base',
        address: `A${n % addresses}`,
        type: n < 2 ? 'wallet.large_trade' : 'token.new_listing',
        receivedAt: stage.clock.now() + n,
      }),
    )
    await stage.accept(...events)
    for (let open = count; open > 0;) {
      const leases = await stage.claim({ max: 1_000 })
      await stage.done(...leases)
      open -= leases.length
    }
    return stage
  }

  /** 1,200 events of one key, then one of another, accepted before the handler `ordered` was registered. */
  async function withOneLongKey(): Promise<Stage> {
    const stage = await Stage.open(harness, [loose])
    const ofKey = (id: string, address: string) => anEvent(id, { network: 'base', address })
    await stage.accept(...Array.from({ length: 1_200 }, (_, n) => ofKey(`e${n}`, 'long')), ofKey('other', 'other'))
    await stage.inbox.register([holding])
    return stage
  }

  let workers = 0

  async function workOff(stage: Stage): Promise<string[]> {
    const seen: string[] = []
    for (;;) {
      workers += 1
      const owner = `worker ${workers}`
      const leases = await settled(stage, stage.claim({ owner }), owner)
      if (leases.length === 0) return seen
      seen.push(...idsOf(leases))
      await stage.done(...leases)
    }
  }

  /** The leases; none once no replay is running and no run is open. */
  async function settled(stage: Stage, claim: ReturnType<Stage['claim']>, owner: string) {
    for (;;) {
      const { data } = await stage.inbox.replays({ limit: 10 })
      const { ready, waiting } = await stage.stats()
      if (!(await stage.isWaiting(claim))) return claim
      if (ready + waiting === 0 && data.every(({ state }) => state !== 'running')) break
      await stage.clock.advance(50)
    }
    await stage.inbox.retire(owner)
    return claim
  }

  async function ended(stage: Stage, id: number): Promise<ReplayRecord> {
    for (;;) {
      const record = await stage.inbox.replay(id)
      if (record?.state !== 'running') return record!
      await stage.clock.advance(50)
    }
  }

  describe('a replay', () => {
    const filters: [string, NewReplay['filter'], string[]][] = [
      ['ids', { ids: ['e3', 'e1', 'e1', 'unknown'] }, ['e1', 'e3']],
      ['type', { type: 'token.new_listing' }, ['e2', 'e3']],
      ['network and address', { network: 'solana', address: 'A0' }, ['e0', 'e2']],
      ['time', { from: Date.UTC(2026, 0, 1) + 1, to: Date.UTC(2026, 0, 1) + 3 }, ['e1', 'e2']],
      ['status', { status: 'done' }, ['e0', 'e1', 'e2', 'e3']],
      ['all of them', { ids: ['e0', 'e1'], network: 'base', status: 'done' }, ['e1']],
      ['handler', { handler: 'ordered', type: 'wallet.large_trade' }, ['e0', 'e1']],
    ]

    test('creates the runs that its dry run counts, for each filter', async () => {
      await using stage = await handled()
      for (const [index, [name, filter, ids]] of filters.entries()) {
        const id = index + 1
        expect(await stage.inbox.countReplay(filter), name).toEqual({ events: ids.length, skipped: 0 })
        const replay = await stage.inbox.startReplay(replayOf(filter))
        expect(replay).toMatchObject({ id, state: 'running', filter, newKeys: false, perSecond: null, lastSeq: 4 })
        expect((await workOff(stage)).toSorted(), name).toEqual(ids)
        const record = await ended(stage, id)
        expect(record).toMatchObject({ state: 'done', events: ids.length, runs: ids.length, openRuns: 0 })
      }
    })

    test('rejects an empty filter and too many ids', async () => {
      await using stage = await handled()
      const refused = expect.objectContaining({ code: 'bad_request' })
      for (const filter of [{}, { ids: undefined } as never]) {
        await expect(stage.inbox.startReplay(replayOf(filter))).rejects.toEqual(refused)
        await expect(stage.inbox.countReplay(filter)).rejects.toEqual(refused)
      }
      const tooMany = { ids: Array.from({ length: 1_001 }, (__, n) => `e${n}`) }
      await expect(stage.inbox.startReplay(replayOf(tooMany))).rejects.toEqual(refused)
      expect((await stage.inbox.replays({ limit: 9 })).data).toEqual([])
    })

    test('with a handler matches only the types that it takes', async () => {
      await using stage = await handled()
      await stage.inbox.register([ordered, { ...ordered, name: 'listings', types: ['token.*'] }])
      const filter = { handler: 'listings', from: 0 }
      expect(await stage.inbox.countReplay(filter)).toEqual({ events: 2, skipped: 0 })
      expect(await stage.inbox.countReplay({ ids: ['e0', 'e2'], handler: 'listings' })).toMatchObject({ events: 1 })
      await stage.inbox.startReplay(replayOf(filter))
      const leases = await stage.claim({ handlers: ['listings'] })
      expect(idsOf(leases)).toEqual(['e2', 'e3'])
      await stage.done(...leases)
      expect(await ended(stage, 1)).toMatchObject({ state: 'done', events: 2, runs: 2, skipped: 0 })
    })

    test('rejects an unknown handler and names the known ones', async () => {
      await using stage = await handled()
      const refused = expect.objectContaining({
        code: 'not_found',
        message: 'there is no handler "typo": expected one of ordered',
      })
      await expect(stage.inbox.startReplay(replayOf({ handler: 'typo' }))).rejects.toEqual(refused)
      await expect(stage.inbox.countReplay({ handler: 'typo' })).rejects.toEqual(refused)
      expect((await stage.inbox.replays({ limit: 9 })).data).toEqual([])
    })

    test('creates at most 1,000 open runs, and more as they end', async () => {
      await using stage = await handled(1_500)
      await stage.inbox.startReplay(replayOf({ status: 'done' }))
      await stage.until(async () => (await stage.inbox.replay(1))!.runs >= 1_000)
      await stage.clock.advance(1_000)
      expect(await stage.inbox.replay(1)).toMatchObject({ state: 'running', runs: 1_000, openRuns: 1_000 })
      expect(new Set(await workOff(stage)).size).toBe(1_500)
      expect(await ended(stage, 1)).toMatchObject({ runs: 1_500, scannedSeq: 1_500, lastSeq: 1_500 })
    })

    test('continues past a blocked key, however many runs wait for it', async () => {
      await using stage = await withOneLongKey()
      await stage.inbox.startReplay(replayOf({ handler: 'ordered' }))
      await stage.until(async () => (await stage.stats('ordered')).ready > 0)
      await stage.dead(await stage.claimOne())
      await stage.until(async () => (await stage.inbox.replay(1))!.scannedSeq === 1_201)
      expect(idsOf(await stage.claim())).toEqual(['other'])
    })

    test('keeps its rate', async () => {
      await using stage = await handled(30)
      const begunAt = stage.clock.now()
      await stage.inbox.startReplay(replayOf({ status: 'done' }, { perSecond: 10 }))
      const created = async () => (await stage.inbox.replay(1))!.runs
      await stage.until(async () => (await created()) >= 19)
      expect(stage.clock.now() - begunAt).toBeGreaterThanOrEqual(800)
      // The runs of one second may be created at once.
      const runs = await created()
      expect(runs).toBeLessThanOrEqual(10 + (stage.clock.now() - begunAt) / 100 + 1)
    })

    const mail = { name: 'mail', types: [], order: 'key' } as const

    /** Settles runs as done in one batch. Each leaves an item for `mail` with its event id. */
    async function leave(stage: Stage, ...leases: readonly Lease[]): Promise<void> {
      const outcomes = leases.map(({ runId, token, event }) => {
        const item = { sink: 'mail', key: null, payload: '1', idempotencyKey: event.id }
        const effects = { reads: [], writes: [], items: [item] }
        return { runId, token, startedAt: 0, endedAt: 0, kind: 'done', effects } as const
      })
      expect(await stage.inbox.settle(outcomes)).toEqual(outcomes.map(() => 'applied'))
    }

    /** Ends leases in four ways after which a run is tried again. */
    async function endEach(stage: Stage, [retried, snoozed, released, reaped]: readonly Lease[]): Promise<void> {
      expect(await stage.settle(retried!, 'retry', 0)).toEqual(['applied'])
      expect(await stage.settle(snoozed!, 'snooze', 0)).toEqual(['applied'])
      await stage.release(released!)
      expect(reaped).toBeDefined()
      expect(await stage.inbox.reap('worker')).toMatchObject({ runs: 1 })
    }

    test('drops runs in flight at cancel after a retry, a snooze, a release and a reap', async () => {
      await using stage = await Stage.open(harness, [loose])
      await stage.accept(...fourIds.map((id) => anEvent(id)))
      await stage.done(...(await stage.claim({ handlers: ['loose'] })))
      await stage.inbox.startReplay(replayOf({ ids: fourIds }))
      const leases = await stage.claim({ handlers: ['loose'] })
      await stage.inbox.cancelReplay(1)
      await endEach(stage, leases)
      for (const id of fourIds) expect((await stage.detail(id)).runs[1], id).toMatchObject({ state: 'dropped' })
      expect(await stage.inbox.replay(1)).toMatchObject({ openRuns: 0 })
    })

    test('delivers its items after live ones, also to a waiting sink', async () => {
      await using stage = await handled()
      await stage.inbox.register([ordered, mail])
      await stage.inbox.startReplay(replayOf({ ids: ['e0'] }, { newKeys: true }))
      const replayed = await stage.claimOne()
      await stage.accept(anEvent('live'))
      const live = await stage.claimOne()
      const waiting = stage.claim({ handlers: ['mail'], max: 1 })
      await leave(stage, replayed, live)
      expect(await waiting).toMatchObject([{ item: { idempotencyKey: 'live' }, replay: null }])
      const behind = await stage.claimOne({ handlers: ['mail'] })
      expect(behind).toMatchObject({ item: { idempotencyKey: 'e0' }, replay: { id: 1, newKeys: true } })
    })

    test('delivers items after cancel, again after a retry, a snooze, a release and a reap', async () => {
      await using stage = await Stage.open(harness, [loose, mail])
      await stage.accept(...fourIds.map((id) => anEvent(id)))
      await stage.done(...(await stage.claim({ handlers: ['loose'] })))
      await stage.inbox.startReplay(replayOf({ ids: fourIds }))
      await leave(stage, ...(await stage.claim({ handlers: ['loose'] })))
      const items = await stage.claim({ handlers: ['mail'] })
      await stage.inbox.cancelReplay(1)
      await endEach(stage, items)
      const ready = await stage.claim({ handlers: ['mail'], owner: 'next' })
      const suspects = await stage.claim({ handlers: ['mail'], suspects: true, owner: 'next' })
      expect(idsOf(ready).toSorted()).toEqual(fourIds.slice(0, 3))
      expect(suspects).toMatchObject([{ runId: items[3]!.runId, replay: { id: 1 } }])
    })

    test('is listed, newest first, page by page', async () => {
      await using stage = await handled()
      for (let n = 0; n < 5; n += 1) await stage.inbox.startReplay(replayOf({ ids: [`e${n}`] }))
      const seen = await readAll((cursor) => stage.inbox.replays({ ...cursor, limit: 2 }))
      expect(seen.map(({ id, filter }) => [id, filter.ids])).toEqual([5, 4, 3, 2, 1].map((id) => [id, [`e${id - 1}`]]))
      expect(await stage.inbox.replay(9)).toBeNull()
    })

    test('continues after a reopen and a crash', async () => {
      await using stage = await handled(1_500)
      await stage.inbox.startReplay(replayOf({ status: 'done' }))
      await stage.clock.advance(100)
      await stage.reopen()
      await stage.clock.advance(100)
      await stage.crash()
      expect(new Set(await workOff(stage)).size).toBe(1_500)
      expect(await ended(stage, 1)).toMatchObject({ state: 'done', runs: 1_500 })
    })
  })

  describe('a new handler', () => {
    const late = (from: 'now' | 'beginning' | number) => ({ ...ordered, name: 'late', from }) as const
    const claimLate = (stage: Stage) => ({ handlers: ['late'], owner: `late ${stage.clock.now()}` })

    test('from the beginning gets stored events before later ones, in order', async () => {
      await using stage = await handled()
      await stage.inbox.register([ordered, late('beginning')])
      await stage.accept(anEvent('after', { network: 'solana', address: 'A0' }))
      await stage.clock.advance(100)
      const order: string[] = []
      for (let leases = await stage.claim(claimLate(stage)); ; leases = await stage.claim(claimLate(stage))) {
        order.push(...idsOf(leases))
        await stage.done(...leases)
        if (order.length === 5) break
        await stage.clock.advance(100)
      }
      expect(order.filter((id) => ['e0', 'e2', 'after'].includes(id))).toEqual(['e0', 'e2', 'after'])
      expect(new Set(order)).toEqual(new Set(['e0', 'e1', 'e2', 'e3', 'after']))
      await stage.accept(anEvent('live'))
      expect(await stage.claimOne(claimLate(stage))).toMatchObject({ event: { id: 'live' }, replay: null })
    })

    test('from a time gets events received since then', async () => {
      await using stage = await handled()
      await stage.inbox.register([ordered, late(Date.UTC(2026, 0, 1) + 2)])
      await stage.clock.advance(100)
      expect(idsOf(await stage.claim(claimLate(stage))).toSorted()).toEqual(['e2', 'e3'])
    })

    test('from now gets new events only; `from` is ignored for a known handler', async () => {
      await using stage = await handled()
      await stage.inbox.register([{ ...ordered, from: 'beginning' }, late('now')])
      await stage.clock.advance(100)
      const claim = stage.claim({ handlers: ['ordered', 'late'] })
      expect(await stage.isWaiting(claim)).toBe(true)
      await stage.accept(anEvent('new'))
      const leases = [...(await claim)]
      // A waiting claim may get the runs of one handler first.
      if (leases.length < 2) leases.push(...(await stage.claim({ handlers: ['ordered', 'late'] })))
      expect(leases.map(({ event, handler }) => `${event.id} ${handler}`).toSorted()).toEqual([
        'new late',
        'new ordered',
      ])
    })

    test('gets no stored events after its pending runs were discarded', async () => {
      await using stage = await handled(1_500)
      await stage.inbox.register([ordered, late('beginning')])
      const lateStats = async () => (await stage.inbox.stats()).handlers.find(({ handler }) => handler === 'late')
      await stage.until(async () => ((await lateStats())?.backfillSeq ?? 0) > 1_000)
      await stage.inbox.register([ordered])
      expect(await lateStats()).toMatchObject({ backfillSeq: 1_001 })
      expect(await stage.inbox.discardPendingRuns('late', 'gone')).toBe(1_000)
      expect((await lateStats())?.backfillSeq ?? null).toBe(null)
      await stage.inbox.register([ordered, late('now')])
      await stage.clock.advance(1_000)
      expect(await stage.isWaiting(stage.claim(claimLate(stage)))).toBe(true)
    })
  })
}
