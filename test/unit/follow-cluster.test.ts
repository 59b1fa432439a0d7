import { expect, test } from 'vitest'
import { followCluster } from '../../src/app/app.ts'
import type { ClusterState } from '../../src/inbox/cluster-port.ts'

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
  let changeState: Parameters<Parameters<typeof followCluster>[0]['onState']>[0] = () => {}
  const handlers = ['mine', 'other'].map((name) => ({ name })) as unknown as Parameters<
    typeof followCluster
  >[1]['handlers']
  followCluster(
    { alive: () => 1, onState: (listener) => void (changeState = listener) },
    {
      handlers,
      send: (order) => done.push(Object.values(order).join(' ')),
      lookForSuspects: () => done.push('look'),
    },
  )
  let before: ClusterState | null = null
  return (changes: Partial<ClusterState>): string[] => {
    const now = { ...quiet, ...changes }
    changeState(now, before)
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
