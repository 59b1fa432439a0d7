import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { backupDatabase, restoreDatabase } from '../../src/inbox/sqlite/backup.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { anEvent } from '../conformance/stage.ts'
import { databaseFiles } from '../support/sqlite-files.ts'

const { newDatabaseFile } = databaseFiles()

async function stage() {
  const clock = createTestClock()
  const file = newDatabaseFile()
  const open = async () => createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  let inbox = await open()
  await inbox.startServing()
  return {
    file,
    backup: `${file}.backup`,
    clock,
    inbox: () => inbox,
    async restart(downMs: number): Promise<void> {
      await inbox.close()
      await clock.advance(downMs)
      inbox = await open()
      await inbox.startServing()
    },
    /** Restores a backup after some time, and opens the file like a command does. */
    async restore(backup: string, downMs: number): Promise<void> {
      await inbox.close()
      await clock.advance(downMs)
      await restoreDatabase(backup, file, clock.now())
      inbox = await open()
    },
    [Symbol.asyncDispose]: () => inbox.close(),
  }
}

const hour = 3_600_000
const at = (ms: number) => ({ createdAt: new Date(ms).toISOString() })

test('a gap after a kill begins at the last heartbeat or the last event after it', async () => {
  const clock = createTestClock()
  const file = newDatabaseFile()
  const gaps: unknown[] = []
  for (let life = 0; life < 3; life += 1) {
    const open = await openFileStore(file, { clock })
    const { store, integrity } = open
    store.transact([], () => store.gaps.start())
    gaps.push(integrity.cleanStop)
    await clock.advance(5_000)
    store.transact([], () => store.gaps.beat())
    await clock.advance(4_000)
    if (life === 1) store.transact([], () => store.accept([anEvent('last', { receivedAt: clock.now() })]))
    open.close()
    // Like a command.
    const looking = await openFileStore(file, { clock })
    looking.close()
    await clock.advance(60_000)
  }
  expect(gaps).toEqual([true, false, false])
  await using inbox = Object.assign(createLocalSqliteInbox(await openFileStore(file, { clock }), { clock }), {
    [Symbol.asyncDispose]: () => inbox.close(),
  })
  const times = (await inbox.gaps()).map(({ from, to, kind }) => [kind, to - from])
  expect(times).toEqual([
    ['killed', 60_000],
    ['killed', 64_000],
  ])
})

test('records a gap for a process that stood still over a minute', async () => {
  const clock = createTestClock()
  const open = await openFileStore(newDatabaseFile(), { clock })
  const { store } = open
  const beat = () => store.transact([], () => store.gaps.beat())
  const inbox = createLocalSqliteInbox(open, { clock })
  expect(beat()).toBeNull()
  await inbox.startServing()
  await clock.advance(60_000)
  expect(beat()).toBeNull()
  const from = clock.now()
  await clock.advance(12 * hour)
  expect(beat()).toEqual({ from, to: clock.now() })
  expect(beat()).toBeNull()
  await inbox.accept([anEvent('lost', at(from)), anEvent('retried', at(from + 2 * hour))])
  expect(await inbox.gaps()).toMatchObject([
    { from, to: clock.now(), kind: 'stood_still', lost: { from, to: from + 1.4 * hour }, arrived: 2, arrivedLost: 1 },
  ])
  await inbox.close()
})

test('a restored database loses events since the backup; the sender retries those until the start', async () => {
  await using it = await stage()
  await it.clock.advance(hour)
  await it.inbox().accept([anEvent('kept', { receivedAt: it.clock.now() })])
  await backupDatabase(it.file, it.backup)
  const from = it.clock.now()
  await it.clock.advance(hour)
  await it.inbox().accept([anEvent('gone', { receivedAt: it.clock.now() })])
  await it.restore(it.backup, hour)
  const to = it.clock.now()
  const restored = { from, to, kind: 'restored', retriedUntil: null, lost: { from, to }, acknowledgedAt: null }
  expect(await it.inbox().gaps()).toMatchObject([restored])
  expect(await it.inbox().stats()).toMatchObject({ missingSeqs: 1 })

  await it.restart(hour)
  await it.inbox().accept([anEvent('gone', at(from + 1))])
  expect(await it.inbox().gaps()).toMatchObject([
    { from: to, to: to + hour, kind: 'stopped', lost: null },
    { ...restored, arrivedLost: 1 },
  ])
  expect(await it.inbox().acknowledgeGaps()).toEqual({ missingSeqs: 1, gaps: 1 })
  await it.restart(0)
  expect(await it.inbox().gaps()).toHaveLength(2)
  expect(await it.inbox().stats()).toMatchObject({ missingSeqs: 0, lastSeq: 3 })
  expect(await it.inbox().acknowledgeGaps()).toEqual({ missingSeqs: 0, gaps: 0 })
})

test('a restored database reports the loss without a .seq file, including retries of earlier deliveries', async () => {
  await using it = await stage()
  const before = it.clock.now()
  await it.restart(hour)
  await it.clock.advance(60_000)
  await it.inbox().accept([anEvent('kept', { receivedAt: it.clock.now() })])
  await backupDatabase(it.file, it.backup)
  const from = it.clock.now()
  rmSync(`${it.file}.seq`)
  await it.restore(it.backup, 24 * hour)
  expect((await it.inbox().gaps())[0]).toMatchObject({
    kind: 'restored',
    from,
    lost: { from: before, to: it.clock.now() },
  })
  expect(await it.inbox().stats()).toMatchObject({ missingSeqs: 0 })
})
