import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { startTestApp, testSecret, type TestApp } from '../support/app.ts'
import { jsonOf, RawConnection, rawRequest } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'

const header = 'X-Service-Signature'
const refusal = {
  error: {
    code: 'signature_invalid',
    message:
      'the signature header must be one HMAC-SHA256 hex digest of the exact body bytes, made with a configured secret',
  },
}

describe('R75 R109 A30 A31 a delivery whose signature is', () => {
  const body = eventBytes({ id: 'evt_forged' })
  const good = sign(body, testSecret)
  const wrong: readonly (readonly [string, Readonly<Record<string, string | readonly string[]>>])[] = [
    ['missing', {}],
    ['repeated', { [header]: [good, good] }],
    ['repeated in one line', { [header]: `${good}, ${good}` }],
    ['of other bytes', { [header]: sign(Buffer.concat([body, Buffer.from('\n')]), testSecret) }],
    ['made with another secret', { [header]: sign(body, `${testSecret}s`) }],
    ['in another header', { 'X-Signature': good }],
  ]
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  test.each(wrong)(
    '%s gets 401 and is not stored, and a good one after it on the same connection gets 200',
    async (name, headers) => {
      using connection = await RawConnection.open(app.port)
      const before = await app.inbox.stats()

      const answer = await connection.request({ body, headers })
      expect(answer.status).toBe(401)
      expect(jsonOf(answer)).toEqual(refusal)
      expect(await app.inbox.stats()).toEqual(before)
      expect(await app.inbox.event('evt_forged')).toBeNull()

      const id = `evt_after ${name}`
      const after = await connection.request(delivery(eventBytes({ id })))
      expect(after.status).toBe(200)
      expect(jsonOf(after)).toEqual({ status: 'accepted', id })
    },
  )

  test('P2 right for other bytes that are no event leaves nothing in quarantine either', async () => {
    const junk = Buffer.from('junk')
    const answer = await rawRequest(app.port, { body: junk, headers: { [header]: sign(body, testSecret) } })
    expect(answer.status).toBe(401)
    expect((await app.inbox.quarantine({ limit: 10 })).data).toEqual([])
  })
})

test('A32 both secrets are valid while a secrets file holds both, and the removed one gets 401, without a restart', async () => {
  await using dir = await createTempDir()
  const [first, second] = ['the-first-secret-there-was', 'the-secret-that-follows-it']
  const write = (secrets: Readonly<Record<string, string>>) =>
    writeFile(join(dir.path, 'secrets.json'), JSON.stringify(secrets))
  await write({ first })
  await using app = await startTestApp({ dir: dir.path, settings: { INBOX_SECRETS_FILE: './secrets.json' } })
  using connection = await RawConnection.open(app.port)
  let sent = 0
  const statusWith = async (secret: string) =>
    (await connection.request(delivery(eventBytes({ id: `evt_${++sent}` }), { secret }))).status

  expect([await statusWith(first), await statusWith(second)]).toEqual([200, 401])
  await write({ first, second })
  await app.reloadSecrets()
  expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200])
  expect((await app.inbox.event('evt_4'))?.secretLabel).toBe('second')
  await write({ second })
  await app.reloadSecrets()
  expect([await statusWith(first), await statusWith(second)]).toEqual([401, 200])
})
