import { z } from 'zod'
import { eventSchemas, eventTypes, networkIds } from '../../schema/index.ts'
import type { Clock } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import type { NewEvent } from '../inbox/port.ts'

export const driftKinds = ['unknown_type', 'new_field', 'missing_field', 'wrong_type', 'out_of_range'] as const
export type DriftKind = (typeof driftKinds)[number]

/** One difference between events of a type and their documentation, counted since the process started. */
export interface DriftRecord extends DriftFinding {
  readonly type: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  readonly firstEventId: string
}

/** One difference between an event and the documentation of its type. */
interface DriftFinding {
  readonly kind: DriftKind
  /**
   * Path in the envelope, such as `data.amount_usd` or `data.items[]`, at max 200 characters; empty for an unknown
   * type.
   */
  readonly path: string
  readonly expected: string
  /** The received value, at max 200 characters, control characters escaped. */
  readonly example: string
}

const maxFindings = 20
const maxTextLength = 200
/** Only the first items of a list are checked. */
const maxItems = 100

const maxRecords = 500
/** Further events are not checked, so that a burst costs deliveries almost nothing. */
const checksPerSecond = 200
/** Larger bodies are not checked. */
const maxBytes = 256 * 1024

export type DriftCounter = ReturnType<typeof createDriftCounter>

/** Counts in memory how accepted events differ from their documentation. */
export function createDriftCounter(clock: Clock) {
  const records = new Map<string, DriftRecord>()
  const bucket = new TokenBucket(checksPerSecond, clock)
  return {
    /** Call for each new event. */
    accepted({ id, type, raw, receivedAt }: Pick<NewEvent, 'id' | 'type' | 'raw' | 'receivedAt'>): void {
      if (raw.length > maxBytes || !bucket.take()) return
      for (const finding of findDrift(type, JSON.parse(Buffer.from(raw).toString()))) {
        const key = JSON.stringify([finding.kind, type, finding.path])
        const known = records.get(key)
        if (known === undefined && records.size >= maxRecords) continue
        const first = known ?? { ...finding, type, count: 0, firstAt: receivedAt, lastAt: receivedAt, firstEventId: id }
        records.set(key, { ...first, count: first.count + 1, lastAt: Math.max(first.lastAt, receivedAt) })
      }
    },
    /** Newest first; at max 500. */
    records: (): readonly DriftRecord[] => [...records.values()].toSorted((a, b) => b.lastAt - a.lastAt),
  }
}

/** Differences in a parsed envelope, each path once; at max 20. */
function findDrift(type: string, envelope: unknown): readonly DriftFinding[] {
  const expected = documentedOf(type)
  if (expected === undefined) {
    const known = `one of the ${eventTypes.length} documented types`
    return [{ kind: 'unknown_type', path: '', expected: known, example: shown(type) }]
  }
  const found = new Map<string, DriftFinding>()
  inspect(expected, envelope, '', (kind, path, text, value) => {
    const shortPath = safe(path)
    const key = `${kind} ${shortPath}`
    if (found.size >= maxFindings || found.has(key)) return
    found.set(key, { kind, path: shortPath, expected: text, example: value === undefined ? 'nothing' : shown(value) })
  })
  return [...found.values()]
}

type Report = (kind: DriftKind, path: string, expected: string, value: unknown) => void

function inspect(expected: Expectation, value: unknown, path: string, report: Report): void {
  if (!isOfKind(expected, value)) {
    report('wrong_type', path, describe(expected), value)
    return
  }
  if (expected.kind === 'object') inspectFields(expected, value as Readonly<Record<string, unknown>>, path, report)
  else if (expected.kind === 'array') inspectItems(expected.items, value as readonly unknown[], path, report)
  else if (!isInRange(expected, value)) report('out_of_range', path, describe(expected), value)
}

function inspectFields(
  { fields, required }: ObjectExpectation,
  value: Readonly<Record<string, unknown>>,
  path: string,
  report: Report,
): void {
  const below = (name: string) => (path === '' ? name : `${path}.${name}`)
  for (const name of required) {
    const field = fields.get(name)
    if (!Object.hasOwn(value, name)) {
      report('missing_field', below(name), field === undefined ? 'a value' : describe(field), undefined)
    }
  }
  for (const [name, item] of Object.entries(value)) {
    const field = fields.get(name)
    if (field === undefined) report('new_field', below(name), 'no such field', item)
    else inspect(field, item, below(name), report)
  }
}

function inspectItems(expected: Expectation | null, items: readonly unknown[], path: string, report: Report): void {
  if (expected === null) return
  for (const item of items.slice(0, maxItems)) inspect(expected, item, `${path}[]`, report)
}

function isOfKind(expected: Expectation, value: unknown): boolean {
  switch (expected.kind) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'text':
      return typeof value === 'string'
    case 'number':
      return typeof value === 'number' && (!expected.isWhole || Number.isInteger(value) || !Number.isFinite(value))
    case 'boolean':
      return typeof value === 'boolean'
  }
}

function isInRange(expected: Expectation, value: unknown): boolean {
  if (expected.kind === 'number') return Number(value) >= expected.min && Number(value) <= expected.max
  if (expected.kind !== 'text' || typeof value !== 'string') return true
  const { minLength, maxLength, pattern, oneOf } = expected
  if (value.length < minLength || value.length > maxLength) return false
  return (pattern === null || pattern.test(value)) && (oneOf === null || oneOf.includes(value))
}

function describe(expected: Expectation): string {
  switch (expected.kind) {
    case 'object':
      return 'an object'
    case 'array':
      return 'a list'
    case 'text':
      return expected.meaning
    case 'number':
      return expected.isWhole ? 'a whole number' : 'a number'
    case 'boolean':
      return 'true or false'
  }
}

/**
 * Strings as they are, everything else as JSON. Values nested too deeply for JSON.stringify are never parsed either.
 */
function shown(value: unknown): string {
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number beyond the range of doubles'
  return safe(typeof value === 'string' ? value : startOfJson(value))
}

/** JSON of the first parts of a value: values may be large. */
function startOfJson(value: unknown): string {
  let room = maxTextLength
  return JSON.stringify(value, (_, item: unknown) => {
    room -= 1
    if (room < 0) return undefined
    return typeof item === 'string' ? item.slice(0, maxTextLength) : item
  })
}

// Control characters, bidi marks, invisible characters and lone surrogates.
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Escapes characters that a terminal or a page might interpret. */
function safe(text: string): string {
  const start = text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1)}…` : text
  const escaped = start.replace(unsafe, (found) => `\\u${(found.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
  return escaped.length > maxTextLength ? `${escaped.slice(0, maxTextLength - 1).toWellFormed()}…` : escaped
}

/** Documented shape of a value. */
type Expectation = ObjectExpectation | ArrayExpectation | TextExpectation | NumberExpectation | BooleanExpectation

interface ObjectExpectation {
  readonly kind: 'object'
  readonly fields: ReadonlyMap<string, Expectation>
  readonly required: readonly string[]
}

interface ArrayExpectation {
  readonly kind: 'array'
  readonly items: Expectation | null
}

interface TextExpectation {
  readonly kind: 'text'
  /** Length limits in characters. */
  readonly minLength: number
  readonly maxLength: number
  readonly pattern: RegExp | null
  readonly oneOf: readonly string[] | null
  /** The allowed texts, in plain words. */
  readonly meaning: string
}

interface NumberExpectation {
  readonly kind: 'number'
  readonly isWhole: boolean
  readonly min: number
  readonly max: number
}

interface BooleanExpectation {
  readonly kind: 'boolean'
}

/** The part of JSON Schema that event schemas use. */
interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
}

const known = new Map<string, ObjectExpectation>()

/** Documented envelope of a type, built on first use; undefined for an unknown type. */
function documentedOf(type: string): ObjectExpectation | undefined {
  const made = known.get(type)
  const found = eventTypes.find((one) => one === type)
  if (made !== undefined || found === undefined) return made
  const expected = expectationOf(z.toJSONSchema(eventSchemas[found], { io: 'input' }) as JsonSchema, '')
  if (expected?.kind !== 'object') return undefined
  known.set(type, expected)
  return expected
}

/** Null if the schema documents nothing that can be checked. */
function expectationOf(schema: JsonSchema, name: string): Expectation | null {
  switch (schema.type) {
    case 'object':
      return objectOf(schema)
    case 'array':
      return { kind: 'array', items: schema.items === undefined ? null : expectationOf(schema.items, name) }
    case 'string':
      return textOf(schema, name)
    case 'number':
    case 'integer':
      return {
        kind: 'number',
        isWhole: schema.type === 'integer',
        min: schema.minimum ?? -Number.MAX_VALUE,
        max: schema.maximum ?? Number.MAX_VALUE,
      }
    case 'boolean':
      return { kind: 'boolean' }
    case undefined:
    default:
      return null
  }
}

function objectOf({ properties = {}, required = [] }: JsonSchema): ObjectExpectation {
  const fields = Object.entries(properties).flatMap(([name, schema]) => {
    const expected = expectationOf(schema, name)
    return expected === null ? [] : [[name, expected] as const]
  })
  return { kind: 'object', fields: new Map(fields), required }
}

/** The schema allows unknown networks, because new ones may be added. Drift reports them anyway. */
function textOf(schema: JsonSchema, name: string): TextExpectation {
  const listed = schema.const === undefined ? schema.enum : [schema.const]
  const oneOf = name === 'network' ? networkIds : (listed?.map(String) ?? null)
  const { minLength = 0, maxLength = Infinity, pattern, format } = schema
  return {
    kind: 'text',
    minLength,
    maxLength,
    pattern: pattern === undefined ? null : new RegExp(pattern, 'u'),
    oneOf,
    meaning: meaningOf({ minLength, maxLength, oneOf, format }),
  }
}

interface Meant extends Pick<TextExpectation, 'minLength' | 'maxLength' | 'oneOf'> {
  readonly format: string | undefined
}

function meaningOf({ minLength, maxLength, oneOf, format }: Meant): string {
  if (oneOf !== null) return oneOf.length === 1 ? `${oneOf[0]}` : `one of ${oneOf.join(', ')}`
  if (format === 'date-time') return 'a time in UTC such as 2026-01-31T12:00:00.000Z'
  return maxLength === Infinity ? 'text' : `text of ${minLength} to ${maxLength} characters`
}
