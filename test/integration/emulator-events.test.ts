import { expect, test, vi } from 'vitest'
import type { WorldEvent } from '../../src/emulator/world/port.ts'
import { startStage, testSeed } from './emulator-stage.ts'

// Simulating hours of history takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

test('lists events oldest or newest first, of all types or of one', async () => {
  await using stage = await startStage({ seed: testSeed({ world: { seed: 'test', history: '6h' } }) })
  const get = async (path: string) => (await stage.control('GET', path)).json.data as readonly WorldEvent[]
  const whole = await get('/events?limit=1000')
  expect(whole.length).toBeGreaterThan(100)
  expect(await get('/events?order=newest&limit=1000')).toEqual(whole.toReversed())
  const last = whole.length
  const before = await get(`/events?order=newest&limit=2&after=${last}`)
  expect(before.map(({ seq }) => seq)).toEqual([last - 1, last - 2])
  const ofType = whole.filter(({ event }) => event.type === 'wallet.large_trade')
  expect(ofType.length).toBeGreaterThan(1)
  expect(await get('/events?type=wallet.large_trade&limit=1000')).toEqual(ofType)
  expect(await get('/events?type=wallet.large_trade&order=newest&limit=1')).toEqual(ofType.slice(-1))
})
