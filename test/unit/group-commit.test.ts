import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { AcceptResult, IncomingDelivery } from '../../src/inbox/port.ts'
import { createGroupCommit } from '../../src/receiver/group-commit.ts'
import { createPressure, type Pressure } from '../../src/receiver/pressure.ts'
import { arrivalOf } from '../fixtures/stored-events.ts'

const ackTimeoutMs = 4_000

interface Call {
  readonly batch: readonly IncomingDelivery[]
  readonly resolve: (results: readonly AcceptResult[]) => void
  readonly reject: (error: Error) => void
}

/** A group commit whose store is controlled by the test. */
function setUp() {
  const clock = createTestClock()
  const calls: Call[] = []
  const sizes: number[] = []
  const commits = createGroupCommit({
    accept: (batch) => new Promise((resolve, reject) => calls.push({ batch, resolve, reject })),
    clock,
    ackTimeoutMs,
    onBatch: (size) => sizes.push(size),
  })
  /** Sends the deliveries of this turn to the store. */
  const turn = () => clock.advance(0)
  return { clock, calls, sizes, commits, turn }
}

const nothingPending = { rows: 0, bytes: 0, oldestMs: 0 }

test('deliveries of one turn go to the store as one batch, in order', async () => {
  const { calls, sizes, commits, turn } = setUp()
  const added = ['a', 'b', 'c'].map((id) => commits.add(arrivalOf(id)))
  await turn()
  const later = commits.add(arrivalOf('d'))
  await turn()
  expect(calls.map(({ batch }) => batch.map(({ id }) => id))).toEqual([['a', 'b', 'c'], ['d']])
  expect(sizes).toEqual([3, 1])

  calls[1]!.resolve(['duplicate'])
  calls[0]!.resolve(['accepted', 'conflict', 'quarantined'])
  expect(await Promise.all([...added, later])).toEqual(['accepted', 'conflict', 'quarantined', 'duplicate'])
  expect(commits.pending).toMatchObject(nothingPending)
})

test('a failed batch rejects all of its deliveries, and no others', async () => {
  const { calls, commits, turn } = setUp()
  const failed = [commits.add(arrivalOf('a')), commits.add(arrivalOf('b'))]
  await turn()
  const fine = commits.add(arrivalOf('c'))
  await turn()
  calls[0]!.reject(new Error('no'))
  calls[1]!.resolve(['accepted'])
  const outcomes = await Promise.allSettled([...failed, fine])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
  expect(commits.pending).toMatchObject(nothingPending)
})

test('a delivery that is not committed in time is late, and counts as pending until the store is done', async () => {
  const { clock, calls, commits, turn } = setUp()
  const raw = arrivalOf('a').raw.length
  const added = commits.add(arrivalOf('a'))
  expect(commits.pending).toMatchObject({ rows: 1, bytes: raw })
  await turn()
  await clock.advance(ackTimeoutMs - 1)
  expect(await Promise.race([added, Promise.resolve('waiting')])).toBe('waiting')
  await clock.advance(1)
  expect(await added).toBe('late')
  expect(commits.pending).toMatchObject({ rows: 1, bytes: raw, oldestMs: ackTimeoutMs })

  calls[0]!.resolve(['accepted'])
  await turn()
  expect(commits.pending).toMatchObject(nothingPending)
  expect(clock.nextTimerAt()).toBeNull()
})

const mebibyte = 1024 * 1024

describe('the pressure', () => {
  async function withPressure(run: (pressure: Pressure, set: ReturnType<typeof setUp>) => Promise<void>) {
    const set = setUp()
    const pressure = createPressure(set.commits.pending, mebibyte)
    try {
      await run(pressure, set)
    } finally {
      pressure.close()
    }
  }

  test.each([
    ['20,000 rows', arrivalOf('a'), 20_000],
    ['64 MiB', { ...arrivalOf('a'), raw: new Uint8Array(32 * mebibyte) }, 2],
  ])('is too high with %s', (_, arrival, limit) =>
    withPressure(async (pressure, { commits, calls, turn }) => {
      const added = Array.from({ length: limit - 1 }, () => commits.add(arrival))
      expect(pressure.reason()).toBeNull()
      added.push(commits.add(arrival))
      expect(pressure.reason()).toBe('queue')
      await turn()
      expect(pressure.reason()).toBe('queue')
      calls[0]!.resolve(added.map(() => 'duplicate'))
      await Promise.all(added)
      expect(pressure.reason()).toBeNull()
    }),
  )

  test('is too high if the oldest commit takes more than 2 s', () =>
    withPressure(async (pressure, { clock, commits, calls, turn }) => {
      const first = commits.add(arrivalOf('a'))
      await clock.advance(1_500)
      const second = commits.add(arrivalOf('b'))
      await clock.advance(500)
      expect(pressure.reason()).toBeNull()
      await clock.advance(1)
      expect(pressure.reason()).toBe('commit')
      calls[0]!.resolve(['accepted'])
      await first
      await turn()
      expect(pressure.reason()).toBeNull()
      calls[1]!.resolve(['accepted'])
      expect(await second).toBe('accepted')
    }))

  test('above 64 MiB of bodies plus one of maximum size stops the uploads with the oldest progress', () =>
    withPressure(async (pressure) => {
      const closed: string[] = []
      const open = (name: string) => pressure.enterBody(() => closed.push(name))
      // Announced bodies take no room.
      for (let count = 0; count < 1_000; count++) open('idle')
      const early = open('early')
      early.received(mebibyte / 2)
      const stalled = open('stalled')
      stalled.received(mebibyte)
      open('trickling').received(mebibyte)
      early.received(1024)
      const many = Array.from({ length: 62 }, (_, count) => open(`full ${count}`))
      for (const one of many) one.received(mebibyte)
      expect(closed).toEqual([])
      const late = open('late')
      late.received(mebibyte)
      expect(closed).toEqual(['stalled'])
      stalled.leave()
      late.received(mebibyte)
      expect(closed).toEqual(['stalled', 'trickling'])
      // Finished bodies free their room.
      for (const one of many) one.leave()
      open('last').received(62 * mebibyte)
      expect(closed).toHaveLength(2)
    }))

  test('counts less than 1 KiB as no progress', () =>
    withPressure(async (pressure) => {
      const closed: string[] = []
      const open = (name: string) => pressure.enterBody(() => closed.push(name))
      const trickling = open('trickling')
      trickling.received(1)
      open('large').received(64 * mebibyte)
      for (let count = 0; count < 1_000; count++) trickling.received(1)
      open('late').received(mebibyte)
      expect(closed).toEqual(['trickling'])
    }))

  test('has room for one body of any maximum size', async () => {
    const closed: string[] = []
    const pressure = createPressure(setUp().commits.pending, 100 * mebibyte)
    pressure.enterBody(() => closed.push('first')).received(64 * mebibyte)
    pressure.enterBody(() => closed.push('second')).received(100 * mebibyte)
    expect(closed).toEqual([])
    pressure.enterBody(() => closed.push('third')).received(1)
    expect(closed).toEqual(['first'])
    pressure.close()
  })
})
