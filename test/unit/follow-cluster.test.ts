import { defineHandler } from 'onchain-inbox'
import { expect, test, vi } from 'vitest'
import { embedInbox } from '../../src/app/library/create-inbox.ts'
import { parseOptions } from '../../src/app/library/options.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { followCluster } from '../../src/dispatch/follow-cluster.ts'
import type { ClusterPort, ClusterState } from '../../src/inbox/cluster-port.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { anEvent } from '../conformance/stage.ts'
import { testSecret } from '../support/app.ts'
import { until } from '../support/until.ts'

const quiet: ClusterState = {
  replicas: 2,
  paused: new Set(),
  isAllPaused: false,
  concurrencies: new Map(),
  suspects: new Set(),
  wasSilent: false,
}

/** A process with the handlers `mine` and `other`. Returns the orders that a change of the cluster state causes. */
function stage() {
  const done: string[] = []
  const onState = vi.fn<ClusterPort['onState']>()
  const send = (order: object) => done.push(Object.values(order).join(' '))
  const lookForSuspects = () => done.push('look')
  followCluster({ alive: () => 1, onState }, { handlers: [{ name: 'mine' }, { name: 'other' }], send, lookForSuspects })
  let before: ClusterState | null = null
  return (changes: Partial<ClusterState>): string[] => {
    const now = { ...quiet, ...changes }
    onState.mock.calls[0]?.[0](now, before)
    before = now
    return done.splice(0)
  }
}

test('shares rates, and applies pauses and concurrency set by other replicas', () => {
  const to = stage()
  expect(to({})).toEqual(['share 1', 'share 2'])
  expect(to({ paused: new Set(['mine']), concurrencies: new Map([['other', 3]]) })).toEqual([
    'concurrency other 3',
    'recall mine',
  ])
  expect(to({ isAllPaused: true })).toEqual(['concurrency other ', 'recall '])
  expect(to({ wasSilent: true })).toEqual(['recall '])
  expect(to({})).toEqual([])
})

test('looks for suspects of loaded handlers only', () => {
  const to = stage()
  to({})
  expect(to({ suspects: new Set(['gone']) })).toEqual([])
  expect(to({ suspects: new Set(['gone', 'other']) })).toEqual(['look'])
})

test('createInbox follows the cluster, and prunes only as the leader', async () => {
  const clock = createTestClock()
  const memory = await createMemoryInbox({ clock })
  const [prune, onState] = [vi.fn<typeof memory.prune>(), vi.fn<ClusterPort['onState']>()]
  const ended = Promise.withResolvers<void>()
  const run = vi.fn(() => ended.promise)
  const cluster = { replicaId: 'r', replicas: async () => [], alive: () => 2, isLeader: () => false, onState }
  const handlers = [defineHandler({ name: 'h', type: '*', concurrency: 1, run })]
  const settings = parseOptions({ secrets: testSecret, database: 'memory:', handlers, log: false, clock })
  await using inbox = embedInbox(settings, async () => ({ inbox: { ...memory, prune }, cluster }))
  await inbox.start()
  await memory.accept([anEvent('a'), anEvent('b')])
  await until(() => run.mock.calls.length === 1, 'the first run')
  onState.mock.calls[0]?.[0]({ ...quiet, concurrencies: new Map([['h', 2]]) }, quiet)
  await until(() => run.mock.calls.length === 2, 'the second run')
  ended.resolve()
  await clock.advance(60_000)
  expect(prune).not.toHaveBeenCalled()
})
