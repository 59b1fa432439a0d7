import { z } from 'zod'
import { editDistance } from '../../base/edit-distance.ts'
import { seedSchema, type Seed } from './schema.ts'

/** What is wrong at one place of a seed; never with the value that is there. */
export interface SeedProblem {
  /** Members and positions that lead to the place. */
  readonly path: readonly PropertyKey[]
  readonly text: string
}

export type CheckedSeed =
  | { readonly ok: true; readonly seed: Seed }
  | { readonly ok: false; readonly problems: readonly SeedProblem[] }

/** Checks what an emulator is to begin with (A34); gives every problem, in words for people. */
export function checkSeed(given: unknown): CheckedSeed {
  const settingsAt = new Map<string, readonly string[]>()
  const result = seedSchema.safeParse(given, {
    error(issue) {
      if (issue.code === 'unrecognized_keys') settingsAt.set(keyOf(issue.path), settingsOf(issue.inst))
      return expectedBy(issue)
    },
  })
  if (result.success) return { ok: true, seed: result.data }
  const problems = result.error.issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [toProblem(issue.path, issue.message)]
    const known = settingsAt.get(keyOf(issue.path)) ?? []
    return issue.keys.map((name) => toProblem([...issue.path, name], unknownSetting(name, known)))
  })
  return { ok: false, problems }
}

function toProblem(path: readonly PropertyKey[], message: string): SeedProblem {
  return { path, text: path.length === 0 ? message : `${path.map(String).join('.')}: ${message}` }
}

function keyOf(path: readonly PropertyKey[] | undefined): string {
  return JSON.stringify(path?.map(String) ?? [])
}

function settingsOf(schema: unknown): readonly string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape)
  return schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodEnum ? schema.keyType.options.map(String) : []
}

function unknownSetting(name: string, known: readonly string[]): string {
  const ranked = known.map((other) => ({ other, distance: editDistance(name.toLowerCase(), other.toLowerCase()) }))
  const [nearest] = ranked.toSorted((a, b) => a.distance - b.distance)
  const isClose = nearest !== undefined && nearest.distance <= 2 && nearest.distance < name.length
  if (isClose) return `there is no such setting; did you mean ${nearest.other}?`
  return `there is no such setting; expected one of ${known.join(', ')}`
}

/** What a schema expected that has no words of its own for it. */
function expectedBy(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_value') return `expected ${oneOf(issue.values)}`
  if (issue.code === 'invalid_type') return wrongType(issue.expected, issue.input)
  if (issue.code === 'too_small') {
    return `expected ${sizeOf(issue.origin, issue.inclusive === false ? 'above' : 'at least', issue.minimum)}`
  }
  if (issue.code === 'too_big') {
    return `expected ${sizeOf(issue.origin, issue.inclusive === false ? 'below' : 'at most', issue.maximum)}`
  }
  if (issue.code === 'invalid_format' && issue.format === 'date') return 'expected a day such as 2026-01-31'
  return undefined
}

function oneOf(values: readonly unknown[]): string {
  return values.length === 1 ? String(values[0]) : `one of ${values.map(String).join(', ')}`
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  int: 'a whole number',
  array: 'a list',
  object: 'settings (name: value)',
  record: 'settings (name: value)',
  boolean: 'true or false',
}

function wrongType(expected: string, given: unknown): string {
  const wanted = `expected ${typeNames[expected] ?? `a ${expected}`}`
  if (given === undefined) return `it is missing; ${wanted}`
  if (expected === 'int' && typeof given === 'number') return wanted
  // YAML reads what looks like a number as one, addresses among them.
  const isBare = expected === 'string' && (typeof given === 'number' || typeof given === 'boolean')
  return isBare ? `${wanted}, got a ${typeof given}: put it in quotes` : `${wanted}, got ${kindOf(given)}`
}

function kindOf(given: unknown): string {
  if (given === null) return 'nothing'
  if (Array.isArray(given)) return 'a list'
  return typeof given === 'object' ? 'settings' : typeof given === 'string' ? 'text' : `a ${typeof given}`
}

function sizeOf(origin: string, relation: string, bound: unknown): string {
  const amount = `${relation} ${String(bound)}`
  if (origin === 'string') return `text of ${amount} character${bound === 1 ? '' : 's'}`
  if (origin === 'array') return `${amount} item${bound === 1 ? '' : 's'}`
  const number = origin === 'int' ? 'a whole number' : 'a number'
  return relation.startsWith('at ') ? `${number} of ${amount}` : `${number} ${amount}`
}
