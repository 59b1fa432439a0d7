import { describe, expect, test } from 'vitest'
import { internalEventSchemas } from '../../schema/internal.ts'
import { createTestClock, type TestClock } from '../../src/base/clock.ts'
import { InboxError } from '../../src/base/errors.ts'
import type { ProcessFacts } from '../../src/health/facts.ts'
import { defaultSender } from '../../src/health/senders.ts'
import { createMeter } from '../../src/health/meter.ts'
import { createHealthWatch } from '../../src/health/watch.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { internalLabel, type DeadLetter, type HandlerStats, type Inbox } from '../../src/inbox/port.ts'
import { anEvent } from '../conformance/stage.ts'
import { recordingLog } from '../support/recording-log.ts'

const checkMs = 10_000
const minute = 60_000
const hour = 60 * minute
const thirty = Array.from({ length: 30 }, (_, index) => `sink-${String(index).padStart(2, '0')}`)

/** A clock that skips most of a long wait: one check per three minutes instead of eighteen. */
function createLeapingClock(): TestClock {
  const clock = createTestClock()
  const leap = 3 * minute
  let offset = 0
  return {
    ...clock,
    now: () => clock.now() + offset,
    async advance(ms) {
      let left = ms
      if (left > leap) {
        // A warning begins at a check.
        await clock.advance(checkMs)
        left -= checkMs
      }
      for (; left > leap; left -= leap) {
        offset += leap - checkMs
        await clock.advance(checkMs)
      }
      await clock.advance(left)
    },
  }
}

interface StageOptions {
  readonly clock?: TestClock
  readonly inbox?: Inbox
  readonly isLeader?: boolean
  /** Ids of the replicas, this one first. */
  readonly replicas?: () => readonly string[]
}

/** A watch over an inbox in memory, with sinks that tests can break. */
async function stage({ clock = createLeapingClock(), isLeader = true, replicas, ...given }: StageOptions = {}) {
  const inbox = given.inbox ?? (await createMemoryInbox({ clock }))
  const meter = createMeter(clock)
  const { log, lines } = recordingLog()
  const store = { ok: true } as ProcessFacts['store']
  const state = { store, isWritable: true, isReadable: true, isLeader, reads: 0 }
  const sinks = new Map<string, { reason: 'breaker'; since: number; failures: number }>()
  const quiet = { freeBytes: null, reserveBytes: 0, handlers: [], secretLabels: ['main'], drift: [] }
  const failing = new InboxError('store_unavailable', 'not now')
  const watch = createHealthWatch({
    inbox: {
      ...inbox,
      accept: async (batch) => (state.isWritable ? inbox.accept(batch) : Promise.reject(failing)),
      async stats() {
        state.reads++
        if (!state.isReadable) throw failing
        return inbox.stats()
      },
      // Other replicas commit, too.
      ...(replicas && { revision: async () => null }),
    },
    senders: [{ sender: defaultSender, meter }],
    clock,
    log,
    facts: () => ({ ...quiet, store: state.store, openBreakers: sinks }),
    consoleUrl: 'https://inbox.example.com',
    cluster: replicas && {
      replicaId: replicas()[0] ?? '',
      isLeader: () => state.isLeader,
      living: async () => replicas().toSorted(),
    },
  })
  watch.start()
  await clock.advance(0)
  return {
    clock,
    inbox,
    meter,
    lines,
    state,
    sinks,
    watch,
    codes: () => watch.warnings().map(({ code }) => code),
    breakSinks(...names: readonly string[]) {
      for (const name of names) sinks.set(name, { reason: 'breaker', since: clock.now() - hour, failures: 5 })
    },
    /** Stored notifications, oldest first. */
    async notified() {
      const { data } = await inbox.events({ limit: 200 })
      return Promise.all(
        data.toReversed().map(async ({ id, type }) => {
          const event = await inbox.event(id)
          expect(event!.secretLabel).toBe(internalLabel)
          const schema = internalEventSchemas[type as keyof typeof internalEventSchemas]
          return { id, type, ...schema.parse(JSON.parse(Buffer.from(event!.raw).toString())).data }
        }),
      )
    },
    /** The same as `type code subject`. */
    async listed() {
      const all = await this.notified()
      return all.map(({ type, code, subject }) => [type, code, subject].filter((part) => part !== '').join(' '))
    },
    [Symbol.asyncDispose]: () => watch.close(),
  }
}

test('keeps the queue at the end of each minute of the last hour', async () => {
  await using to = await stage()
  await to.clock.advance(3 * 60_000)
  const backlog = to.watch.backlog()
  expect(backlog.length).toBeGreaterThanOrEqual(3)
  expect(backlog.at(-1)).toEqual({ at: expect.any(Number), openRuns: 0, deadLetters: 0 })
  for (let minute = 0; minute < 62; minute++) await to.clock.advance(60_000)
  const kept = to.watch.backlog()
  expect(kept.length).toBeLessThanOrEqual(60)
  expect(kept[0]?.at).toBeGreaterThan(backlog[0]?.at ?? 0)
})

test('reads the store only while it changes', async () => {
  await using to = await stage()
  await to.clock.advance(3 * minute)
  const { reads } = to.state
  expect(reads).toBeGreaterThan(3)
  await to.clock.advance(10 * minute)
  expect(to.state.reads).toBe(reads)
  await to.inbox.accept([anEvent('a')])
  await to.clock.advance(minute)
  expect(to.state.reads).toBeGreaterThan(reads + 3)
})

test('a warning is listed at the first check, and notified at the second', async () => {
  await using to = await stage()
  to.breakSinks('desk')
  await to.clock.advance(checkMs)
  expect(to.codes()).toEqual(['sink_shut'])
  const { since } = to.watch.warnings()[0]!
  expect(await to.notified()).toEqual([
    expect.objectContaining({
      id: expect.stringMatching(new RegExp(`^inbox:sink_shut:[0-9a-f]{16}:${since}$`)),
      type: 'inbox.warning',
      code: 'sink_shut',
      subject: 'desk',
      level: 'warning',
      since: new Date(since).toISOString(),
      url: 'https://inbox.example.com/#/handlers',
    }),
  ])
})

test('the end of a warning is notified after a minute, unless the warning returns before', async () => {
  await using to = await stage()
  to.breakSinks('desk')
  await to.clock.advance(checkMs)
  to.sinks.clear()
  await to.clock.advance(checkMs)
  expect(to.codes()).toEqual([])
  to.breakSinks('desk')
  await to.clock.advance(checkMs)
  expect(to.watch.warnings()[0]!.since).toBeLessThan(to.clock.now() - checkMs)
  to.sinks.clear()
  await to.clock.advance(50_000)
  expect(await to.notified()).toHaveLength(1)
  await to.clock.advance(25 * minute)
  const [begun, ...ends] = await to.notified()
  expect(ends).toMatchObject([{ type: 'inbox.resolved', code: 'sink_shut', id: `${begun!.id}:resolved` }])
  // `level` would be a second one in a line of the log.
  expect(to.lines).toEqual([
    { level: 'warn', message: 'warning began', fields: expect.not.objectContaining({ level: expect.anything() }) },
  ])
})

describe('with several replicas', () => {
  /** Two replicas, the first of which leads, each with a broken sink. `living`: as the replicas see it. */
  async function two() {
    const clock = createLeapingClock()
    const inbox = await createMemoryInbox({ clock })
    const living = new Set(['one', 'other'])
    const stack = new AsyncDisposableStack()
    const join = async (id: string, isLeader = false) => {
      const replicas = () => [id, ...[...living].filter((name) => name !== id)]
      return stack.use(await stage({ clock, inbox, isLeader, replicas }))
    }
    const [one, other] = [await join('one', true), await join('other')]
    for (const each of [one, other]) each.breakSinks('desk')
    await clock.advance(checkMs)
    const notified = async () => (await one.notified()).map(({ id, type, replica }) => ({ id, type, replica }))
    return { clock, inbox, living, join, one, other, notified, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('each notifies of itself, the leader of the store, and the next leader continues', async () => {
    await using to = await two()
    const { clock, inbox, one, other } = to
    await inbox.setPaused(null, true)
    await clock.advance(hour + minute)
    const desk = 'inbox.warning sink_shut desk'
    expect((await one.listed()).toSorted()).toEqual(['inbox.warning paused', desk, desk])
    expect([one.codes(), other.codes()]).toEqual([
      ['sink_shut', 'paused'],
      ['sink_shut', 'paused'],
    ])
    one.state.isLeader = false
    other.state.isLeader = true
    await clock.advance(25 * minute)
    expect(await one.listed()).toHaveLength(3)
    await inbox.setPaused(null, false)
    await clock.advance(25 * minute)
    expect((await one.listed()).slice(3)).toEqual(['inbox.resolved paused'])
  })

  test('a new replica changes nothing; warnings of a gone one end', async () => {
    await using to = await two()
    const begun = await to.notified()
    expect(begun.map(({ type, replica }) => `${type} ${replica}`).toSorted()).toEqual([
      'inbox.warning one',
      'inbox.warning other',
    ])
    to.living.add('new')
    await to.join('new')
    await to.clock.advance(25 * minute)
    expect(await to.notified()).toHaveLength(2)
    await to.other.watch.close()
    to.living.delete('other')
    await to.clock.advance(25 * minute)
    const id = begun.find(({ replica }) => replica === 'other')!.id
    expect((await to.notified()).slice(2)).toEqual([{ id: `${id}:resolved`, type: 'inbox.resolved', replica: 'other' }])
  })

  test('a replica that was taken for gone begins its active warnings again', async () => {
    await using to = await two()
    to.living.delete('other')
    to.other.state.isReadable = false
    await to.clock.advance(30 * minute)
    expect((await to.notified()).slice(2)).toMatchObject([{ type: 'inbox.resolved', replica: 'other' }])
    to.living.add('other')
    to.other.state.isReadable = true
    await to.clock.advance(25 * minute)
    expect((await to.notified()).slice(3)).toMatchObject([{ type: 'inbox.warning', replica: 'other' }])
  })
})

test('a warning that becomes critical is notified again; one that becomes less critical is not', async () => {
  await using to = await stage()
  for (const ms of [3_000, 4_500]) {
    for (let index = 0; index < 100; index++) to.meter.acknowledged(ms)
    await to.clock.advance(checkMs)
  }
  await to.clock.advance(25 * minute)
  const notified = await to.notified()
  const id = notified[0]!.id
  expect(notified.map((one) => [one.id, one.level])).toEqual([
    [id, 'warning'],
    [`${id}:critical`, 'critical'],
    [`${id}:resolved`, 'critical'],
  ])
})

test('notifications that cannot be stored are stored later', async () => {
  await using to = await stage()
  Object.assign(to.state, { store: { ok: false, reason: 'EIO' }, isWritable: false, isReadable: false })
  const begunAt = to.clock.now() + checkMs
  await to.clock.advance(5 * minute)
  expect(to.codes()).toEqual(['store_unwritable'])
  expect(await to.notified()).toEqual([])
  expect(to.lines.filter(({ message }) => /(?:reading|storing) .*failed/.test(message))).toHaveLength(2)
  Object.assign(to.state, { store: { ok: true }, isWritable: true, isReadable: true })
  await to.clock.advance(2 * minute)
  expect(await to.notified()).toMatchObject([
    { type: 'inbox.warning', code: 'store_unwritable', since: new Date(begunAt).toISOString() },
    { type: 'inbox.resolved', code: 'store_unwritable' },
  ])
})

test('warnings about the store stay active while it cannot be read', async () => {
  await using to = await stage()
  await to.inbox.setPaused(null, true)
  await to.clock.advance(hour + minute)
  expect(await to.listed()).toEqual(['inbox.warning paused'])
  to.state.isReadable = false
  await to.clock.advance(25 * minute)
  expect([to.codes(), await to.listed()]).toEqual([['paused'], ['inbox.warning paused']])
  to.state.isReadable = true
  await to.inbox.setPaused(null, false)
  await to.clock.advance(2 * minute)
  expect([to.codes(), await to.listed()]).toEqual([[], ['inbox.warning paused', 'inbox.resolved paused']])
})

test('after a restart nothing is notified twice, and warnings that ended are resolved', async () => {
  const first = await stage()
  const { clock, inbox } = first
  first.breakSinks('desk', 'pager')
  await clock.advance(checkMs)
  const begunAt = first.watch.warnings()[0]!.since
  await first.watch.close()
  await clock.advance(hour)
  await using second = await stage({ clock, inbox })
  await clock.advance(9 * minute)
  // A broken sink is found again only after some time: until then nothing has ended.
  expect(await second.notified()).toHaveLength(2)
  second.breakSinks('desk')
  await clock.advance(5 * minute)
  expect(second.watch.warnings()).toMatchObject([{ subject: 'desk', since: begunAt }])
  expect(await second.listed()).toEqual([
    'inbox.warning sink_shut desk',
    'inbox.warning sink_shut pager',
    'inbox.resolved sink_shut pager',
  ])
})

test('at most twenty notifications an hour are sent, plus critical ones; then the number of skipped ones', async () => {
  await using to = await stage()
  to.breakSinks(...thirty)
  await to.clock.advance(checkMs)
  expect(await to.notified()).toHaveLength(20)
  expect(to.codes()).toHaveLength(30)
  expect(to.lines.filter(({ message }) => message === 'warning began')).toHaveLength(30)
  for (const name of thirty.slice(0, 5)) to.sinks.delete(name)
  to.state.store = { ok: false, reason: 'EIO' }
  await to.clock.advance(30 * minute)
  expect((await to.notified()).slice(20)).toMatchObject([{ code: 'store_unwritable', level: 'critical' }])
  await to.clock.advance(31 * minute)
  const later = (await to.notified()).slice(21)
  expect(later.map(({ type, code }) => `${type} ${code}`)).toEqual([
    ...Array<string>(5).fill('inbox.resolved sink_shut'),
    'inbox.warning notifications_left_out',
    ...Array<string>(10).fill('inbox.warning sink_shut'),
  ])
  expect(later[5]).toMatchObject({ level: 'info', title: '10 notifications were skipped' })
})

test('a dead letter of a resolved notification does not renew the warning about dead letters', async () => {
  const clock = createLeapingClock()
  const inbox = await createMemoryInbox({ clock })
  let diedAt = clock.now()
  const deadLetter = (type: string, at: number) => ({ type, diedAt: at }) as DeadLetter
  const withDead: Inbox = {
    ...inbox,
    async stats() {
      const row = { handler: 'desk', dead: 2, held: 0, openRuns: 0 } as unknown as HandlerStats
      return { ...(await inbox.stats()), handlers: [row] }
    },
    deadLetters: async () => ({
      data: [deadLetter('inbox.resolved', clock.now()), deadLetter('inbox.warning', diedAt)],
      nextCursor: null,
    }),
  }
  await using to = await stage({ clock, inbox: withDead })
  for (const level of ['warning', 'info']) {
    await clock.advance(checkMs)
    expect(to.watch.warnings()).toMatchObject([{ code: 'dead_letters', level }])
    diedAt -= 24 * hour
  }
})

test('checks never overlap, and close waits for the last one', async () => {
  const clock = createLeapingClock()
  const inbox = await createMemoryInbox({ clock })
  const checks = { running: 0, max: 0, total: 0 }
  const slow: Inbox = {
    ...inbox,
    async stats() {
      checks.total++
      checks.max = Math.max(checks.max, ++checks.running)
      await new Promise<void>((resolve) => void clock.after(25_000, resolve))
      checks.running--
      return inbox.stats()
    },
  }
  const to = await stage({ clock, inbox: slow })
  await clock.advance(2 * minute)
  expect(checks.max).toBe(1)
  expect(checks.total > 2 && checks.total < 6).toBe(true)
  const closing = to.watch.close()
  await clock.advance(minute)
  await closing
  const { total } = checks
  await clock.advance(hour)
  expect(checks.total).toBe(total)
})
