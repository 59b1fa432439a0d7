import { expect, test, vi } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import type { SeedInput } from '../../src/emulator/seed/schema.ts'
import { AppServer } from '../support/app-server.ts'
import { headerOf, jsonOf, RawConnection } from '../support/raw-http.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { apiKey, ask, postJson, startStage, testSeed, type Answer } from './emulator-stage.ts'

// Simulating hours of history takes long on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const secret = 'whsec_0123456789abcdef'
const listen = { host: '127.0.0.1', port: 0 }
const longHistory = (history: string) => testSeed({ world: { seed: 'test', history } })

test('requests wait until the history is created', async () => {
  await using emulator = createEmulator({ seed: longHistory('12h'), listen })
  const headers = { Authorization: `Bearer ${apiKey}` }
  let early: Promise<Answer> | undefined
  await emulator.start(() => {
    early ??= ask(`${emulator.url}/v1/networks`, { headers })
  })
  expect(await early).toMatchObject({ status: 200 })
})

test('fails before the history is created if it cannot listen, and says what to change', async () => {
  await using holder = await AppServer.start()
  for (const [host, taken, message] of [
    ['127.0.0.1', holder.port, /EADDRINUSE.*; choose another --port, or stop what uses it/],
    ['203.0.113.7', 0, /EADDRNOTAVAIL.*; choose another host: a name/],
    ['no such host', 0, /; choose another host: a name/],
  ] as const) {
    await using emulator = createEmulator({ seed: longHistory('365d'), listen: { host, port: taken } })
    await expect(emulator.start()).rejects.toThrow(message)
  }
})

test('a failed start frees the port', async () => {
  const tracked: SeedInput['tracked'] = [{ network: 'base', wallet: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }]
  const emulator = createEmulator({ seed: testSeed({ tracked }), listen })
  emulator.world.commands.apply = () => {
    throw new TypeError('the world is out of order')
  }
  await expect(emulator.start()).rejects.toThrow('out of order')
  await expect(fetch(emulator.url ?? '')).rejects.toThrow()
  await emulator.stop()
})

test('a stop during the start frees the port', async () => {
  const emulator = createEmulator({ seed: testSeed(), listen })
  const starting = emulator.start()
  await emulator.stop()
  await expect(starting).rejects.toThrow('is stopped')
  if (emulator.url !== null) await expect(fetch(emulator.url)).rejects.toThrow()
})

test('in mode real the world follows the given clock, after its history', async () => {
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
  await expect(emulator.advance(1)).rejects.toThrow('advance needs a manual clock (mode is real)')
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

test('R1 A3 rejects CONNECT in the envelope', async () => {
  await using stage = await startStage()
  using connection = await RawConnection.open(Number(new URL(stage.emulator.url ?? '').port))
  connection.send('CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n')
  const answer = await connection.answer()
  expect([answer.status, headerOf(answer, 'x-ratelimit-limit')]).toEqual([405, '10'])
  expect(jsonOf(answer)).toMatchObject({ success: false, error: { code: 'method_not_allowed' } })
})

test('if it listens beyond loopback, only URLs of its operator may be private', async () => {
  await using own = await createTestReceiver(answerStatus(200))
  await using foreign = await createTestReceiver(answerStatus(200))
  const endpoints = [{ url: own.url, secret }]
  await using stage = await startStage({ endpoints, listen: { host: '0.0.0.0', port: 0 } })
  const { emulator } = stage
  const { status } = await stage.rest('/webhooks', postJson({ url: foreign.url, events: ['*'] }))
  expect(status).toBe(201)
  emulator.trigger('contract.ownership_changed')
  await emulator.deliveries.idle()
  expect([own.requests.length > 0, foreign.requests.length]).toEqual([true, 0])
  const failed = emulator.deliveries.list({ state: 'failed' }, 1)
  expect(failed).toMatchObject([{ lastFailure: expect.stringMatching(/public/) }])
})
