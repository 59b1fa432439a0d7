import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { SourceKey } from '../../src/inbox/port.ts'
import { createKeyCache } from '../../src/sources/keys.ts'
import { circle } from '../../src/sources/providers/circle.ts'
import { fireblocks } from '../../src/sources/providers/fireblocks.ts'
import { vectors } from '../support/source-vectors.ts'

const keysOf = (provider: string) =>
  vectors.filter((vector) => vector.provider === provider).flatMap(({ keys = {} }) => Object.entries(keys))
const [[circleId, circleKey], [otherId, otherKey]] = keysOf('circle') as [[string, string], [string, string]]
const [[setId, setKey]] = keysOf('fireblocks') as [[string, string]]
const noId = '00000000-0000-4000-8000-000000000000'

const spkiOf = (key: KeyObject | string) =>
  typeof key === 'string' ? key : key.export({ format: 'der', type: 'spki' }).toString('base64')

type Answer = Response | Error | 'never'

function stage(endpoint: typeof circle.keyEndpoint, answer: (url: string) => Answer) {
  const clock = createTestClock()
  const requests: { readonly url: string; readonly init: RequestInit | undefined }[] = []
  const stored = new Map<string, readonly SourceKey[]>()
  const options = {
    source: 'tested',
    endpoint: endpoint!,
    apiKey: () => Promise.resolve('TEST_API_KEY:1:2'),
    storage: {
      sourceKeys: (source: string) => Promise.resolve(stored.get(source) ?? []),
      storeSourceKeys: (source: string, keys: readonly SourceKey[]) => {
        stored.set(source, keys)
        return Promise.resolve()
      },
    },
    clock,
    log: { warn() {} },
    fetch: (url: unknown, init?: RequestInit) => {
      requests.push({ url: String(url), init })
      const response = answer(String(url))
      if (response instanceof Response) return Promise.resolve(response)
      if (response instanceof Error) return Promise.reject(response)
      return new Promise<Response>((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error))
      })
    },
  }
  return { options, clock, requests, cache: createKeyCache(options), stored: () => [...stored.values()].flat() }
}

const json = (value: unknown, status = 200) => Response.json(value, { status })
const circleAnswer = (url: string): Answer => {
  const id = url.split('/').at(-1) ?? ''
  const publicKey = { [circleId]: circleKey, [otherId]: otherKey }[id]
  return publicKey === undefined
    ? json({ code: 5, message: 'not found' }, 404)
    : json({ data: { id, algorithm: 'RS256', publicKey } })
}
const jwkOf = (kid: string, spki: string) => {
  const key = createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
  return { ...key.export({ format: 'jwk' }), kid, alg: 'none', use: 'sig' }
}

describe('keys fetched one by one', () => {
  test('are fetched once with the API key, then cached and stored: a restart needs no network', async () => {
    const { cache, requests, options, stored } = stage(circle.keyEndpoint, circleAnswer)
    const [first, second] = await Promise.all([cache.find(circleId), cache.find(circleId)])
    expect(spkiOf(first)).toBe(circleKey)
    expect(second).toBe(first)
    expect(await cache.find(circleId)).toBe(first)
    expect(requests.map(({ url }) => url)).toEqual([`https://api.circle.com/v2/notifications/publicKey/${circleId}`])
    expect(requests[0]!.init).toMatchObject({
      headers: { authorization: 'Bearer TEST_API_KEY:1:2' },
      redirect: 'error',
    })
    expect(stored()).toEqual([{ id: circleId, spki: circleKey }])

    const restarted = createKeyCache({ ...options, fetch: () => Promise.reject(new Error('no network')) })
    expect(spkiOf(await restarted.find(circleId))).toBe(circleKey)
    const endpoint = { ...options.endpoint, url: 'https://sandbox.example/{keyId}' }
    const elsewhere = createKeyCache({ ...options, endpoint, fetch: () => Promise.reject(new Error('no network')) })
    expect(await elsewhere.find(circleId)).toBe('unavailable')
  })

  test('at most one request per 10 s: until then another id is unavailable, not unknown', async () => {
    const { cache, requests, clock } = stage(circle.keyEndpoint, circleAnswer)
    expect(await cache.find(noId)).toBe('unknown')
    expect(await cache.find(circleId)).toBe('unavailable')
    await clock.advance(9_999)
    expect(await cache.find(circleId)).toBe('unavailable')
    await clock.advance(1)
    expect(spkiOf(await cache.find(circleId))).toBe(circleKey)
    expect(requests).toHaveLength(2)
  })

  test('an unknown id is remembered for 5 minutes', async () => {
    const { cache, requests, clock } = stage(circle.keyEndpoint, circleAnswer)
    for (const advanceMs of [0, 60_000, 239_999]) {
      await clock.advance(advanceMs)
      expect(await cache.find(noId)).toBe('unknown')
    }
    expect(requests).toHaveLength(1)
    await clock.advance(1)
    expect(await cache.find(noId)).toBe('unknown')
    expect(requests).toHaveLength(2)
  })

  test.each(['', 'a', `${noId}/../admin`, `${noId}?x=1`, noId.replaceAll('-', '')])(
    'the id %j is no UUID and causes no request',
    async (keyId) => {
      const { cache, requests } = stage(circle.keyEndpoint, circleAnswer)
      expect(await cache.find(keyId)).toBe('unknown')
      expect(requests).toEqual([])
    },
  )

  test.each([
    ['a network error', () => new Error('ECONNREFUSED')],
    ['status 500', () => json({}, 500)],
    ['status 401: a wrong API key', () => json({}, 401)],
    ['text', () => new Response('<html>')],
    ['another key', () => json({ data: { id: otherId, publicKey: otherKey } })],
    ['more than 64 KiB', () => json({ data: { id: circleId, publicKey: circleKey, filler: 'x'.repeat(65_536) } })],
  ] as const)('%s makes the key unavailable', async (_title, answer) => {
    const { cache } = stage(circle.keyEndpoint, answer)
    expect(await cache.find(circleId)).toBe('unavailable')
  })

  test('no response within 3 s makes the key unavailable', async () => {
    const { cache, clock } = stage(circle.keyEndpoint, () => 'never')
    const found = cache.find(circleId)
    await clock.advance(3_000)
    expect(await found).toBe('unavailable')
  })

  test('a key on another curve is not used', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    const { cache } = stage(circle.keyEndpoint, () => json({ data: { id: circleId, publicKey: spkiOf(publicKey) } }))
    expect(await cache.find(circleId)).toBe('unknown')
  })

  test('unreadable storage is like an empty one', async () => {
    const { options } = stage(circle.keyEndpoint, circleAnswer)
    const storage = {
      sourceKeys: () => Promise.reject(new Error('locked')),
      storeSourceKeys: () => Promise.reject(new Error('locked')),
    }
    expect(spkiOf(await createKeyCache({ ...options, storage }).find(circleId))).toBe(circleKey)
  })
})

describe('key sets', () => {
  test('one request answers for all ids that wait for it', async () => {
    const { cache, requests } = stage(fireblocks.keyEndpoint, () =>
      json({ keys: [jwkOf(setId, setKey), { kid: 'broken' }, null] }),
    )
    const [known, absent] = await Promise.all([cache.find(setId), cache.find('absent')])
    expect(spkiOf(known)).toBe(setKey)
    expect(absent).toBe('unavailable')
    expect(requests.map(({ url }) => url)).toEqual(['https://keys.fireblocks.io/.well-known/jwks.json'])
  })

  test('an id that is not in the set is unknown', async () => {
    const { cache, clock } = stage(fireblocks.keyEndpoint, () => json({ keys: [jwkOf(setId, setKey)] }))
    for (const id of ['absent', '\ud800']) {
      expect(await cache.find(id)).toBe('unknown')
      await clock.advance(10_000)
    }
  })

  test('a withdrawn key is dropped within a day and a request', async () => {
    let keys = [jwkOf(setId, setKey)]
    const { cache, clock, requests } = stage(fireblocks.keyEndpoint, () => json({ keys }))
    expect(spkiOf(await cache.find(setId))).toBe(setKey)
    keys = [jwkOf('its successor', setKey)]
    await clock.advance(24 * 3_600_000)
    expect(spkiOf(await cache.find(setId))).toBe(setKey)
    await clock.advance(10_000)
    expect(await cache.find(setId)).toBe('unknown')
    expect(requests).toHaveLength(2)
  })

  test.each([
    ['no key', []],
    ['a key on an elliptic curve', [generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey]],
    ['a key of 1,024 bits', [generateKeyPairSync('rsa', { modulusLength: 1_024 }).publicKey]],
  ])('a set with %s is unusable: nothing can be told about its keys', async (_title, set) => {
    const { cache } = stage(fireblocks.keyEndpoint, () => json({ keys: set.map((key) => jwkOf('weak', spkiOf(key))) }))
    expect(await cache.find('weak')).toBe('unavailable')
  })

  test('a clock that is set back does not stop requests', async () => {
    const { options, requests } = stage(fireblocks.keyEndpoint, () => new Error('ECONNREFUSED'))
    let offsetMs = 0
    const clock = { ...options.clock, now: () => options.clock.now() + offsetMs }
    const moved = createKeyCache({ ...options, clock })
    await moved.find(setId)
    offsetMs = -24 * 3_600_000
    await moved.find(setId)
    expect(requests).toHaveLength(2)
  })
})
