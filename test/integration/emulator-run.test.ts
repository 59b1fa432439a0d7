import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { testSeed } from './emulator-stage.ts'

test('mode real follows the given clock, after the history', async () => {
  const clock = createTestClock()
  const seed = testSeed({ clock: { mode: 'real' }, world: { seed: 'real', history: '2h' } })
  const times: string[] = []
  await using emulator = createEmulator({ seed, clock, onEvent: ({ created_at }) => times.push(created_at) })
  const t0 = clock.now()
  await emulator.start()
  expect(emulator.world.now()).toBe(t0)
  expect(emulator.world.eventsAfter(0, 1000).length).toBeGreaterThan(0)
  expect(times).toEqual([])
  await clock.advance(3_600_000)
  expect(times.length).toBeGreaterThan(0)
  for (const at of times.map(Date.parse)) expect(at - t0).toSatisfy((ms: number) => ms > 0 && ms <= 3_600_000)
  await expect(emulator.advance(1)).rejects.toThrow(
    'advance needs a manual clock (mode is real); set the mode to manual first',
  )
})

test('A34 applies tracked wallets, networks and stories of the seed', async () => {
  const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const types: string[] = []
  const seed = testSeed({
    tracked: [{ network: 'base', wallet }],
    networks: { solana: 'degraded' },
    stories: ['launch'],
  })
  await using emulator = createEmulator({ seed, onEvent: ({ type }) => types.push(type) })
  await emulator.start()
  const { views } = emulator.world
  expect(views.trackedWallets()).toContainEqual(expect.objectContaining({ network: 'base', address: wallet }))
  expect([views.networkStatus('solana'), views.networkStatus('base')]).toEqual(['degraded', 'operational'])
  await emulator.advance(6 * 3_600_000)
  expect(types).toContain('pump.graduation')
})
