import { createHash } from 'node:crypto'
import { internalEventTypes } from '../../schema/internal.ts'
import { parseExactJson } from '../base/exact-json.ts'
import { foldAddress } from '../base/fold-address.ts'
import { isObject, isText, parseJsonBody, type JsonProblem } from '../base/json-body.ts'
import type { Provider, Reference, TestBody } from './provider.ts'
import { toTime, valueAt, type RawHeaders, type ReferredDelivery } from './reference.ts'

/** The part of a source that reads deliveries. */
export type IdentifiedSource = Pick<Provider, 'id' | 'type' | 'createdAt' | 'key' | 'volatile' | 'tests'>

export interface AuthenticDelivery {
  readonly headers: RawHeaders
  readonly raw: Uint8Array
  /** Milliseconds since 1970. */
  readonly receivedAt: number
  /** Headers that the signature covers, in lower case. */
  readonly covered: readonly string[]
}

export interface Identity {
  readonly id: string
  readonly type: string
  /** RFC 3339 in UTC. */
  readonly createdAt: string
  /** Ordering key within the source; null: no order. */
  readonly key: string | null
  /**
   * Digest of the body without its volatile paths: bodies of one id with equal digests are duplicates, others conflicts.
   * Null: bodies are compared byte by byte.
   */
  readonly stableDigest: string | null
}

export type IdentifyResult =
  | { readonly kind: 'event'; readonly event: Identity }
  | { readonly kind: 'test'; readonly status: number }
  | {
      readonly kind: 'unusable'
      readonly reason: JsonProblem | 'own_type'
    }

/** Characters of an id, a type or a key, as in the envelope of the default source. */
const maxLength = 255
/** Only the inbox creates events of these types, so consumers may trust them. */
const internalPrefixes = internalEventTypes.map((type) => type.replace(/[^.]+$/, ''))

/** Reads id, type, time and key of an authentic delivery. Never throws. */
export function identify(source: IdentifiedSource, delivery: AuthenticDelivery): IdentifyResult {
  const { headers, raw, receivedAt, covered } = delivery
  const parsed = parseJsonBody(raw)
  if (!parsed.ok) return unusable(parsed.reason)
  const { text, value: body } = parsed
  let exactBody: unknown
  const referred: ReferredDelivery = { headers, body, exactBody: () => (exactBody ??= JSON.parse(text, keepDigits)) }
  const read = (reference: Reference | null) => {
    const value = reference === null ? '' : (valueAt(reference, referred) ?? '')
    return isText(value, maxLength) ? value : null
  }
  const test = source.tests.find((candidate) => isTest(candidate, referred))
  if (test !== undefined) return { kind: 'test', status: test.status }
  const type = read(source.type) ?? 'unknown'
  if (internalPrefixes.some((prefix) => type.startsWith(prefix))) return unusable('own_type')

  const stableDigest = source.volatile.length === 0 ? null : digestOf(withoutPaths(text, source.volatile))
  const id = read(coveredOnly(source.id, covered)) ?? stableDigest ?? digestOf(raw)
  const time = toTime(read(source.createdAt) ?? '') ?? receivedAt
  const createdAt = new Date(time).toISOString()
  return { kind: 'event', event: { id, type, createdAt, key: keyOf(source.key.map(read)), stableDigest } }
}

function unusable(reason: Extract<IdentifyResult, { kind: 'unusable' }>['reason']): IdentifyResult {
  return { kind: 'unusable', reason }
}

/** Anyone could change an uncovered header of a captured delivery, and so pass it off as new. */
function coveredOnly(reference: Reference | null, covered: readonly string[]): Reference {
  const references = typeof reference === 'string' ? [reference] : (reference ?? [])
  return references.filter((each) => !each.startsWith('header.') || covered.includes(each.slice('header.'.length)))
}

function isTest({ when }: TestBody, delivery: ReferredDelivery): boolean {
  return Object.entries(when).every(([reference, expected]) => {
    const value = valueAt(reference, delivery)
    return expected === true ? value !== undefined : value === expected
  })
}

/** EVM addresses are folded, as in the keys of the default source. */
function keyOf(parts: readonly (string | null)[]): string | null {
  if (parts.length === 0 || parts.includes(null)) return null
  const key = parts.map((part) => foldAddress(part ?? '')).join(' ')
  return isText(key, maxLength) ? key : digestOf(key)
}

function digestOf(bytes: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** Serializes a JSON text without the values at these paths. All digits of numbers are kept. */
function withoutPaths(text: string, paths: readonly string[]): string {
  const body = parseExactJson(text)
  for (const path of paths) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    const parent = names.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), body)
    if (isObject(parent)) delete parent[last]
  }
  return JSON.stringify(body)
}

/** Numbers that JavaScript would change become their text. */
function keepDigits(_name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? source : value
}
