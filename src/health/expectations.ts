import { z } from 'zod'
import { eventSchemas, eventTypes, networkIds } from '../../schema/index.ts'

/** What is documented of a value. */
export type Expectation =
  | ObjectExpectation
  | ArrayExpectation
  | TextExpectation
  | NumberExpectation
  | BooleanExpectation

export interface ObjectExpectation {
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
  /** In characters. */
  readonly shortest: number
  readonly longest: number
  readonly pattern: RegExp | null
  readonly oneOf: readonly string[] | null
  /** Which texts those are, in plain words. */
  readonly meaning: string
}

interface NumberExpectation {
  readonly kind: 'number'
  readonly isWhole: boolean
  readonly least: number
  readonly most: number
}

interface BooleanExpectation {
  readonly kind: 'boolean'
}

/** The part of JSON Schema that events are described in. */
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

/** What is documented of the envelope of a type, made for the first event of it; undefined for an unknown type. */
export function documentedOf(type: string): ObjectExpectation | undefined {
  const made = known.get(type)
  const found = eventTypes.find((one) => one === type)
  if (made !== undefined || found === undefined) return made
  const expected = expectationOf(z.toJSONSchema(eventSchemas[found], { io: 'input' }) as JsonSchema, '')
  if (expected?.kind !== 'object') return undefined
  known.set(type, expected)
  return expected
}

/** Null where nothing is documented that could be told here. */
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
        least: schema.minimum ?? -Number.MAX_VALUE,
        most: schema.maximum ?? Number.MAX_VALUE,
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

/** The schema leaves networks open, because more may come: that one came is to be known all the same. */
function textOf(schema: JsonSchema, name: string): TextExpectation {
  const listed = schema.const === undefined ? schema.enum : [schema.const]
  const oneOf = name === 'network' ? networkIds : (listed?.map(String) ?? null)
  const { minLength: shortest = 0, maxLength: longest = Infinity, pattern, format } = schema
  return {
    kind: 'text',
    shortest,
    longest,
    pattern: pattern === undefined ? null : new RegExp(pattern, 'u'),
    oneOf,
    meaning: meaningOf({ shortest, longest, oneOf, format }),
  }
}

interface Meant extends Pick<TextExpectation, 'shortest' | 'longest' | 'oneOf'> {
  readonly format: string | undefined
}

function meaningOf({ shortest, longest, oneOf, format }: Meant): string {
  if (oneOf !== null) return oneOf.length === 1 ? `${oneOf[0]}` : `one of ${oneOf.join(', ')}`
  if (format === 'date-time') return 'a time in UTC such as 2026-01-31T12:00:00.000Z'
  return longest === Infinity ? 'text' : `text of ${shortest} to ${longest} characters`
}
