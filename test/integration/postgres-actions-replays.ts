import { describe, expect, onTestFinished, test } from 'vitest'
import { maxOpenRuns, type StepResult } from '../../src/inbox/jobs.ts'
import { versionOf, type HandlerRoute, type NewReplay } from '../../src/inbox/port.ts'
import { createViews } from '../../src/inbox/postgres/views.ts'
import { anEvent, bytes, loose, ordered } from '../conformance/stage.ts'
import { type ActionsStage, before, by, many, runState, statesOf, wrongKeys } from './postgres-actions-stage.ts'

const { waiting, ready, superseded } = runState

/** What replays and backfills promise of their steps. `openBare`: without handlers. */
export function describeReplaySteps(
  open: (...routes: readonly HandlerRoute[]) => Promise<ActionsStage>,
  openBare: () => Promise<ActionsStage>,
): void {
  describe('replays and backfills', () => {
    const all: NewReplay = { filter: { from: 0 }, perSecond: null, newKeys: false }

    async function untilEnded(step: () => Promise<StepResult>, between: () => Promise<unknown> = async () => {}) {
      let created = 0
      for (let result = await step(); result.next !== 'ended'; result = await step()) {
        created += result.created
        if (result.next === 'waits') await between()
      }
      return created
    }

    test('two leaders create each run once, within the limit of open runs', async () => {
      const stage = await open(loose)
      await stage.acceptIds(many(2_500))
      await stage.end(await stage.claim(2_500))
      const { id } = await stage.replays.start(all)
      const other = stage.replaysOn(stage.db)
      await Promise.all(
        [stage.replays, other].map((replays) =>
          untilEnded(
            () => replays.jobs.step(id, 200),
            async () => stage.end(await stage.claim(300)),
          ),
        ),
      )
      const runs = await stage.runs(`r.replay_id = ${id}`)
      expect(new Set(runs.map(({ event }) => event)).size).toBe(2_500)
      expect(runs).toHaveLength(2_500)
      expect(await stage.db.query(`SELECT state, events, runs, skipped, next_seq FROM inbox.replay`)).toEqual([
        { state: 1, events: 2_500, runs: 2_500, skipped: 0, next_seq: 2_501 },
      ])
    })

    test('go no further than so many open runs, and only the leader does anything', async () => {
      const stage = await open(loose, { ...loose, name: 'second' })
      await stage.acceptIds(many(1_500))
      await stage.end(await stage.claim(3_000))
      const { id } = await stage.replays.start(all)
      let isLeader = false
      const replays = stage.replaysOn(stage.db, () => isLeader)
      await replays.refresh()
      expect(replays.jobs.running()).toEqual([])
      isLeader = true
      expect(replays.jobs.running()).toMatchObject([{ id, perSecond: null }])
      for (let n = 0; n < 20; n += 1) await replays.jobs.step(id, 201)
      const { length } = await stage.runs(`r.replay_id = ${id} AND r.state < 5`)
      expect(length).toBe(maxOpenRuns)
      expect(await replays.jobs.step(id, 200)).toEqual({ created: 0, next: 'waits' })
      const claimed = await stage.claim(10)
      expect(await stage.replays.cancel(id, by)).toBe(true)
      expect(await stage.replays.cancel(id, by)).toBe(false)
      expect((await stage.runs(`r.state < 5`)).map(({ id: runId }) => runId)).toEqual(claimed)
      expect(await replays.jobs.step(id, 200)).toEqual({ created: 0, next: 'ended' })
      expect(replays.jobs.running()).toEqual([])
      expect((await stage.notes()).map(({ action, by: who }) => [action, who])).toEqual([
        ['replay.start', null],
        ['replay.cancel', by],
      ])
    })

    test('one that is cancelled while a step of it was looking creates nothing', async () => {
      const stage = await open(ordered)
      await stage.acceptIds(['a', 'b'])
      await stage.end(await stage.claim(2))
      const { id } = await stage.replays.start(all)
      const cancelling = stage.replaysOn(before(stage.db, async () => void (await stage.replays.cancel(id))))
      expect(await cancelling.jobs.step(id, 200)).toMatchObject({ created: 0 })
      expect(await stage.runs(`r.replay_id = ${id}`)).toEqual([])
    })

    test('nothing begins before it is known which handlers there are', async () => {
      const stage = await openBare()
      onTestFinished(() => stage[Symbol.asyncDispose]())
      await stage.acceptIds(['a'])
      const { id } = await stage.replays.start(all)
      await stage.db.query(`INSERT INTO inbox.handler (name, backfill_seq, backfill_from) VALUES ('late', 1, 0)`)
      await stage.replays.refresh()
      expect(await stage.replays.jobs.step(id, 200)).toEqual({ created: 0, next: 'waits' })
      expect(stage.replays.jobs.backfilling()).toEqual([])
      await stage.register(loose, { ...loose, name: 'late' })
      expect(await stage.replays.jobs.step(id, 200)).toEqual({ created: 2, next: 'more' })
      expect(stage.replays.jobs.backfilling()).toHaveLength(1)
    })

    test('keys are those that an accept would give, and ids may have any character', async () => {
      const stage = await open({ ...ordered, keyPaths: ['data.pair'] })
      const raw = (pair: string) => bytes(JSON.stringify({ data: { pair } }))
      await stage.accept(
        anEvent('a\0', { raw: raw('p\0') }),
        anEvent('b', { raw: raw('p\0') }),
        anEvent('a\u0001', { raw: raw('p\u0001') }),
      )
      const live = await stage.runs()
      await stage.end(await stage.claim(2))
      await stage.end(await stage.claim(2))
      const filter = { ids: ['a\0', 'b'] }
      expect(await createViews(stage.db, stage.clock).countReplay(filter, ['*'])).toEqual({ events: 2, skipped: 0 })
      expect(await createViews(stage.db, stage.clock).countReplay(filter, ['token.*'])).toEqual({
        events: 0,
        skipped: 0,
      })
      const record = await stage.replays.start({ filter, perSecond: 2, newKeys: true })
      expect(record).toMatchObject({
        filter,
        perSecond: 2,
        newKeys: true,
        state: 'running',
        lastSeq: 3,
        scannedSeq: 0,
        openRuns: 0,
      })
      await stage.replays.jobs.step(record.id, 200)
      const again = await stage.runs('r.replay_id > 0')
      expect(again.map(({ event, key, state }) => [event, key, state])).toEqual([
        [live[0]!.event, live[0]!.key, ready],
        [live[1]!.event, live[1]!.key, waiting],
      ])
      // Another run has another version of what it writes.
      expect(versionOf({ runId: again[0]!.id, token: 1 })).toBeGreaterThan(versionOf({ runId: live[2]!.id, token: 1 }))
    })

    test('by status finds what has come to that, be it pruned or not', async () => {
      const stage = await open(ordered)
      await stage.acceptIds(many(6))
      const claimed = await stage.claim(4)
      await stage.end(claimed.slice(0, 2))
      await stage.end(claimed.slice(2, 3), 'dead')
      await stage.db.query(`DELETE FROM inbox.body WHERE seq = 1`)
      await stage.db.query(`DELETE FROM inbox.run WHERE event_seq = 1`)
      await stage.db.query(`UPDATE inbox.event SET final_status = 4 WHERE seq = 1`)
      const count = (status: 'done' | 'dead' | 'running' | 'pending') =>
        createViews(stage.db, stage.clock).countReplay({ status }, ['*'])
      expect(await Promise.all((['done', 'dead', 'running', 'pending'] as const).map(count))).toEqual([
        { events: 2, skipped: 1 },
        { events: 1, skipped: 0 },
        { events: 1, skipped: 0 },
        { events: 2, skipped: 0 },
      ])
    })

    test('a new handler gets each event once and in order, while others come all the time', async () => {
      const stage = await open(loose)
      const of = (n: number) => anEvent(`e${n}`, { key: `k${n % 7}` })
      let count = 900
      await stage.accept(...Array.from({ length: count }, (_, n) => of(n)))
      await stage.register(loose, { ...ordered, name: 'late', from: 'beginning' })
      const [handlerId] = stage.replays.jobs.backfilling()
      let isEnded = false
      const accepting = (async () => {
        while (!isEnded) {
          await stage.accept(...Array.from({ length: 10 }, (_, n) => of(count + n)))
          count += 10
        }
      })()
      const late = `h.name = 'late'`
      const endAll = `UPDATE inbox.run SET state = 6 WHERE handler_id = $1 AND state < 5`
      await untilEnded(
        () => stage.replays.jobs.backfill(handlerId!, 200),
        () => stage.db.query(endAll, [handlerId]),
      )
      isEnded = true
      await accepting
      await stage.accept(of(count++), of(count++))
      expect(stage.replays.jobs.backfilling()).toEqual([])
      expect((await stage.runs(late)).map(({ event }) => event)).toEqual(
        Array.from({ length: count }, (_, n) => `e${n}`),
      )
      expect(await stage.db.query(wrongKeys)).toEqual([])
    })

    test('what is accepted while the last step of a backfill was looking is not passed over', async () => {
      const stage = await open(loose)
      await stage.acceptIds(many(300))
      await stage.register(loose, { ...loose, name: 'late', from: 'beginning' })
      const [handlerId] = stage.replays.jobs.backfilling()
      const accepting = stage.replaysOn(before(stage.db, () => stage.acceptIds(['between'])))
      expect(await accepting.jobs.backfill(handlerId!, 400)).toEqual({ created: 300, next: 'more' })
      expect(await stage.replays.jobs.backfill(handlerId!, 400)).toEqual({ created: 1, next: 'ended' })
      await stage.acceptIds(['after'])
      const late = await stage.runs(`h.name = 'late'`)
      expect(late.map(({ event }) => event)).toEqual([...many(300), 'between', 'after'])
    })

    test('a new handler that wants the latest only gets that of each key', async () => {
      const stage = await open(loose)
      await stage.accept(...['a', 'b', 'c', 'd'].map((id, n) => anEvent(id, { key: `k${n % 2}`, receivedAt: n })))
      await stage.register(loose, { ...ordered, name: 'late', from: 1, latestOnly: true })
      const [handlerId] = stage.replays.jobs.backfilling()
      expect(await stage.replays.jobs.backfill(handlerId!, 1)).toEqual({ created: 1, next: 'more' })
      expect(await stage.replays.jobs.backfill(handlerId!, 200)).toEqual({ created: 2, next: 'ended' })
      expect(await statesOf(stage, `h.name = 'late'`)).toEqual([
        ['b', superseded],
        ['c', ready],
        ['d', ready],
      ])
      expect(await stage.db.query(`SELECT superseded FROM inbox.handler WHERE id = $1`, [handlerId])).toEqual([
        { superseded: 1 },
      ])
    })

    test('a handler whose open runs were dropped gets nothing old any more', async () => {
      const stage = await open(loose)
      await stage.acceptIds(many(300))
      await stage.register(loose, { ...loose, name: 'late', from: 'beginning' })
      const [handlerId] = stage.replays.jobs.backfilling()
      await stage.replays.jobs.backfill(handlerId!, 200)
      expect(await stage.actions.discardPendingRuns('late', 'gone')).toBe(200)
      expect(await stage.replays.jobs.backfill(handlerId!, 200)).toEqual({ created: 0, next: 'ended' })
      expect(stage.replays.jobs.backfilling()).toEqual([])
    })
  })
}
