import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import { openFileStore } from '../../src/inbox/sqlite/open.ts'
import { aQuarantined, anEvent, ordered } from '../conformance/stage.ts'
import { databaseFiles } from '../support/sqlite-files.ts'

const { newDatabaseFile } = databaseFiles()

async function filled(count: number) {
  const clock = createTestClock()
  const file = newDatabaseFile()
  const inbox = createLocalSqliteInbox(await openFileStore(file, { clock }), { clock })
  await inbox.register([ordered])
  const raw = Buffer.alloc(4_000, 'x')
  for (let n = 0; n < count; n += 100) {
    await inbox.accept(Array.from({ length: 100 }, (_, m) => anEvent(`e${n + m}`, { raw, receivedAt: clock.now() })))
  }
  for (let left = count; left > 0;) {
    const leases = await inbox.claim({ handlers: ['ordered'], max: left, owner: 'me', suspects: false })
    await inbox.settle(leases.map(({ runId, token }) => ({ runId, token, startedAt: 1, endedAt: 2, kind: 'done' })))
    left -= leases.length
  }
  return { clock, inbox, file, [Symbol.asyncDispose]: () => inbox.close() }
}

test('returns pruned space to the disk, and keeps less than 200 bytes per event', async () => {
  await using stage = await filled(4_000)
  const { inbox, clock, file } = stage
  const before = (await inbox.stats()).sizeBytes ?? 0
  expect(before).toBeGreaterThan(16_000_000)
  await clock.advance(1_000)
  expect(await inbox.prune({ receivedBefore: clock.now(), maxBytes: null })).toEqual({
    events: 4_000,
    quarantined: 0,
    isTooLarge: false,
  })
  const { sizeBytes } = await inbox.stats()
  expect((sizeBytes ?? 0) / 4_000).toBeLessThan(200)
  await inbox.close()
  // Free pages in the file are bounded.
  expect((await stat(file)).size).toBeLessThan(10_000_000)
})

test('prunes events down to half of the size limit, then quarantine, oldest first', async () => {
  await using stage = await filled(600)
  const { inbox, clock } = stage
  for (let n = 0; n < 10; n += 1) {
    const receivedAt = clock.now() + n
    const bodies = Array.from({ length: 100 }, (_, m) =>
      aQuarantined(`${n} ${m}`, { raw: Buffer.alloc(6_000, `${n} ${m}`), receivedAt }),
    )
    await inbox.accept(bodies)
  }
  const maxBytes = 3_000_000
  // Bodies of the last hour stay.
  expect(await inbox.prune({ receivedBefore: null, maxBytes })).toEqual({ events: 0, quarantined: 0, isTooLarge: true })
  await clock.advance(2 * 3_600_000)
  const { events, quarantined, isTooLarge } = await inbox.prune({ receivedBefore: null, maxBytes })
  expect(isTooLarge).toBe(false)
  expect((await inbox.stats()).sizeBytes).toBeLessThanOrEqual(maxBytes)
  expect(600 - events).toBe(maxBytes / 2 / 4_000)
  expect(1_000 - quarantined).toBeGreaterThanOrEqual(maxBytes / 4 / 6_000)
  expect((await inbox.event('e599'))?.raw).toHaveLength(4_000)
  expect((await inbox.event('e0'))?.raw).toHaveLength(0)
  const { data } = await inbox.quarantine({ limit: 1 })
  expect(data[0]?.id).toBe('sha256:9 99')
})

test('keeps new events although unprunable ones exceed the limit', async () => {
  await using stage = await filled(200)
  const { inbox, clock } = stage
  await inbox.register([{ ...ordered, name: 'gone' }])
  const raw = Buffer.alloc(4_000, 'x')
  await inbox.accept(Array.from({ length: 500 }, (_, n) => anEvent(`open${n}`, { raw, receivedAt: clock.now() })))
  await inbox.register([])
  for (let n = 0; n < 100; n += 1) {
    await inbox.accept([aQuarantined(`${n}`, { raw: Buffer.alloc(8_000, `${n}`), receivedAt: clock.now() })])
  }
  await inbox.accept(Array.from({ length: 200 }, (_, n) => anEvent(`new${n}`, { raw, receivedAt: clock.now() })))
  await clock.advance(2 * 3_600_000)
  expect(await inbox.prune({ receivedBefore: null, maxBytes: 1_600_000 })).toEqual({
    events: 200,
    quarantined: 50,
    isTooLarge: true,
  })
  expect((await inbox.event('e199'))?.raw).toHaveLength(0)
  expect((await inbox.event('new0'))?.raw).toHaveLength(4_000)
})
