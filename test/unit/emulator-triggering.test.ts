import { randomBytes } from 'node:crypto'
import { eventTypes } from '../../schema/index.ts'
import { expect, test } from 'vitest'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { createAccounts } from '../../src/emulator/accounts/accounts.ts'
import type { PlainEvent } from '../../src/emulator/overrides.ts'
import { createTriggering } from '../../src/emulator/triggering.ts'
import { WorldRefusal, type WorldCommand } from '../../src/emulator/world/port.ts'
import { createWorld, type World } from '../../src/emulator/world/world.ts'

type PlainWorld = Pick<World, 'commands' | 'views' | 'onEvent'>

function setUpWith(world: PlainWorld, rate: number, clock = createTestClock()) {
  const logged: unknown[][] = []
  const raw: PlainEvent[] = []
  const log = { ...silentLogger, error: (...entry: unknown[]) => void logged.push(entry) }
  const accounts = createAccounts({ clock, randomBytes })
  const triggering = createTriggering({
    world,
    sendRaw: (event) => void raw.push(event),
    accounts,
    clock,
    seed: 's',
    randomBytes,
    rate,
    isComplete: () => false,
    log,
  })
  return { clock, triggering, logged, raw }
}

/** In a world whose commands are only noted. */
function setUp(apply: (act: WorldCommand) => object, rate = 1) {
  const clock = createTestClock()
  const inner = createWorld({ seed: 'triggering', startAt: clock.now() })
  return setUpWith({ ...inner, commands: { apply: (command: WorldCommand) => ({ ...apply(command) }) } }, rate, clock)
}

/** In a whole world. */
function setUpWorld() {
  const clock = createTestClock()
  const world = createWorld({ seed: 'triggering', startAt: clock.now() - 3_600_000 })
  world.advanceTo(clock.now())
  return { world, ...setUpWith(world, 0, clock) }
}

test('logs a repeated failure at a rate once, and keeps triggering', async () => {
  let isBroken = true
  let applied = 0
  const { clock, triggering, logged } = setUp(() => {
    applied++
    if (isBroken) throw new Error('the disk is full')
    return {}
  })
  triggering.begin()
  await clock.advance(5000)
  expect(applied).toBe(6)
  expect(logged).toEqual([[{ error: 'the disk is full' }, expect.stringContaining('event trigger failed')]])
  isBroken = false
  await clock.advance(1000)
  isBroken = true
  await clock.advance(2000)
  expect([applied, logged.length]).toEqual([9, 2])
  triggering.stop()
  expect(clock.nextTimerAt()).toBeNull()
})

test('a refused type is replaced by the fallback type, and further events follow if that is refused too', async () => {
  const types: string[] = []
  const { clock, triggering, logged } = setUp((act) => {
    types.push(act.kind === 'trigger' ? act.type : act.kind)
    throw new WorldRefusal('no wallet')
  })
  triggering.begin()
  await clock.advance(2000)
  expect(types.filter((type) => type === 'contract.ownership_changed').length).toBeGreaterThanOrEqual(3)
  expect(logged).toHaveLength(1)
})

const atOnce = eventTypes.filter((type) => type !== 'token.new_listing' && type !== 'token.price_alert')

test.each(atOnce)('R92 %s: the returned id is that of the event', (type) => {
  const { triggering, world } = setUpWorld()
  const before = world.eventsAfter(0, 10_000).length
  const { eventId, isRaw, ...who } = triggering.trigger(type)
  const arisen = world.eventsAfter(before, 100).map(({ event }) => event)
  const event = arisen.find(({ id }) => id === eventId)
  expect([event?.type, isRaw]).toEqual([type, false])
  expect(Object.values(event?.data ?? {})).toContain(who['token'] ?? who['wallet'])
})

test('R94 a triggered listing has no id yet, and its event follows within five seconds', () => {
  const { triggering, world } = setUpWorld()
  const { eventId, token } = triggering.trigger('token.new_listing')
  expect(eventId).toBeNull()
  const before = world.eventsAfter(0, 10_000).length
  world.advanceTo(world.now() + 5_000)
  const listings = world.eventsAfter(before, 100).filter(({ event }) => event.type === 'token.new_listing')
  expect(listings.map(({ event }) => (event.data as { token_address?: string }).token_address)).toContain(token)
})

test('events with overrides are sent raw with new ids, and the world notices nothing', async () => {
  const { triggering, raw, clock } = setUp((command) => expect.fail(command.kind), 0)
  const type = 'token.risk_change'
  const set = { 'data.symbol': 'PEPE', 'data.extra.deep': 1 }
  expect(await triggering.many({ type, count: 2, set })).toEqual(raw.map(({ id }) => ({ eventId: id, isRaw: true })))
  expect(new Set(raw.map(({ id }) => id)).size).toBe(2)
  const event = {
    id: expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/),
    type,
    created_at: new Date(clock.now()).toISOString(),
    data: { ...createEvent(type).data, symbol: 'PEPE', extra: { deep: 1 } },
  }
  expect(raw).toEqual([event, event])
})

test('many events yield to the event loop and fail when the world is restored', async () => {
  let applied = 0
  const { triggering } = setUp(() => {
    applied++
    return {}
  })
  const under = triggering.many({ type: 'wallet.large_trade', count: 10_000 })
  const refused = expect(under).rejects.toMatchObject({
    code: 'bad_request',
    message: 'the world was restored after 20 of 10000 events were triggered',
  })
  triggering.begin()
  await refused
  expect(applied).toBe(20)
})

test('with a rate the first event arises at once and the others follow in world time', async () => {
  const types: string[] = []
  const { clock, triggering } = setUp((act) => {
    if (act.kind === 'trigger') types.push(act.type)
    return {}
  }, 0)
  const given = await triggering.many({ type: 'wallet.large_trade', count: 5, rate: 2 })
  expect([given.length, types.length]).toEqual([1, 1])
  await clock.advance(499)
  expect(types).toHaveLength(1)
  await clock.advance(1)
  expect(types).toHaveLength(2)
  await clock.advance(10_000)
  expect(types).toEqual(Array.from({ length: 5 }, () => 'wallet.large_trade'))
  expect(clock.nextTimerAt()).toBeNull()
})
