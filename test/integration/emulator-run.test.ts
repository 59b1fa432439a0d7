import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { headerOf, jsonOf, RawConnection } from '../support/raw-http.ts'
import { createTestReceiver } from './emulator-receiver.ts'
import { testSeed } from './emulator-stage.ts'

const secret = 'whsec_0123456789abcdef'

test('finishes when `count` events are acknowledged or undelivered', async () => {
  await using receiver = await createTestReceiver((response, { body }) => {
    response.writeHead(body.includes('wallet.') ? 500 : 200).end()
  })
  await using emulator = createEmulator({ seed: testSeed(), count: 12, endpoints: [{ url: receiver.url, secret }] })
  await emulator.start()
  let isFinished = false
  const finished = emulator.finished().then(() => (isFinished = true))
  emulator.tour()
  await emulator.advance(3_600_000)
  const { pending, acknowledged } = emulator.deliveries.counts()
  expect(pending).toBeGreaterThan(0)
  expect(acknowledged + pending).toBe(12)
  expect(isFinished).toBe(false)
  await emulator.advance(24 * 3_600_000)
  await finished
  expect(emulator.deliveries.counts()).toMatchObject({ acknowledged, undelivered: pending, pending: 0, inFlight: 0 })
})

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

test('R1 A3 answers requests that reach no route in the envelope', async () => {
  await using emulator = createEmulator({ seed: testSeed(), listen: { host: '127.0.0.1', port: 0 } })
  await emulator.start()
  using connection = await RawConnection.open(Number(new URL(emulator.url ?? '').port))
  connection.send('CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n')
  const answer = await connection.answer()
  expect(answer.status).toBe(405)
  expect(jsonOf(answer)).toMatchObject({ success: false, error: { code: 'method_not_allowed' } })
  expect(headerOf(answer, 'x-ratelimit-limit')).toBe('10')
})
