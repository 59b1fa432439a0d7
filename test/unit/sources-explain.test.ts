import { createHmac, createSecretKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { explainSource } from '../../src/sources/explain.ts'
import { providerNames } from '../../src/sources/providers/index.ts'
import { resolveSources } from '../../src/sources/settings.ts'
import { requestOf, sourceOf, vectors, type SourceVector } from '../support/source-vectors.ts'

const vectorOf = (provider: string) => vectors.find((vector) => vector.provider === provider)!

async function explainHeaders(vector: SourceVector, headers: readonly string[], now = vector.now) {
  return explainSource(await sourceOf(vector), { ...requestOf(vector), headers, now })
}

function headersOf(vector: SourceVector, changes: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries({ ...vector.headers, ...changes }).flat()
}

test.each(providerNames)('a valid delivery of %s is valid', async (provider) => {
  const vector = vectorOf(provider)
  expect(await explainHeaders(vector, headersOf(vector))).toMatchObject({
    code: 'valid',
    message: 'The signature is valid.',
  })
})

test('shows the signed bytes without the body, and no signature', async () => {
  const vector = vectorOf('coinbase-cdp')
  const { signedTexts } = await explainHeaders(vector, headersOf(vector, { 'content-type': 'text/plain' }))
  const length = Buffer.byteLength(vector.body)
  expect(signedTexts).toEqual([
    '1769868202.content-type x-event-id x-event-type.' +
      `text/plain.123e4567-e89b-12d3-a456-426614174000.wallet.activity.detected.<body, ${length} bytes>`,
  ])
})

test.each([
  ['alchemy', 'X-Alchemy-Signature', [], 'missing', 'x-alchemy-signature is missing, empty or without a signature'],
  ['github', 'X-Hub-Signature-256', ['a', 'b'], 'repeated', 'x-hub-signature-256 is there more than once'],
  ['github', 'X-Hub-Signature-256', ['sha256=0'], 'malformed', 'the form sha256=<hmac-sha256 in hex>'],
  ['quicknode', 'X-Qn-Timestamp', ['now'], 'malformed', 'x-qn-timestamp must be a time in s'],
  ['quicknode', 'X-Qn-Nonce', [], 'missing', 'x-qn-nonce is missing'],
  ['coinbase-cdp', 'x-event-id', [], 'missing', 'x-event-id is missing'],
  ['standard-webhooks', 'webhook-id', [], 'missing', 'webhook-id is missing'],
  ['circle', 'X-Circle-Key-Id', ['other\u001b'], 'unknown_key', 'no public key other\\u001b.'],
  ['fireblocks', 'Fireblocks-Webhook-Signature', ['a.b.c'], 'malformed', 'a detached JWS with RS512'],
] as const)('%s with %s: %j is %s', async (provider, name, values, code, message) => {
  const vector = vectorOf(provider)
  const { [name]: _changed, ...others } = vector.headers
  const headers = [...Object.entries(others).flat(), ...values.flatMap((value) => [name, value])]
  const explanation = await explainHeaders(vector, headers)
  expect(explanation).toMatchObject({ code, message: expect.stringContaining(message) as string })
})

test('an old signature is rejected or accepted with its age', async () => {
  const [stripe, tenderly] = [vectorOf('stripe'), vectorOf('tenderly')]
  const rejected = await explainHeaders(stripe, headersOf(stripe), stripe.now + 3_600_000)
  expect(rejected).toMatchObject({ code: 'old_timestamp', message: expect.stringContaining('3604 s old') as string })
  const accepted = await explainHeaders(tenderly, headersOf(tenderly), tenderly.now + 3_600_000)
  expect(accepted).toMatchObject({ code: 'valid', message: expect.stringContaining('3604 s old') as string })
})

describe('near misses', () => {
  const secret = 'a secret of this source'
  const raw = Buffer.from('{"id":"evt_1"}\n')
  const { sources } = resolveSources(
    {
      desk: {
        path: '/hooks/desk',
        secrets: secret,
        verify: {
          scheme: 'hmac-sha256',
          header: 'x-signature',
          encoding: 'hex',
          signed: '{timestamp}.{body}',
          timestamp: { header: 'x-timestamp', unit: 's' },
        },
      },
    },
    [],
  )
  const source = {
    ...sources[0]!,
    secrets: () => [
      { label: 'old', key: createSecretKey(Buffer.from('another secret')) },
      { label: 'new', key: createSecretKey(Buffer.from(secret)) },
    ],
    keys: null,
  }
  const hmac = (text: string, key = secret, hash = 'sha256') => createHmac(hash, key).update(text).digest('hex')
  const signed = `1769868202.${raw.toString()}`

  test.each([
    ['body_newline', hmac(signed.trimEnd())],
    ['other_template', hmac(raw.toString())],
    ['other_template', hmac(`${raw.toString()}1769868202`)],
    ['secret_whitespace', hmac(signed, `${secret}\n`)],
    ['other_hash', hmac(signed, secret, 'sha512')],
  ])('finds %s', async (code, signature) => {
    const headers = ['x-signature', signature, 'x-timestamp', '1769868202']
    const explanation = await explainSource(source, { headers, raw, now: 1_769_868_202_000 })
    expect(explanation).toMatchObject({ code, matchedLabel: 'new' })
    expect(JSON.stringify(explanation)).not.toContain(secret)
  })

  test('finds a secret that was not decoded', async () => {
    const vector = vectorOf('standard-webhooks')
    const text = `${vector.headers['webhook-id']}.${vector.headers['webhook-timestamp']}.${vector.body}`
    const signature = createHmac('sha256', vector.secret!).update(text).digest('base64')
    const explanation = await explainHeaders(vector, headersOf(vector, { 'webhook-signature': `v1,${signature}` }))
    expect(explanation).toMatchObject({ code: 'secret_encoding', matchedLabel: 'secret-1' })
  })

  test.each(['Bearer Bearer 3f6c2a9e-helius-hook', '3f6c2a9e-helius-hook'])(
    'finds a static secret in the header %j',
    async (Authorization) => {
      const vector = vectorOf('helius')
      const explanation = await explainHeaders(vector, headersOf(vector, { Authorization }))
      expect(explanation).toMatchObject({ code: 'prefix', matchedLabel: 'secret-1', signedTexts: [] })
    },
  )

  test('says so if there is none', async () => {
    const vector = vectorOf('circle')
    const explanation = await explainSource(await sourceOf(vector), { ...requestOf(vector), raw: Buffer.from('{}') })
    expect(explanation).toEqual({
      code: 'mismatch',
      message: expect.stringContaining('no known mistake') as string,
      signedTexts: ['<body, 2 bytes>'],
    })
  })
})
