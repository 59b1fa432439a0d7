import { describe, expect, test } from 'vitest'
import { internalEventSchemas } from '../../schema/internal.ts'
import { createTestClock, type TestClock } from '../../src/base/clock.ts'
import { InboxError } from '../../src/base/errors.ts'
import { createMeter } from '../../src/health/meter.ts'
import { toInternalEvent } from '../../src/health/notifier.ts'
import { createHealthWatch, type HealthWatchOptions } from '../../src/health/watch.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { encodeCursor } from '../../src/inbox/cursor.ts'
import { internalLabel, type DeadLetter, type HandlerStats, type Inbox } from '../../src/inbox/port.ts'
import { anEvent } from '../conformance/stage.ts'
import { recordingLog } from '../support/recording-log.ts'

const look = 10_000
const minute = 60_000
const thirty = Array.from({ length: 30 }, (_, index) => `sink-${String(index).padStart(2, '0')}`)
const hour = 60 * minute

interface StageOptions {
  readonly storesEvents?: boolean
  readonly clock?: TestClock
  readonly inbox?: Inbox
  readonly isLeader?: boolean
  /** The ids of the processes that share the inbox, of which the first is this one. */
  readonly replicas?: () => readonly string[]
}

/** A clock that leaps over most of a long wait: one look happens every three minutes instead of eighteen. */
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
        // A warning begins when a look finds it.
        await clock.advance(look)
        left -= look
      }
      for (; left > leap; left -= leap) {
        offset += leap - look
        await clock.advance(look)
      }
      await clock.advance(left)
    },
  }
}

/** A watch over an inbox in memory whose clock stands still; what it warns of is made by a test. */
async function stage({
  clock = createLeapingClock(),
  inbox: given,
  storesEvents = true,
  isLeader = true,
  replicas,
}: StageOptions = {}) {
  const inbox = given ?? (await createMemoryInbox({ clock }))
  const meter = createMeter(clock)
  const { log, lines } = recordingLog()
  const store = { ok: true } as ReturnType<HealthWatchOptions['storeHealth']>
  const state = { store, accepts: true, reads: true, isLeader }
  const sinks = new Map<string, { reason: 'breaker'; since: number; failures: number }>()
  const guarded: Inbox = {
    ...inbox,
    accept: async (batch) => {
      if (!state.accepts) throw new InboxError('store_unavailable', 'not now')
      return inbox.accept(batch)
    },
    stats: async () => {
      if (!state.reads) throw new InboxError('store_unavailable', 'not now')
      return inbox.stats()
    },
  }
  const watch = createHealthWatch({
    inbox: guarded,
    meter,
    drift: { records: () => [] },
    clock,
    log,
    storeHealth: () => state.store,
    freeBytes: async () => null,
    reserveBytes: 0,
    handlers: () => [],
    openBreakers: () => sinks,
    secretLabels: () => ['main'],
    consoleUrl: 'https://inbox.example.com',
    storesEvents,
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
    /** The newest last. */
    async told() {
      const { data } = await inbox.events({ limit: 200 })
      return Promise.all(
        data.toReversed().map(async ({ id, type, key }: { id: string; type: string; key?: string }) => {
          const event = await inbox.event(id)
          const parsed = JSON.parse(Buffer.from(event!.raw).toString())
          expect(event!.secretLabel).toBe(internalLabel)
          return {
            id,
            type,
            key,
            ...internalEventSchemas[type as keyof typeof internalEventSchemas].parse(parsed).data,
          }
        }),
      )
    },
    [Symbol.asyncDispose]: () => watch.close(),
  }
}

type Stage = Awaited<ReturnType<typeof stage>>
function breakSinks({ sinks, clock }: Stage, ...names: readonly string[]): void {
  for (const name of names) sinks.set(name, { reason: 'breaker', since: clock.now() - hour, failures: 5 })
}
const codesOf = ({ watch }: Stage) => watch.warnings().map(({ code }) => code)
/** Ids of stored own events of a type, newest first. */
const storedOf = async (inbox: Inbox, type: string) =>
  (await inbox.events({ type, limit: 200 })).data.map(({ id }) => id)

describe('the watch over the health', () => {
  test('lists a warning at the first look, and tells of it at the second', async () => {
    await using to = await stage()
    breakSinks(to, 'desk')
    await to.clock.advance(look)
    expect(codesOf(to)).toEqual(['sink_shut'])
    const [event, ...others] = await to.told()
    expect(others).toEqual([])
    const { since } = to.watch.warnings()[0]!
    expect(event).toMatchObject({
      type: 'inbox.warning',
      code: 'sink_shut',
      subject: 'desk',
      level: 'warning',
      since: new Date(since).toISOString(),
      url: 'https://inbox.example.com/#/handlers',
    })
    expect(event!.id).toMatch(new RegExp(`^inbox:sink_shut:[0-9a-f]{16}:${since}$`))
  })

  test('tells of the end once it has lasted for a minute, and nothing of what comes back before', async () => {
    await using to = await stage()
    breakSinks(to, 'desk')
    await to.clock.advance(look)
    to.sinks.clear()
    await to.clock.advance(look)
    expect(codesOf(to)).toEqual([])
    breakSinks(to, 'desk')
    await to.clock.advance(look)
    expect(to.watch.warnings()[0]!.since).toBeLessThan(to.clock.now() - look)
    to.sinks.clear()
    await to.clock.advance(50_000)
    expect(await to.told()).toHaveLength(1)
    await to.clock.advance(20_000)
    const [begun, resolved] = await to.told()
    expect(resolved).toMatchObject({ type: 'inbox.resolved', code: 'sink_shut', id: `${begun!.id}:resolved` })
    await to.clock.advance(25 * minute)
    expect(await to.told()).toHaveLength(2)
    expect(to.lines.map(({ message }) => message)).toEqual(['warning began'])
  })

  test('of several processes each tells of itself, and one of the store; the next one to do so goes on from what was told', async () => {
    const clock = createLeapingClock()
    const inbox = await createMemoryInbox({ clock })
    await using one = await stage({ clock, inbox, replicas: () => ['one', 'other'] })
    await using other = await stage({ clock, inbox, isLeader: false, replicas: () => ['other', 'one'] })
    await inbox.setPaused(null, true)
    breakSinks(one, 'of one')
    breakSinks(other, 'of other')
    await clock.advance(hour + minute)
    const told = async () =>
      (await one.told()).map(({ type, code, subject }) => [type, code, subject].filter((part) => part !== '').join(' '))
    const begun = ['inbox.warning paused', 'inbox.warning sink_shut of one', 'inbox.warning sink_shut of other']
    expect((await told()).toSorted()).toEqual(begun)
    expect([codesOf(one), codesOf(other)]).toEqual([
      ['sink_shut', 'paused'],
      ['sink_shut', 'paused'],
    ])
    one.state.isLeader = false
    other.state.isLeader = true
    await clock.advance(25 * minute)
    expect(await told()).toHaveLength(3)
    await inbox.setPaused(null, false)
    await clock.advance(25 * minute)
    expect((await told()).slice(3)).toEqual(['inbox.resolved paused'])
    const logged = ({ lines }: Stage) =>
      lines.filter(({ fields }) => 'code' in fields && fields.code === 'paused').length
    expect([logged(one), logged(other)]).toEqual([1, 0])
  })

  describe('what is about one of several processes', () => {
    /** Two of them, of which the first leads, with the same to warn of; `living`: those that are there, as far as the others know. */
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
      for (const each of [one, other]) breakSinks(each, 'desk')
      await clock.advance(look)
      const told = async () => (await one.told()).map(({ id, type, replica }) => ({ id, type, replica }))
      return { clock, inbox, living, join, other, told, stack }
    }

    test('is told of each, is no matter of one that comes, and is over for one that is gone', async () => {
      const { clock, living, join, other, told, stack } = await two()
      await using _ = stack
      const begun = await told()
      expect(begun.map(({ type, replica }) => `${type} ${replica}`).toSorted()).toEqual([
        'inbox.warning one',
        'inbox.warning other',
      ])
      living.add('new')
      await join('new')
      await clock.advance(25 * minute)
      expect(await told()).toHaveLength(2)
      await other.watch.close()
      living.delete('other')
      await clock.advance(25 * minute)
      const id = begun.find(({ replica }) => replica === 'other')!.id
      expect((await told()).slice(2)).toEqual([{ id: `${id}:resolved`, type: 'inbox.resolved', replica: 'other' }])
    })

    test('is over once, also where a process was taken for gone and is not', async () => {
      const { clock, inbox, living, other, told, stack } = await two()
      await using _ = stack
      living.delete('other')
      await clock.advance(15 * minute)
      expect(await told()).toHaveLength(2)
      await clock.advance(15 * minute)
      expect(await told()).toHaveLength(3)
      living.add('other')
      other.sinks.clear()
      await clock.advance(25 * minute)
      expect(await told()).toHaveLength(3)
      expect((await inbox.conflicts({ limit: 10 })).data).toEqual([])
    })

    test('begins anew where it is still on when a process comes back that was taken for gone', async () => {
      const { clock, living, other, told, stack } = await two()
      await using _ = stack
      living.delete('other')
      other.state.reads = false
      await clock.advance(30 * minute)
      expect((await told()).slice(2)).toMatchObject([{ type: 'inbox.resolved', replica: 'other' }])
      living.add('other')
      other.state.reads = true
      await clock.advance(25 * minute)
      expect((await told()).slice(3)).toMatchObject([{ type: 'inbox.warning', replica: 'other' }])
    })
  })

  test('tells when a warning becomes critical, under the same name, and not when it becomes less', async () => {
    await using to = await stage()
    for (let index = 0; index < 100; index++) to.meter.acknowledged(3_000)
    await to.clock.advance(look)
    for (let index = 0; index < 100; index++) to.meter.acknowledged(4_500)
    await to.clock.advance(look)
    await to.clock.advance(25 * minute)
    const told = await to.told()
    const [first] = told
    expect(told.map(({ id, level }) => [id, level])).toEqual([
      [first!.id, 'warning'],
      [`${first!.id}:critical`, 'critical'],
      [`${first!.id}:resolved`, 'critical'],
    ])
  })

  test('keeps what it cannot store, and stores it once it can', async () => {
    await using to = await stage()
    to.state.store = { ok: false, reason: 'EIO' }
    to.state.accepts = false
    to.state.reads = false
    const begunAt = to.clock.now() + look
    await to.clock.advance(5 * minute)
    expect(codesOf(to)).toEqual(['store_unwritable'])
    expect(await to.told()).toEqual([])
    expect(to.lines.filter(({ message }) => /(?:reading|storing) .*failed/.test(message))).toHaveLength(2)
    to.state.store = { ok: true }
    to.state.accepts = true
    to.state.reads = true
    await to.clock.advance(2 * minute)
    expect(await to.told()).toMatchObject([
      { type: 'inbox.warning', code: 'store_unwritable', since: new Date(begunAt).toISOString() },
      { type: 'inbox.resolved', code: 'store_unwritable' },
    ])
  })

  test('takes nothing for over while the store, which alone knows, cannot be read', async () => {
    await using to = await stage()
    await to.inbox.setPaused(null, true)
    await to.clock.advance(hour + minute)
    expect(await to.told()).toMatchObject([{ code: 'paused', level: 'warning' }])
    to.state.reads = false
    await to.clock.advance(25 * minute)
    expect(codesOf(to)).toEqual(['paused'])
    expect(await to.told()).toHaveLength(1)
    to.state.reads = true
    await to.inbox.setPaused(null, false)
    await to.clock.advance(2 * minute)
    expect(codesOf(to)).toEqual([])
    expect(await to.told()).toMatchObject([{ type: 'inbox.warning' }, { type: 'inbox.resolved', level: 'warning' }])
  })

  test('a new process goes on where the last one ended: it tells nothing twice, and ends what is over', async () => {
    const first = await stage()
    const { clock, inbox } = first
    breakSinks(first, 'desk', 'pager')
    await clock.advance(look)
    const begunAt = first.watch.warnings()[0]!.since
    await first.watch.close()
    await clock.advance(hour)
    await using second = await stage({ clock, inbox })
    await clock.advance(9 * minute)
    // A sink is left alone only once it has failed for some time: until then nothing is over.
    expect(await second.told()).toHaveLength(2)
    breakSinks(second, 'desk')
    await clock.advance(5 * minute)
    expect(second.watch.warnings()).toMatchObject([{ subject: 'desk', since: begunAt }])
    const told = await second.told()
    expect(told.map(({ type, subject }) => `${type} ${subject}`)).toEqual([
      'inbox.warning desk',
      'inbox.warning pager',
      'inbox.resolved pager',
    ])
  })

  test('tells at most twenty in an hour, then how many were left out, and those that are still on', async () => {
    await using to = await stage()
    breakSinks(to, ...thirty)
    await to.clock.advance(look)
    expect(await to.told()).toHaveLength(20)
    expect(codesOf(to)).toHaveLength(30)
    expect(to.lines.filter(({ message }) => message === 'warning began')).toHaveLength(30)
    for (const name of [...to.sinks.keys()].slice(0, 5)) to.sinks.delete(name)
    await to.clock.advance(30 * minute)
    expect(await to.told()).toHaveLength(20)
    await to.clock.advance(31 * minute)
    const later = (await to.told()).slice(20)
    expect(later.map(({ type, code }) => `${type} ${code}`)).toEqual([
      ...Array<string>(5).fill('inbox.resolved sink_shut'),
      'inbox.warning notifications_left_out',
      ...Array<string>(10).fill('inbox.warning sink_shut'),
    ])
    expect(later[5]).toMatchObject({ level: 'info', title: '10 notifications were skipped' })
  })

  test('a new process tells nothing twice that had begun before hundreds of others, though the first page comes back short', async () => {
    const first = await stage()
    const { clock, inbox } = first
    breakSinks(first, 'desk')
    await clock.advance(look)
    const warning = { ...first.watch.warnings()[0]!, subject: 'other' }
    await first.watch.close()
    for (let n = 1; n <= 150; n++) {
      const notifiedAt = clock.now() + n
      for (const turn of ['begun', 'resolved'] as const)
        await inbox.accept([
          toInternalEvent({ warning, notifiedAt, replica: null }, turn, { at: notifiedAt, consoleUrl: null }),
        ])
    }
    await clock.advance(hour)
    const cutShort: Inbox = {
      ...inbox,
      events: async (query) =>
        query.cursor === undefined && query.type?.startsWith('inbox.')
          ? { data: [], nextCursor: encodeCursor(Number.MAX_SAFE_INTEGER), searchedTo: null }
          : inbox.events(query),
    }
    await using second = await stage({ clock, inbox: cutShort })
    breakSinks(second, 'desk')
    await clock.advance(12 * minute)
    expect(await storedOf(inbox, 'inbox.warning')).toHaveLength(151)
    expect(await storedOf(inbox, 'inbox.resolved')).toHaveLength(150)
  })

  test('tells the end of a silence that has become one for good', async () => {
    const clock = createLeapingClock()
    const inbox = await createMemoryInbox({ clock })
    const lastAt = clock.now() - 7 * 24 * hour + 3 * minute
    const events = Array.from({ length: 100 }, (_, n) =>
      anEvent(`e${n}`, { type: 'token.new_listing', receivedAt: lastAt - n * minute }),
    )
    await inbox.accept(events.toReversed())
    await using to = await stage({ clock, inbox })
    await clock.advance(2 * look)
    expect(codesOf(to)).toEqual(['silence'])
    await clock.advance(8 * minute)
    expect(codesOf(to)).toEqual([])
    expect(to.watch.silences()).toMatchObject([{ state: 'gone' }])
    for (const type of ['inbox.warning', 'inbox.resolved']) expect(await storedOf(inbox, type)).toHaveLength(1)
  })

  test('the end of a warning that a sink cannot tell is no news of its dead letters', async () => {
    const clock = createLeapingClock()
    const inbox = await createMemoryInbox({ clock })
    let diedAt = clock.now()
    const letter = (type: string, at: number) => ({ type, diedAt: at }) as DeadLetter
    const withDead: Inbox = {
      ...inbox,
      stats: async () => {
        const stats = await inbox.stats()
        return { ...stats, handlers: [{ handler: 'desk', dead: 2, held: 0, openRuns: 0 } as unknown as HandlerStats] }
      },
      deadLetters: async () => ({
        data: [letter('inbox.resolved', clock.now()), letter('inbox.warning', diedAt)],
        nextCursor: null,
      }),
    }
    await using to = await stage({ clock, inbox: withDead })
    await clock.advance(look)
    expect(to.watch.warnings()).toMatchObject([{ code: 'dead_letters', level: 'warning' }])
    diedAt -= 24 * hour
    await clock.advance(look)
    expect(to.watch.warnings()).toMatchObject([{ code: 'dead_letters', level: 'info' }])
  })

  test('tells what is critical though twenty others were', async () => {
    await using to = await stage()
    breakSinks(to, ...thirty)
    await to.clock.advance(look)
    to.state.store = { ok: false, reason: 'EIO' }
    await to.clock.advance(look)
    expect((await to.told()).slice(20)).toMatchObject([{ code: 'store_unwritable', level: 'critical' }])
  })

  test('looks one at a time, however long a look takes, and ends with the one that is under way', async () => {
    const clock = createLeapingClock()
    const inbox = await createMemoryInbox({ clock })
    let looking = 0
    let most = 0
    let looks = 0
    const slow: Inbox = {
      ...inbox,
      async stats() {
        looks++
        most = Math.max(most, ++looking)
        await new Promise<void>((resolve) => void clock.after(25_000, resolve))
        looking--
        return inbox.stats()
      },
    }
    const to = await stage({ clock, inbox: slow })
    await clock.advance(2 * minute)
    expect(most).toBe(1)
    expect(looks).toBeGreaterThan(2)
    expect(looks).toBeLessThan(6)
    const closing = to.watch.close()
    await clock.advance(minute)
    await closing
    const before = looks
    await clock.advance(hour)
    expect(looks).toBe(before)
  })
})
