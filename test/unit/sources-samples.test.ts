import type { ProviderName } from '../../schema/index.ts'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { sourceSchemas } from '../../schema/sources/schemas.ts'
import { identify } from '../../src/sources/identify.ts'
import { providerNames, providers } from '../../src/sources/providers/index.ts'
import { sampleBodies, type ProviderWithSamples } from '../../src/sources/sample-bodies.ts'
import { signSample } from '../../src/sources/samples.ts'
import { verifySource } from '../../src/sources/verify.ts'
import { settingsOf, sourceOf, vectors } from '../support/source-vectors.ts'

const now = Date.UTC(2026, 0, 31)
const schemasOf = (provider: ProviderName): Readonly<Record<string, z.ZodType>> => sourceSchemas[provider]
const withSamples = Object.keys(sampleBodies) as ProviderWithSamples[]

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

/** Creates a signed sample, verifies it and identifies it. */
async function deliver(provider: ProviderName, type: string | undefined) {
  const source = await sourceOf({ provider, secret })
  const { raw, headers } = signSample(source, { provider, type, body: undefined, now })
  const request = { raw, headers: Object.entries(headers).flat(), now, target: source.path }
  const verdict = await verifySource(source, request)
  expect(verdict).toMatchObject({ ok: true, isOld: false })
  const result = identify(source, { ...request, receivedAt: now, covered: verdict.ok ? verdict.covered : [] })
  if (result.kind !== 'event') throw new Error(`${provider} ${type} is no event: ${result.kind}`)
  return { body: JSON.parse(raw.toString()) as unknown, event: result.event }
}

test('a source with fetched keys has no secret that signs', async () => {
  const others = providerNames.filter((name) => !withSamples.some((known) => known === name))
  expect(others.map((name) => settingsOf(name).keyEndpoint !== null)).toEqual([true, true])
  for (const name of others) await expect(deliver(name, undefined)).rejects.toThrow('only the sender can sign')
})

describe.each(withSamples)('a sample of %s', (provider) => {
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
    test('of an unknown type is an error', async () => {
      const advice = hasTypes ? `expected one of ${names.join(', ')}` : 'has no event types: leave out "toString"'
      await expect(deliver(provider, 'toString')).rejects.toThrow(advice)
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
