import { describe, expect } from 'vitest'
import {
  type ConformanceHarness,
  Stage,
  stageTest,
  aQuarantined,
  anEvent,
  idsOf,
  loose,
  noRuns,
  ordered,
} from './stage.ts'

interface LargeAction {
  readonly stage: Stage
  readonly act: () => Promise<number | null>
  readonly action: string
  readonly detailOf: (done: number) => object
  readonly left: (stage: Stage) => Promise<number>
}

/** Operator actions. */
export function describeActions(harness: ConformanceHarness): void {
  const test = stageTest(harness)

  test('a dead letter is dropped for good, with a stored reason', async ({ stage }) => {
    await stage.accept(anEvent('a'), anEvent('b'), anEvent('c'))
    await stage.killReady()
    const { runId } = await stage.run('b')
    expect(await stage.inbox.dropDead([runId, 4_711], 'a test event')).toBe(1)
    expect(await stage.inbox.dropDead([runId], 'again')).toBe(0)
    const b = await stage.detail('b')
    expect(b).toMatchObject({ status: 'dropped', runs: [{ state: 'dropped' }] })
    expect(b.runs[0]!.attempts.at(-1)).toMatchObject({ outcome: 'dropped', error: { message: 'a test event' } })
    expect(await stage.inbox.requeueDead([runId])).toBe(0)
    expect(await stage.inbox.dropDead('all', 'all of them')).toBe(2)
    expect(await stage.stats()).toEqual(noRuns)
    expect((await stage.inbox.audit({ limit: 1 })).data).toMatchObject([
      { action: 'dead.drop', at: stage.clock.now(), detail: { reason: 'all of them' } },
    ])
  })

  describe('a body in quarantine', () => {
    test('is accepted as an event when it is retried', async ({ stage }) => {
      await stage.accept(aQuarantined('x'))
      expect(await stage.inbox.retryQuarantined('sha256:x', anEvent('a'))).toBe('accepted')
      expect(await stage.inbox.retryQuarantined('sha256:x', anEvent('b'))).toBeNull()
      expect((await stage.inbox.quarantine({ limit: 9 })).data).toEqual([])
      expect(idsOf(await stage.claim())).toEqual(['a'])
      expect(await stage.inbox.event('b')).toBeNull()
      await stage.accept(aQuarantined('y'), aQuarantined('x'))
      expect((await stage.inbox.quarantine({ limit: 9 })).data.map(({ id }) => id)).toEqual(['sha256:x', 'sha256:y'])
    })

    test('is dropped with a stored reason', async ({ stage }) => {
      await stage.accept(aQuarantined('x'))
      expect(await stage.inbox.dropQuarantined('sha256:x', 'noise')).toBe(true)
      expect(await stage.inbox.dropQuarantined('sha256:x', 'noise')).toBe(false)
      expect(await stage.inbox.quarantined('sha256:x')).toBeNull()
      const detail = { id: 'sha256:x', reason: 'noise' }
      expect((await stage.inbox.audit({ limit: 9 })).data).toMatchObject([{ action: 'quarantine.drop', detail }])
    })
  })

  test('the concurrency of a handler survives a reopen, until it is reset', async ({ stage }) => {
    const concurrency = async () => (await stage.inbox.stats()).handlers[0]!.concurrency
    expect(await concurrency()).toBeNull()
    expect(await stage.inbox.setConcurrency('ordered', 3)).toBe(true)
    expect(await stage.inbox.setConcurrency('unknown', 3)).toBe(false)
    await stage.reopen()
    expect(await concurrency()).toBe(3)
    expect(await stage.inbox.register([ordered, loose])).toEqual({ ordered: 3 })
    expect(await stage.inbox.setConcurrency('ordered', null)).toBe(true)
    expect(await concurrency()).toBeNull()
  })

  describe('a large action', () => {
    const count = 1_703
    /** `prune` takes smaller steps. */
    const few = 703
    const by = 'operator (token) 127.0.0.1'
    const dead = async () => {
      const stage = await Stage.open(harness)
      await stage.accept(...Array.from({ length: count }, (_, n) => anEvent(`e${n}`)))
      await stage.dead(...(await stage.claim({ max: count })))
      return { stage, runIds: (await stage.inbox.deadRunIds({})).runIds }
    }
    const leftDead = async ({ inbox }: Stage) => (await inbox.stats()).handlers[0]!.dead
    /** Each opens a stage. `detailOf`: the audit detail after `done` of them. `left`: how many are left. */
    const acts: Record<string, () => Promise<LargeAction>> = {
      'requeueDead of many ids': async () => {
        const { stage, runIds } = await dead()
        const act = () => stage.inbox.requeueDead(runIds.toReversed(), by)
        const runs = runIds.slice(0, 1_000)
        const detailOf = (done: number) => ({ runs, count: done })
        return { stage, act, action: 'dead.requeue', detailOf, left: leftDead }
      },
      'dropDead of all': async () => {
        const { stage } = await dead()
        const act = () => stage.inbox.dropDead('all', 'no', by)
        const detailOf = (done: number) => ({ reason: 'no', runs: 'all', count: done })
        return { stage, act, action: 'dead.drop', detailOf, left: leftDead }
      },
      discardPendingRuns: async () => {
        const stage = await Stage.open(harness)
        await stage.accept(...Array.from({ length: count }, (_, n) => anEvent(`e${n}`)))
        const act = () => stage.inbox.discardPendingRuns('ordered', 'no', by)
        const detailOf = (done: number) => ({ handler: 'ordered', reason: 'no', count: done })
        const left = async ({ inbox }: Stage) => (await inbox.stats()).handlers[0]!.ready
        return { stage, act, action: 'handler.drop', detailOf, left }
      },
      prune: async () => {
        const stage = await Stage.open(harness)
        await stage.accept(...Array.from({ length: few }, (_, n) => anEvent(`e${n}`, { receivedAt: 1 })))
        await stage.done(...(await stage.claim({ max: few })))
        const act = async () => (await stage.inbox.prune({ receivedBefore: 2, maxBytes: null }, 'noted', by)).events
        const left = async ({ inbox }: Stage) => {
          const { events, skipped } = await inbox.countReplay({ from: 0 })
          return events - skipped
        }
        const detailOf = (events: number) => ({ receivedBefore: 2, events, quarantined: 0 })
        return { stage, act, action: 'prune', detailOf, left }
      },
    }

    const notes = async ({ inbox }: Stage) =>
      (await inbox.audit({ limit: 9 })).data.map((record) => ({ ...record, id: 0, at: 0 }))

    test.each(Object.keys(acts))('writes its progress to the audit when it is interrupted: %s', async (name) => {
      const { stage, act, action, detailOf, left } = await acts[name]!()
      await using _stage = stage
      for (const rounds of [1, 2]) {
        const before = await left(stage)
        const notedBefore = (await notes(stage)).length
        const step = await stage.gate()
        act().catch(() => {})
        for (let round = 0; round < rounds; round += 1) await step()
        await stage.crash()
        const done = before - (await left(stage))
        expect(done).toBeGreaterThan(0)
        expect(done).toBeLessThan(before)
        const found = await notes(stage)
        expect(found).toHaveLength(notedBefore + 1)
        expect(found[0]).toMatchObject({ action, detail: detailOf(done), by })
      }
      const rest = await left(stage)
      expect(await act()).toBe(rest)
      expect(await left(stage)).toBe(0)
      expect((await notes(stage))[0]).toMatchObject({ action, detail: detailOf(rest), by })
      expect(await notes(stage)).toHaveLength(3)
      expect(await act()).toBe(0)
    })
  })
}
