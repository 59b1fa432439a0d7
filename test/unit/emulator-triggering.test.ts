import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/clock.ts'
import { createAccounts } from '../../src/emulator/accounts/accounts.ts'
import { createTriggering } from '../../src/emulator/triggering.ts'
import { WorldRefusal, type World, type WorldAct } from '../../src/emulator/world/port.ts'
import { createWorld } from '../../src/emulator/world/world.ts'
import { silentLogger } from '../../src/log.ts'

function setUp(apply: (act: WorldAct) => object, rate = 1) {
  const clock = createTestClock()
  const { views } = createWorld({ seed: 'triggering', startAt: clock.now() })
  const world: Pick<World, 'acts' | 'views'> = { views, acts: { apply: (act) => ({ ...apply(act) }) } }
  const logged: unknown[][] = []
  const log = { ...silentLogger, error: (...entry: unknown[]) => void logged.push(entry) }
  const accounts = createAccounts({ clock, randomBytes })
  const triggering = createTriggering({ world, accounts, clock, seed: 's', rate, isOver: () => false, log })
  return { clock, triggering, logged }
}

test('whatever is thrown while events are triggered at a rate, it is told once and the next ones are tried', async () => {
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
  expect(logged).toEqual([[{ error: 'the disk is full' }, expect.stringContaining('no event could be triggered')]])
  isBroken = false
  await clock.advance(1000)
  isBroken = true
  await clock.advance(2000)
  expect([applied, logged.length]).toEqual([9, 2])
  triggering.stop()
  expect(clock.nextTimerAt()).toBeNull()
})

test('where a type is refused one of the easiest arises, and if that is refused as well the next one is tried', async () => {
  const types: string[] = []
  const { clock, triggering, logged } = setUp((act) => {
    types.push(act.kind === 'trigger' ? act.type : act.kind)
    throw new WorldRefusal('nobody is left')
  })
  triggering.begin()
  await clock.advance(2000)
  expect(types.filter((type) => type === 'contract.ownership_changed').length).toBeGreaterThanOrEqual(3)
  expect(logged).toHaveLength(1)
})

test('nothing is triggered before time moves on, and who begins anew has the same types again', async () => {
  const types: string[] = []
  const { clock, triggering } = setUp((act) => {
    if (act.kind === 'trigger') types.push(act.type)
    return {}
  }, 2)
  triggering.begin()
  expect(types).toEqual([])
  await clock.advance(10_000)
  const first = types.splice(0)
  expect(first.length).toBe(21)
  triggering.begin()
  await clock.advance(10_000)
  expect(types).toEqual(first)
})
