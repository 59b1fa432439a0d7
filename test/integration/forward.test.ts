import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { startTestApp, sqliteUrl, testSecret, type TestApp } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { deliver, eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { until } from '../support/until.ts'

async function runOf(app: TestApp, id: string) {
  return (await app.inbox.event(id))?.runs.find(({ handler }) => handler === 'forward')
}

/** Like INBOX_FORWARD_URL, with retries at once. */
const soon = ({ url }: AppServer) => {
  const retry = { attempts: 200, baseMs: 1, capMs: 1 }
  return { INBOX_SINKS: JSON.stringify({ forward: { kind: 'forward', url, types: '*', retry } }) }
}

const becomes = (app: TestApp, id: string, state: string) =>
  until(async () => (await runOf(app, id))?.state === state, `the forward of ${id} is ${state}`)

describe('INBOX_FORWARD_URL', () => {
  test('posts the exact bytes with signature and idempotency key', async () => {
    await using server = await AppServer.start()
    await using app = await startTestApp({ settings: { INBOX_FORWARD_URL: server.url } })
    const raw = Buffer.from(
      '{ "id":"evt_1","type":"wallet.large_trade","created_at":"2026-01-31T14:03:22.123Z","data":{"amount_usd":1.50} }',
    )
    await deliver(app, raw)
    await becomes(app, 'evt_1', 'done')
    expect(server.requests).toHaveLength(1)
    const [got] = server.requests
    expect(got).toMatchObject({ method: 'POST', path: '/app?token=of-the-app' })
    expect(got!.body.equals(raw)).toBe(true)
    expect(got!.headers).toMatchObject({
      'content-type': 'application/json',
      'x-service-signature': sign(raw, testSecret),
      'idempotency-key': 'forward:evt_1',
      'x-inbox-event-id': 'evt_1',
      'x-inbox-attempt': '1',
    })
  })

  test('retries until a 2xx, not before Retry-After, with the same key, and records the answers', async () => {
    await using server = await AppServer.start()
    const answers = [
      { status: 500, body: 'no database \u0007' },
      { status: 302, headers: { Location: '/elsewhere' } },
      { status: 429, headers: { 'Retry-After': '1' } },
      { status: 204 },
    ]
    server.answer = () => answers[server.requests.length - 1] ?? { status: 200 }
    await using app = await startTestApp({ settings: soon(server) })
    await deliver(app, eventBytes({ id: 'evt_1' }))
    await becomes(app, 'evt_1', 'done')
    expect(server.requests.map(({ path }) => path)).toEqual(Array.from({ length: 4 }, () => '/app?token=of-the-app'))
    expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    const attempts = (await runOf(app, 'evt_1'))?.attempts ?? []
    expect(attempts.map(({ error }) => error?.message)).toEqual([
      'the app answered 500: no database \u0007',
      'the app answered 302',
      'the app answered 429',
      undefined,
    ])
    expect(attempts[3]!.startedAt - attempts[2]!.endedAt).toBeGreaterThanOrEqual(1_000)
  })

  test('signs with the secret that verified the event, or else the first', async () => {
    await using server = await AppServer.start()
    await using dir = await createTempDir()
    const file = join(dir.path, 'secrets.json')
    const write = async (secrets: object) => {
      await writeFile(`${file}.new`, JSON.stringify(secrets))
      await rename(`${file}.new`, file)
    }
    const [first, second] = ['the-first-secret-of-all', 'the-second-secret-of-all']
    await write({ first, second })
    await using app = await startTestApp({
      dir: dir.path,
      settings: { ...soon(server), INBOX_SECRETS_FILE: file, INBOX_DATABASE_URL: sqliteUrl },
    })
    const raw = eventBytes({ id: 'evt_1' })
    const rotated = Promise.withResolvers<void>()
    server.answer = async () => {
      await rotated.promise
      return { status: server.requests.length === 1 ? 503 : 200 }
    }
    await deliver(app, raw, second)
    await server.received(1)
    await write({ third: 'the-third-secret-of-all' })
    await app.reloadSecrets()
    rotated.resolve()
    await becomes(app, 'evt_1', 'done')
    const signatures = server.requests.map(({ headers }) => headers['x-service-signature'])
    expect(signatures).toEqual([sign(raw, second), sign(raw, 'the-third-secret-of-all')])
  })
})
