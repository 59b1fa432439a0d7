import type { ProviderName } from '../../schema/index.ts'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { sourceSchemas } from '../../schema/sources/schemas.ts'
import { identify } from '../../src/sources/identify.ts'
import { providerNames, providers } from '../../src/sources/providers/index.ts'
import type { Scheme } from '../../src/sources/provider.ts'
import { sampleBodies } from '../../src/sources/sample-bodies.ts'
import { createSample } from '../../src/sources/samples.ts'
import { readSecrets } from '../../src/sources/secrets.ts'
import { signSource, signWithSecret } from '../../src/sources/sign.ts'
import { verifySource } from '../../src/sources/verify.ts'
import { settingsOf, vectors } from '../support/source-vectors.ts'

const now = Date.UTC(2026, 0, 31)
const keyId = '879dc113-5ca4-4ff7-a6b7-54652083fcf8'
const schemasOf = (provider: ProviderName): Readonly<Record<string, z.ZodType>> => sourceSchemas[provider]

const pairs: Partial<Record<Scheme, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }>> = {
  'ecdsa-sha256': generateKeyPairSync('ec', { namedCurve: 'prime256v1' }),
  'jws-rs512': generateKeyPairSync('rsa', { modulusLength: 2_048 }),
}

async function sourceWithKeys(provider: ProviderName) {
  const settings = settingsOf(provider, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const [verification] = settings.verify
  const pair = pairs[verification!.scheme]
  const secrets = await readSecrets(settings, { env: {} })
  const find = (id: string) => Promise.resolve(id === keyId && pair ? pair.publicKey : ('unknown' as const))
  return { source: { ...settings, secrets: () => secrets, keys: { find } }, verification: verification!, pair }
}

/** Creates a sample, signs it as its sender would, verifies it and identifies it. */
async function deliver(provider: ProviderName, type: string | undefined) {
  const { source, verification, pair } = await sourceWithKeys(provider)
  const sample = { ...createSample(provider, type, now), now }
  const { raw } = sample
  const headers = pair
    ? signSource(verification, { ...sample, key: pair.privateKey, keyId })
    : signWithSecret(source, sample)
  const request = { raw, headers: Object.entries(headers).flat(), now }
  const verdict = await verifySource(source, request)
  expect(verdict).toMatchObject({ ok: true, isOld: false })
  const result = identify(source, { ...request, receivedAt: now, covered: verdict.ok ? verdict.covered : [] })
  if (result.kind !== 'event') throw new Error(`${provider} ${type} is no event: ${result.kind}`)
  return { body: JSON.parse(raw.toString()) as unknown, event: result.event }
}

test.each(Object.keys(pairs))('a source with %s has no secret that signs', async (scheme) => {
  const provider = providerNames.find((name) => providers[name].verify[0]?.scheme === scheme)!
  const { source } = await sourceWithKeys(provider)
  expect(() => signWithSecret(source, { raw: Buffer.from('{}'), now })).toThrow('only the sender can sign')
})

describe.each(providerNames)('a sample of %s', (provider) => {
  const hasTypes = providers[provider].type !== null
  const names = Object.keys(sampleBodies[provider])

  test.each(names)('of type %s has its schema, is accepted and is a new event each time', async (name) => {
    const type = name === '*' ? (hasTypes ? 'chosen_by_the_user' : undefined) : name
    const { body, event } = await deliver(provider, type)
    expect(schemasOf(provider)[name]!.parse(body)).toEqual(body)
    expect(schemasOf(provider)['*']!.parse(body)).toEqual(body)
    expect(event.type).toBe(type ?? 'unknown')
    expect(event.createdAt).toBe(new Date(now).toISOString())
    expect((await deliver(provider, type)).event.id).not.toBe(event.id)
  })

  test('needs no type', async () => {
    expect((await deliver(provider, undefined)).event.type === 'unknown').toBe(!hasTypes)
  })

  if (!hasTypes || !names.includes('*'))
    test('of an unknown type is an error', () => {
      const advice = hasTypes ? `expected one of ${names.join(', ')}` : 'has no event types: leave out "toString"'
      expect(() => createSample(provider, 'toString', now)).toThrow(advice)
    })
})

test('every provider has schemas, and its published deliveries have them', () => {
  expect(Object.keys(sourceSchemas)).toEqual(providerNames)
  for (const { provider, identity, body, origin } of vectors) {
    if (identity === undefined || !/published/i.test(origin)) continue
    const schemas = schemasOf(provider)
    expect(() => (schemas[identity.type] ?? schemas['*'])!.parse(JSON.parse(body)), provider).not.toThrow()
  }
})
