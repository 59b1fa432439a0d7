import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createEmulator, type Emulator } from '../../src/emulator/emulator.ts'
import { apiKey, ask, controlToken, testSeed, type Answer } from './emulator-stage.ts'

const listen = { host: '127.0.0.1', port: 0 }

test('answers 503 in the envelope until the history is simulated', async () => {
  await using emulator = createEmulator({ seed: testSeed({ world: { seed: 'test', history: '12h' } }), listen })
  const early = Promise.withResolvers<Answer[]>()
  let isAsked = false
  const started = emulator.start(() => {
    if (isAsked) return
    isAsked = true
    void Promise.all([askFor(emulator, '/v1/networks', apiKey), askFor(emulator, '/_emulator', controlToken)]).then(
      early.resolve,
      early.reject,
    )
  })
  for (const { status, json, headers } of await early.promise) {
    expect([status, headers.get('retry-after')]).toEqual([503, '1'])
    expect(json).toMatchObject({
      success: false,
      error: { message: expect.stringContaining('still creating its world') },
    })
  }
  await started
  expect((await askFor(emulator, '/v1/networks', apiKey)).status).toBe(200)
})

test('refuses a used port and a foreign host before it simulates the history', async () => {
  const holder = createServer()
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
  const { port } = holder.address() as AddressInfo
  expect(await refusal({ host: '127.0.0.1', port })).toMatch(
    /EADDRINUSE.*; choose another --port, or stop the process that uses it/,
  )
  expect(await refusal({ host: '203.0.113.7', port: 0 })).toMatch(/EADDRNOTAVAIL.*; choose another --host: a name/)
  expect(await refusal({ host: 'no such host', port: 0 })).toMatch(/; choose another --host: a name/)
  await new Promise((resolve) => holder.close(resolve))
})

test('frees the port after a failed start', async () => {
  const tracked = [{ network: 'base', wallet: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }] as const
  const emulator = createEmulator({ seed: testSeed({ tracked: [...tracked] }), listen })
  emulator.world.acts.apply = () => {
    throw new TypeError('the world is out of order')
  }
  await expect(emulator.start()).rejects.toThrow('out of order')
  await expect(fetch(emulator.url ?? '')).rejects.toThrow()
  await emulator.stop()
})

function askFor({ url }: Emulator, path: string, token: string): Promise<Answer> {
  return ask(`${url}${path}`, { headers: { Authorization: `Bearer ${token}` } })
}

/** The error of a start there. A test would time out if it simulated this history. */
async function refusal(there: { host: string; port: number }): Promise<string> {
  await using emulator = createEmulator({
    seed: testSeed({ world: { seed: 'test', history: '365d' } }),
    listen: there,
  })
  return await emulator.start().then(
    () => 'it started',
    (error: Error) => error.message,
  )
}
