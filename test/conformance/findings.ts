import { createHash } from 'node:crypto'
import { describe, expect } from 'vitest'
import { errorGroupOf } from '../../src/inbox/error-group.ts'
import type { DeadFilter, RunError } from '../../src/inbox/port.ts'
import {
  type ConformanceHarness,
  Stage,
  stageTest,
  aQuarantined,
  anEvent,
  bytes,
  hex,
  loose,
  ordered,
} from './stage.ts'
import { readAll } from './views.ts'

const digestOf = (raw: Uint8Array) => createHash('sha256').update(raw).digest('hex')

/** Reads of dead letters by filter and group, conflicts, the quarantine, and the audit. */
export function describeFindings(harness: ConformanceHarness): void {
  const test = stageTest(harness)
  describe('dead letters by filter', () => {
    const timeout = (n: number): RunError => ({
      name: 'TimeoutError',
      message: `no answer after ${n} ms\nat line ${n}`,
    })
    const refused: RunError = { name: 'Error', message: 'refused' }

    /** Dead letters of five events for two handlers. Two of `ordered` block their keys. */
    const withDead = async () => {
      const stage = await Stage.open(harness, [ordered, loose])
      for (let n = 0; n < 5; n += 1) {
        await stage.clock.advance(10)
        if (n === 3) await stage.inbox.register([{ ...ordered, onDead: 'hold' }, loose])
        await stage.accept(anEvent(`e${n}`, { type: n % 2 === 0 ? 'even' : 'odd', key: `solana:${n}` }))
        const error = n < 4 ? timeout(n) : refused
        const leases = [await stage.claimOne(), await stage.claimOne({ handlers: ['loose'] })]
        await stage.inbox.settle(
          leases.map(({ runId, token }) => {
            return { runId, token, startedAt: 0, endedAt: stage.clock.now(), kind: 'dead', error }
          }),
        )
      }
      return stage
    }
    const group = errorGroupOf(timeout(0))

    test('with the same error are one group per top frame, and only its events have it', async ({ stage }) => {
      const errorAt = (line: number): RunError => ({
        name: 'TypeError',
        message: `no amount in ${line}`,
        stack: `TypeError: no amount\n    at run (/srv/handlers/ledger.ts:${line}:9)`,
      })
      await stage.inbox.register([{ ...ordered, onDead: 'hold' }, loose])
      for (const [index, error] of [errorAt(1), errorAt(1), errorAt(2), timeout(0)].entries()) {
        await stage.accept(anEvent(`e${index}`, { key: `solana:${index}` }))
        for (const handlers of [['ordered'], ['loose']]) {
          const { runId, token } = await stage.claimOne({ handlers })
          const isDead = handlers[0] === 'ordered'
          const times = { runId, token, startedAt: 0, endedAt: stage.clock.now() }
          await stage.inbox.settle([isDead ? { ...times, kind: 'dead', error } : { ...times, kind: 'done' }])
        }
      }
      const { groups } = await stage.inbox.deadGroups({})
      expect(new Set(groups.map(({ frame, count }) => `${count} ${frame}`))).toEqual(
        new Set(['2 at run (handlers/ledger.ts:1:9)', '1 at run (handlers/ledger.ts:2:9)', '1 null']),
      )
      const idsOf = async (query: { readonly group: string; readonly handler?: string }) =>
        (await stage.inbox.events({ ...query, limit: 9 })).data.map(({ id }) => id)
      expect(await idsOf({ group: errorGroupOf(errorAt(1)), handler: 'ordered' })).toEqual(['e1', 'e0'])
      expect(await idsOf({ group: errorGroupOf(errorAt(2)) })).toEqual(['e2'])
      expect(await idsOf({ group: errorGroupOf(timeout(0)) })).toEqual(['e3'])
      expect(await idsOf({ group: errorGroupOf(errorAt(1)), handler: 'loose' })).toEqual([])
    })

    const filters: [DeadFilter, string[]][] = [
      [{}, [4, 3, 2, 1, 0].flatMap((n) => [`loose e${n}`, `ordered e${n}`])],
      [{ handler: 'ordered' }, ['ordered e4', 'ordered e3', 'ordered e2', 'ordered e1', 'ordered e0']],
      [{ type: 'odd' }, ['loose e3', 'ordered e3', 'loose e1', 'ordered e1']],
      [{ group, handler: 'loose' }, ['loose e3', 'loose e2', 'loose e1', 'loose e0']],
      [{ group, handler: 'loose', type: 'even' }, ['loose e2', 'loose e0']],
      [{ group: errorGroupOf(refused) }, ['loose e4', 'ordered e4']],
      [{ handler: 'unknown' }, []],
      [{ group: 'TimeoutError' }, []],
    ]

    test('are listed page by page, and as run ids', async () => {
      await using stage = await withDead()
      const named = ({ handler, eventId }: { handler: string; eventId: string }) => `${handler} ${eventId}`
      for (const [filter, expected] of filters) {
        const name = JSON.stringify(filter)
        const { data, nextCursor } = await stage.inbox.deadLetters({ ...filter, limit: 10 })
        expect(data.map(named), name).toEqual(expected)
        expect(nextCursor, name).toBeNull()
        for (const limit of [1, 3]) {
          const paged = await readAll((cursor) => stage.inbox.deadLetters({ ...filter, ...cursor, limit }))
          expect(paged, name).toEqual(data)
        }
        const runIds = data.map(({ runId }) => runId).toSorted((a, b) => a - b)
        expect(await stage.inbox.deadRunIds(filter), name).toEqual({ runIds, isComplete: true })
      }
    })

    test('are grouped by handler and error, largest group first, with the newest of each', async () => {
      await using stage = await withDead()
      const { groups, isComplete } = await stage.inbox.deadGroups({})
      expect(isComplete).toBe(true)
      expect(groups.map((one) => [one.handler, one.group, one.count, one.held])).toEqual([
        ['loose', group, 4, 0],
        ['ordered', group, 4, 1],
        ['loose', errorGroupOf(refused), 1, 0],
        ['ordered', errorGroupOf(refused), 1, 1],
      ])
      const now = stage.clock.now()
      expect(groups[1]).toMatchObject({ firstDiedAt: now - 40, lastDiedAt: now - 10, sample: { eventId: 'e3' } })
      const { runId } = groups[1]!.sample
      expect(groups[1]!.sample).toEqual(await stage.inbox.deadLetter(runId))
      const odd = await stage.inbox.deadGroups({ type: 'odd', handler: 'loose' })
      expect(odd.groups).toMatchObject([{ handler: 'loose', group, count: 2 }])
      expect(await stage.inbox.deadGroups({ handler: 'unknown' })).toEqual({ groups: [], isComplete: true })
    })
  })

  describe('conflicts', () => {
    test('are listed newest first, each body once, page by page', async ({ stage }) => {
      await stage.accept(anEvent('a', { type: 'x' }), anEvent('b'))
      const other = (id: string, text: string, receivedAt: number) => anEvent(id, { raw: bytes(text), receivedAt })
      const deliveries = [other('a', 'one', 20), other('b', 'two', 30), other('a', 'three', 30), other('a', 'one', 40)]
      const more = ['four', 'five', 'six'].map((text) => other('b', text, 30))
      expect(new Set(await stage.inbox.accept([...deliveries, ...more]))).toEqual(new Set(['conflict']))
      const { data, nextCursor } = await stage.inbox.conflicts({ limit: 10 })
      expect(nextCursor).toBeNull()
      const ofB = ['two', 'four', 'five', 'six'].map((text) => digestOf(bytes(text))).toSorted()
      const digests = [...ofB.toReversed(), digestOf(bytes('three')), digestOf(bytes('one'))]
      expect(data.map(({ digest }) => digest)).toEqual(digests)
      expect(data.at(-1)).toEqual({
        eventId: 'a',
        type: 'x',
        digest: digestOf(bytes('one')),
        receivedAt: 20,
        count: 2,
        sizeBytes: 3,
      })
      for (const limit of [1, 2, 5]) {
        expect(await readAll((cursor) => stage.inbox.conflicts({ ...cursor, limit }))).toEqual(data)
      }
      expect((await stage.inbox.conflicts({ limit: 6 })).nextCursor).toBeNull()
      expect((await stage.inbox.stats()).conflicts).toBe(6)
    })

    test('show both bodies until they are pruned', async () => {
      await using stage = await Stage.open(harness, [])
      const raw = Uint8Array.from({ length: 256 }, (_, n) => n)
      await stage.accept(anEvent('a', { receivedAt: 1 }))
      await stage.inbox.accept([anEvent('a', { raw, receivedAt: 2 })])
      const digest = digestOf(raw)
      const found = await stage.inbox.conflict('a', digest)
      expect(found).toMatchObject({ eventId: 'a', digest, receivedAt: 2, count: 1, sizeBytes: 256 })
      expect(hex(found!.raw)).toBe(hex(raw))
      expect(hex(found!.keptRaw)).toBe(hex(anEvent('a').raw))
      expect(await stage.inbox.conflict('a', digestOf(bytes('x')))).toBeNull()
      expect(await stage.inbox.conflict('b', digest)).toBeNull()
      await stage.inbox.prune({ receivedBefore: 2, maxBytes: null })
      const after = await stage.inbox.conflict('a', digest)
      expect(after).toMatchObject({ digest, count: 1, sizeBytes: 0 })
      expect([after!.raw.length, after!.keptRaw.length]).toEqual([0, 0])
    })
  })

  test('the quarantine is listed by reason, newest first, page by page', async ({ stage }) => {
    const bodies = [
      ['a', 'not_json'],
      ['bb', 'bad_id'],
      ['ccc', 'not_json'],
      ['dddd', 'not_json'],
    ] as const
    for (const [receivedAt, [name, reason]] of bodies.entries())
      await stage.accept(aQuarantined(name, { reason, receivedAt }))
    const ids = ['sha256:dddd', 'sha256:ccc', 'sha256:a']
    const { data, nextCursor } = await stage.inbox.quarantine({ limit: 3, reason: 'not_json' })
    expect(data.map(({ id }) => id)).toEqual(ids)
    expect(nextCursor).toBeNull()
    const paged = await readAll((cursor) => stage.inbox.quarantine({ ...cursor, limit: 1, reason: 'not_json' }))
    expect(paged).toEqual(data)
    expect((await stage.inbox.quarantine({ limit: 3, reason: 'none' })).data).toEqual([])
  })

  describe('the audit', () => {
    test('lists every action that changed something, newest first, with its caller', async () => {
      await using stage = await Stage.open(harness, [ordered])
      const { inbox } = stage
      const by = 'operator (session) 127.0.0.1'
      await stage.accept(anEvent('a'), anEvent('b'), aQuarantined('x'), aQuarantined('y'))
      await inbox.setPaused('unknown', true, by)
      await inbox.setPaused('ordered', true, by)
      await inbox.setPaused('ordered', false, by)
      await inbox.setConcurrency('ordered', 3, by)
      await stage.killReady()
      await inbox.requeueDead('all', by)
      await stage.killReady()
      await inbox.requeueDead([(await stage.run('a')).runId], by)
      await inbox.dropDead('all', 'x', by)
      await inbox.dropDead('all', 'x', by)
      await inbox.discardPendingRuns('ordered', 'x', by)
      await inbox.retryQuarantined('sha256:x', anEvent('c'), by)
      await inbox.dropQuarantined('sha256:y', 'x', by)
      const filter = { ids: ['a'] }
      const { id } = await inbox.startReplay({ filter, perSecond: null, newKeys: false }, by)
      await inbox.cancelReplay(id, by)
      await inbox.prune({ receivedBefore: 0, maxBytes: null }, 'noted', by)
      await inbox.note('reconcile.start', { from: 1, to: 2 }, by)
      const data = await readAll((cursor) => inbox.audit({ ...cursor, limit: 4 }))
      expect(data.map(({ action }) => action)).toEqual(
        [
          'handler.pause',
          'handler.resume',
          'handler.set',
          'dead.requeue',
          'dead.requeue',
          'dead.drop',
          'handler.drop',
          'quarantine.retry',
          'quarantine.drop',
          'replay.start',
          'replay.cancel',
          'prune',
          'reconcile.start',
        ].toReversed(),
      )
      expect(new Set(data.map((record) => record.by))).toEqual(new Set([by]))
      expect(data[0]).toMatchObject({ at: stage.clock.now(), detail: { from: 1, to: 2 } })
      const started = data.find(({ action }) => action === 'replay.start')
      expect(started).toMatchObject({ detail: { replay: id, filter, newKeys: false } })
    })

    test('has no caller if none is given, and survives a reopen', async ({ stage }) => {
      await stage.inbox.setPaused(null, true)
      await stage.inbox.note('session.begin', { role: 'viewer' })
      await stage.inbox.note('session.end', {}, 'viewer (session) ::1')
      await stage.reopen()
      expect((await stage.inbox.audit({ limit: 9 })).data.map(({ action, by }) => [action, by])).toEqual([
        ['session.end', 'viewer (session) ::1'],
        ['session.begin', null],
        ['handler.pause', null],
      ])
    })
  })
}
