import { readFile, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { storedCertificate, readCertificate } from '../../src/emulator/tls.ts'
import { otherTlsKey, tlsPair } from '../fixtures/tls.ts'
import { createTempDir } from '../support/temp-dir.ts'
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

test('R5 the generated certificate is valid for this machine, kept, renewed, and readable by its owner only', async () => {
  await using dir = await createTempDir()
  const folder = join(dir.path, 'tls')
  const now = Date.now()
  const made = await storedCertificate(folder, now)
  expect(made.certFile).toBe(join(folder, 'tls-cert.pem'))
  for (const file of ['tls-cert.pem', 'tls-key.pem']) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600)
  const emulator = createEmulator({ seed: testSeed(), listen: { host: '127.0.0.1', port: 0, tls: made } })
  await emulator.start()
  const port = Number(new URL(emulator.url ?? '').port)
  for (const host of ['localhost', '127.0.0.1']) expect((await get(port, host, made.cert)).status).toBe(200)
  await emulator.stop()

  expect(await storedCertificate(folder, now)).toEqual(made)
  const later = await storedCertificate(folder, now + 380 * 86_400_000)
  expect(later.cert).not.toBe(made.cert)
  await writeFile(join(folder, 'tls-key.pem'), 'spoilt')
  expect((await storedCertificate(folder, now + 380 * 86_400_000)).cert).not.toBe(later.cert)
  expect(await readFile(join(folder, 'tls-key.pem'), 'utf8')).toContain('PRIVATE KEY')
})

test('rejects files that are not a certificate and its key', async () => {
  await using dir = await createTempDir()
  const [cert, key] = [join(dir.path, 'cert.pem'), join(dir.path, 'key.pem')]
  await writeFile(cert, tlsPair.cert)
  await writeFile(key, otherTlsKey)
  await expect(readCertificate(cert, key)).rejects.toThrow(
    /must be PEM files of the same pair: they belong to different/,
  )
  await expect(readCertificate(cert, join(dir.path, 'none'))).rejects.toThrow(/ENOENT/)
  await writeFile(key, tlsPair.key)
  expect(await readCertificate(cert, key)).toEqual(tlsPair)
})
