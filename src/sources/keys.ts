import { createPublicKey, type KeyObject } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { SourceKey, SourceKeyPort } from '../inbox/port.ts'
import { uuidPattern, type KeyEndpoint } from './provider.ts'

export interface KeyCache {
  /**
   * Returns a key by its id. `unknown`: the sender has no such key. `unavailable`: that can't be told now, so the sender
   * must retry. Never rejects.
   */
  find(keyId: string): Promise<KeyObject | 'unknown' | 'unavailable'>
}

export interface KeyCacheOptions {
  /** Name of the source. */
  readonly source: string
  readonly endpoint: KeyEndpoint
  /** Undefined: the endpoint needs none. */
  readonly apiKey: (() => Promise<string>) | undefined
  readonly storage: SourceKeyPort
  readonly clock: Pick<Clock, 'now' | 'after'>
  readonly fetch: typeof fetch
  readonly log: Pick<Logger, 'warn'>
}

const fetchEveryMs = 10_000
const unknownForMs = 300_000
/** A set is fetched again in the background, because its sender may have withdrawn keys. */
const refreshAfterMs = 24 * 3_600_000
const timeoutMs = 3_000
const maxBytes = 64 * 1024
/** Maximum unknown ids remembered; then all are forgotten. */
const maxUnknown = 1_000

/** Creates the cache of a source's public keys. Fetches at most once per 10 s: forged key ids must not flood the endpoint. */
export function createKeyCache(options: KeyCacheOptions): KeyCache {
  const { source, endpoint, storage, clock, log } = options
  // Keys of one environment must not count for another.
  const place = `${source} ${endpoint.url}`
  const isSet = endpoint.format === 'jwks'
  const keys = new Map<string, KeyObject>()
  /** When an id was found to be unknown. */
  const unknown = new Map<string, number>()
  let loading: Promise<void> | null = null
  let fetching: { readonly keyId: string; readonly done: Promise<void> } | null = null
  let fetchedAt = -Infinity
  let refreshedAt = -Infinity

  return {
    async find(keyId) {
      if (!isSet && !uuidPattern.test(keyId)) return 'unknown'
      await (loading ??= load())
      const key = keys.get(keyId)
      if (key !== undefined) {
        if (isSet && !isWithin(refreshAfterMs, refreshedAt)) void refresh(keyId)
        return key
      }
      if (isUnknown(keyId)) return 'unknown'
      await refresh(keyId)
      return keys.get(keyId) ?? (isUnknown(keyId) ? 'unknown' : 'unavailable')
    },
  }

  function isUnknown(keyId: string): boolean {
    return isWithin(unknownForMs, unknown.get(keyId) ?? -Infinity)
  }

  /** False also if the clock was set back before `since`. */
  function isWithin(ms: number, since: number): boolean {
    const elapsedMs = clock.now() - since
    return elapsedMs >= 0 && elapsedMs < ms
  }

  async function load(): Promise<void> {
    try {
      for (const { id, spki } of await storage.sourceKeys(place)) {
        const key = fromSpki(spki)
        if (isUsable(key)) keys.set(id, key)
      }
    } catch (error) {
      // The next delivery tries again.
      loading = null
      log.warn({ source, reason: messageOf(error) }, 'stored public keys unusable')
    }
  }

  /** Joins the request in flight if it can answer for this key. Does nothing within 10 s of the last one. */
  async function refresh(keyId: string): Promise<void> {
    if (fetching !== null && (isSet || fetching.keyId === keyId)) return fetching.done
    if (isWithin(fetchEveryMs, fetchedAt)) return
    fetchedAt = clock.now()
    fetching = { keyId, done: fetchKeys(keyId) }
    await fetching.done
    fetching = null
  }

  async function fetchKeys(keyId: string): Promise<void> {
    try {
      const document = await request(isSet ? endpoint.url : endpoint.url.replace('{keyId}', encodeURIComponent(keyId)))
      const fetched = (isSet ? keysOfSet(document) : keyOfCircle(document, keyId)).filter(([, key]) => isUsable(key))
      // Without this, an endpoint that fails with an empty set would end the retries of authentic deliveries.
      if (isSet && fetched.length === 0) throw new Error('no usable key in the set')
      if (isSet) keys.clear()
      for (const [id, key] of fetched) keys.set(id, key)
      refreshedAt = clock.now()
      if (!keys.has(keyId)) {
        if (unknown.size >= maxUnknown) unknown.clear()
        unknown.set(keyId, clock.now())
      }
    } catch (error) {
      // `fetch` hides the reason behind "fetch failed".
      const reason = messageOf(error instanceof Error ? (error.cause ?? error) : error)
      log.warn({ source, reason }, 'public keys not fetched')
      return
    }
    // Deliveries don't wait for the storage.
    storage.storeSourceKeys(place, [...keys].map(toStored)).catch((error: unknown) => {
      log.warn({ source, reason: messageOf(error) }, 'public keys not stored')
    })
  }

  /** Returns the JSON of a response; null if it says that there is no such key. */
  async function request(url: string): Promise<unknown> {
    const abort = new AbortController()
    const timer = clock.after(timeoutMs, () => abort.abort(new Error('no response within 3 s')))
    try {
      const headers: Record<string, string> = {}
      if (options.apiKey !== undefined) headers['authorization'] = `Bearer ${await options.apiKey()}`
      const response = await options.fetch(url, { headers, redirect: 'error', signal: abort.signal })
      if (response.ok) return JSON.parse(await textOf(response))
      await response.body?.cancel()
      if (!isSet && (response.status === 400 || response.status === 404)) return null
      throw new Error(`status ${response.status}`)
    } finally {
      timer.cancel()
    }
  }

  /** Only keys of the kind that the provider's scheme uses: the response doesn't choose the algorithm. */
  function isUsable({ asymmetricKeyType, asymmetricKeyDetails: details }: KeyObject): boolean {
    if (isSet) return asymmetricKeyType === 'rsa' && (details?.modulusLength ?? 0) >= 2_048
    return details?.namedCurve === 'prime256v1'
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

type Member = { readonly [name: string]: unknown } | null | undefined
type FetchedKey = readonly [id: string, key: KeyObject]

/** Skips keys in other formats. */
function keysOfSet(document: unknown): readonly FetchedKey[] {
  const members = (document as Member)?.['keys']
  if (!Array.isArray(members)) throw new Error('no key set')
  return members.flatMap((member: Member): readonly FetchedKey[] => {
    const { kid, kty, n, e } = member ?? {}
    if (typeof kid !== 'string' || kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return []
    return [[kid, createPublicKey({ key: { kty, n, e }, format: 'jwk' })]]
  })
}

function keyOfCircle(document: unknown, keyId: string): readonly FetchedKey[] {
  if (document === null) return []
  const { id, publicKey } = ((document as Member)?.['data'] as Member) ?? {}
  if (id !== keyId || typeof publicKey !== 'string') throw new Error('not the requested key')
  return [[keyId, fromSpki(publicKey)]]
}

function fromSpki(spki: string): KeyObject {
  return createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
}

function toStored([id, key]: FetchedKey): SourceKey {
  return { id, spki: key.export({ format: 'der', type: 'spki' }).toString('base64') }
}
