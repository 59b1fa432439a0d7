import { request } from 'node:https'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { apiKey, controlToken, testSeed } from './emulator-stage.ts'

async function startSecure() {
  const emulator = createEmulator({ seed: testSeed(), listen: { host: '127.0.0.1', port: 0, tls: tlsPair } })
  await emulator.start()
  const { port } = new URL(emulator.url ?? '')
  return { emulator, port: Number(port), [Symbol.asyncDispose]: () => emulator.stop() }
}

function get(port: number, host: string, ca: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${apiKey}` }
    const outgoing = request({ host, port, path: '/v1/networks', ca, headers }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode, text }))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
}

test('R5 serves HTTPS to clients that trust the certificate', async () => {
  await using secure = await startSecure()
  expect(secure.emulator.url).toBe(`https://127.0.0.1:${secure.port}`)
  const { status, text } = await get(secure.port, '127.0.0.1', tlsPair.cert)
  expect([status, JSON.parse(text).success]).toEqual([200, true])
  await expect(get(secure.port, '127.0.0.1', '')).rejects.toThrow(/self-signed/)
})

test('R5 R108 plain HTTP gets no data', async () => {
  await using secure = await startSecure()
  for (const [method, path, token] of [
    ['GET', '/v1/networks', apiKey],
    ['POST', '/v1/webhooks', apiKey],
    ['GET', '/_emulator/clock', controlToken],
    ['GET', '/', apiKey],
  ] as const) {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ url: 'https://example.com/', events: ['*'] })
    const init = { method, headers, ...(method === 'POST' && { body }) }
    await expect(fetch(`http://127.0.0.1:${secure.port}${path}`, init)).rejects.toThrow()
    expect(secure.emulator.accounts.allWebhooks()).toEqual([])
  }
})
