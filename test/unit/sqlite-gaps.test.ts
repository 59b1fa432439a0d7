import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/clock.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent } from '../conformance/stage.ts'
import { createTempDir } from '../support/temp-dir.ts'

async function stage() {
  const dir = await createTempDir()
  const clock = createTestClock()
  const file = join(dir.path, 'inbox.db')
  const open = async () => createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  let inbox = await open()
  await inbox.startServing()
  return {
    clock,
    inbox: () => inbox,
    async restart(downMs: number): Promise<void> {
      await inbox.close()
      await clock.advance(downMs)
      inbox = await open()
      await inbox.startServing()
    },
    /** As a command does. */
    async look(): Promise<void> {
      await inbox.close()
      await clock.advance(60_000)
      inbox = await open()
    },
    async [Symbol.asyncDispose]() {
      await inbox.close()
      await dir[Symbol.asyncDispose]()
    },
  }
}

const hour = 3_600_000

test('a time in which nobody was at work is recorded, and what comes of it later is ticked off, once, across restarts', async () => {
  await using it = await stage()
  const { clock } = it
  await it.inbox().accept([anEvent('before')])
  expect(await it.inbox().gaps()).toEqual([])
  const from = clock.now()
  await it.restart(3 * hour)
  const to = clock.now()
  const gap = { from, to, cleanStop: true, arrived: 0, lastArrivalAt: null }
  expect(await it.inbox().gaps()).toEqual([gap])

  await clock.advance(60_000)
  const at = (ms: number) => ({ createdAt: new Date(ms).toISOString() })
  const during = anEvent('during', at(from + hour))
  await it.inbox().accept([during, anEvent('last', at(to - 1)), anEvent('older', at(from - 1)), anEvent('new', at(to))])
  expect(await it.inbox().gaps()).toEqual([{ ...gap, arrived: 2, lastArrivalAt: to + 60_000 }])
  await it.inbox().accept([during, anEvent('odd', { createdAt: 'not a time' })])
  expect(await it.inbox().gaps()).toMatchObject([{ arrived: 2 }])

  await it.restart(2_000)
  await it.inbox().accept([anEvent('late', at(from))])
  expect(await it.inbox().gaps()).toMatchObject([
    { from: to + 60_000, arrived: 0 },
    { from, arrived: 3 },
  ])
})

test('a restart within a second is none, nor is the first start, nor a clock that was set back', async () => {
  await using it = await stage()
  await it.inbox().accept([anEvent('a')])
  await it.restart(900)
  await it.inbox().accept([anEvent('b')])
  await it.restart(-hour)
  expect(await it.inbox().gaps()).toEqual([])
})

test('a process that only looks at the inbox does not end the gap', async () => {
  await using it = await stage()
  const from = it.clock.now()
  await it.look()
  expect(await it.inbox().gaps()).toEqual([])
  await it.restart(hour)
  expect(await it.inbox().gaps()).toMatchObject([{ from, to: from + 60_000 + hour, cleanStop: true }])
})
