import { z } from 'zod'
import { eventSchemas, eventTypes, networkIds } from '../../schema/index.ts'
import type { Clock } from '../base/clock.ts'
import { safeText } from '../base/log.ts'
import { TokenBucket } from '../base/token-bucket.ts'
import type { NewEvent } from '../inbox/port.ts'

export const driftKinds = ['unknown_type', 'new_field', 'missing_field', 'wrong_type', 'out_of_range'] as const
export type DriftKind = (typeof driftKinds)[number]

/** One difference between an event and the documentation of its type. */
interface DriftFinding {
  readonly kind: DriftKind
  /** Path in the envelope, such as `data.amount_usd` or `data.items[]`; empty for an unknown type. */
  readonly path: string
  readonly expected: string
  /** The received value. Like `path`, at most 200 characters and safe to show. */
  readonly example: string
}

/** A difference between events of a type and their documentation, counted since the process started. */
export interface DriftRecord extends DriftFinding {
  readonly type: string
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  readonly firstEventId: string
}

/** Maximum differences per event. */
const maxFindings = 20
/** Characters of a path or an example. */
const maxTextLength = 200
/** Maximum kinds of differences kept in memory; further ones are not counted. */
const maxRecords = 500
/** Maximum events checked per second, so that a burst costs deliveries almost nothing. */
const checksPerSecond = 200
/** Maximum size of a checked body. */
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
    /** Newest first; at most 500. */
    records: (): readonly DriftRecord[] => [...records.values()].toSorted((a, b) => b.lastAt - a.lastAt),
  }
}

type Path = readonly PropertyKey[]
type Report = (kind: DriftKind, path: Path, expected: string, value: unknown) => void

/** Differences in a parsed envelope, each path once; at most 20. */
function findDrift(type: string, envelope: unknown): readonly DriftFinding[] {
  const known = eventTypes.find((documented) => documented === type)
  if (known === undefined) {
    const expected = `one of the ${eventTypes.length} documented types`
    return [{ kind: 'unknown_type', path: '', expected, example: toText(type) }]
  }
  const found = new Map<string, DriftFinding>()
  const report: Report = (kind, at, expected, value) => {
    const path = shorten(
      at.map((key, index) => (typeof key === 'number' ? '[]' : `${index > 0 ? '.' : ''}${String(key)}`)).join(''),
    )
    const key = `${kind} ${path}`
    if (found.size < maxFindings && !found.has(key)) found.set(key, { kind, path, expected, example: toText(value) })
  }
  const schema = eventSchemas[known]
  for (const issue of schema.safeParse(envelope).error?.issues ?? []) {
    const value = issue.path.reduce<unknown>((parent, key) => (parent as Record<PropertyKey, unknown>)[key], envelope)
    report(kindOf(issue, value), issue.path, expectedOf(issue), value)
  }
  findUndocumented(schema, envelope, [], report)
  return [...found.values()]
}

/** Reports what the schemas allow, because the upstream may add fields and networks at any time (R125, R127). */
function findUndocumented(schema: unknown, value: unknown, path: Path, report: Report): void {
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const item of value) findUndocumented(schema.element, item, [...path, 0], report)
  }
  if (!(schema instanceof z.ZodObject) || typeof value !== 'object' || value === null) return
  for (const [name, item] of Object.entries(value)) {
    const field: unknown = Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined
    if (field === undefined) report('new_field', [...path, name], 'no such field', item)
    else if (name === 'network' && typeof item === 'string' && !networkIds.some((id) => id === item)) {
      report('out_of_range', [...path, name], `one of ${networkIds.join(', ')}`, item)
    } else findUndocumented(field, item, [...path, name], report)
  }
}

function kindOf(issue: z.core.$ZodIssue, value: unknown): DriftKind {
  if (value === undefined) return 'missing_field'
  const isWrongType = issue.code === 'invalid_type' || (issue.code === 'invalid_value' && typeof value !== 'string')
  return isWrongType && !isInfinite(value) ? 'wrong_type' : 'out_of_range'
}

const typeTexts: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function expectedOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return typeTexts[issue.expected] ?? issue.expected
  if (issue.code === 'invalid_value') return `${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`
  return issue.message.replace(/^.*?expected /, '')
}

/** JSON.parse reads numbers such as 1e999 as infinite. */
const isInfinite = (value: unknown) => typeof value === 'number' && !Number.isFinite(value)

/** Strings as they are, everything else as JSON. */
function toText(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (isInfinite(value)) return 'a number beyond the range of doubles'
  return shorten(typeof value === 'string' ? value : startOfJson(value))
}

/** JSON of the first parts of a value: values may be large. */
function startOfJson(value: unknown): string {
  let remaining = maxTextLength
  return JSON.stringify(value, (_, item: unknown) => {
    if (--remaining < 0) return undefined
    return typeof item === 'string' ? item.slice(0, maxTextLength) : item
  })
}

function shorten(text: string): string {
  return safeText(text.slice(0, maxTextLength + 1), maxTextLength - 1).toWellFormed()
}
