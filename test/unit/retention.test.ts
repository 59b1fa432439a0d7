import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { startRetention } from '../../src/health/retention.ts'
import { recordingLog } from '../support/recording-log.ts'

const minute = 60_000

test('only the leader of a cluster prunes', async () => {
  const clock = createTestClock()
  const pruned: string[] = []
  let leader = 'one'
  const start = (name: string) =>
    startRetention({
      inbox: {
        async prune() {
          pruned.push(name)
          return { events: 0, quarantined: 0, isTooLarge: false }
        },
      },
      days: 1,
      maxBytes: undefined,
      isLeader: () => leader === name,
      clock,
      log: recordingLog().log,
    })
  const all = [start('one'), start('other')]
  await clock.advance(2 * minute)
  expect(pruned).toEqual(['one', 'one'])
  leader = 'other'
  await clock.advance(2 * minute)
  expect(pruned).toEqual(['one', 'one', 'other', 'other'])
  for (const retention of all) retention.close()
  await clock.advance(minute)
  expect(pruned).toHaveLength(4)
})
