import type { ApiDocument } from './openapi-document.ts'

type Resolver = Pick<ApiDocument, 'resolve'>
import type { Json } from './api-document.ts'

/** What can be seen of a document: each kind is a row of the table. */
const kinds = ['operation', 'status', 'header', 'parameter', 'property', 'value'] as const
type Kind = (typeof kinds)[number]

/** Something that a document names, such as the property `Trade.dex`. */
export interface Facet {
  readonly kind: Kind
  readonly name: string
}

/** Counts what of a document was seen. */
export class Coverage {
  readonly #all = new Map<Kind, Set<string>>(kinds.map((kind) => [kind, new Set()]))
  readonly #seen = new Map<Kind, Set<string>>(kinds.map((kind) => [kind, new Set()]))

  declare(facets: Iterable<Facet>): void {
    for (const { kind, name } of facets) this.#all.get(kind)?.add(name)
  }

  /** What was not declared does not count. */
  see(facets: Iterable<Facet>): void {
    for (const { kind, name } of facets) {
      if (this.#all.get(kind)?.has(name) === true) this.#seen.get(kind)?.add(name)
    }
  }

  get missing(): readonly string[] {
    return kinds.flatMap((kind) => {
      const seen = this.#seen.get(kind)
      return [...(this.#all.get(kind) ?? [])].filter((name) => !seen?.has(name)).map((name) => `${kind} ${name}`)
    })
  }

  table(): string {
    const rows = kinds
      .filter((kind) => this.#all.get(kind)?.size !== 0)
      .map((kind) => {
        const [seen, all] = [this.#seen.get(kind)?.size ?? 0, this.#all.get(kind)?.size ?? 0]
        return `${kind.padEnd(10)} ${String(seen).padStart(5)} / ${String(all).padStart(5)}`
      })
    return [...rows, ...this.missing.map((name) => `missing: ${name}`)].join('\n')
  }
}

/** All that a schema lets a value show: its properties, and where these may differ in kind each way they can. */
export function* facetsOf(document: Resolver, schema: Json, place: string): Iterable<Facet> {
  yield* walk(document, schema, place, null)
}

/** Those of them that a value shows. */
export function* facetsSeen(document: Resolver, schema: Json, place: string, value: unknown): Iterable<Facet> {
  yield* walk(document, schema, place, { value })
}

/** The members of a value that its schema does not name, as paths. */
export function* membersBeside(document: Resolver, ref: Json, value: unknown, at = ''): Iterable<string> {
  const schema = document.resolve(ref)
  if (Array.isArray(value)) {
    for (const item of value) yield* membersBeside(document, schema['items'] ?? {}, item, `${at}[]`)
  } else if (isObject(value) && schema['properties'] !== undefined) {
    for (const [name, member] of Object.entries(value)) {
      const known = Object.hasOwn(schema['properties'], name)
      if (known) yield* membersBeside(document, schema['properties'][name], member, `${at}.${name}`)
      else yield `${at}.${name}`
    }
  }
}

/** `given` null: whatever a value could show. */
function* walk(
  document: Resolver,
  ref: Json,
  outer: string,
  given: { readonly value: unknown } | null,
): Iterable<Facet> {
  const place = nameOf(ref) ?? outer
  const schema = document.resolve(ref)
  for (const possible of valuesOf(schema)) {
    if (given === null || isSame(possible, given.value)) yield { kind: 'value', name: `${place} = ${possible}` }
  }
  if (schema['items'] !== undefined) {
    const items = given === null ? [null] : listOf(given.value).map((value) => ({ value }))
    for (const item of items) yield* walk(document, schema['items'], `${place}[]`, item)
  }
  for (const [name, member] of Object.entries((schema['properties'] ?? {}) as Json)) {
    const inner = `${place}.${name}`
    const isOptional = schema['required']?.includes(name) !== true
    const isThere = given !== null && isObject(given.value) && Object.hasOwn(given.value, name)
    if (isOptional && (given === null || (isObject(given.value) && !isThere))) {
      yield { kind: 'value', name: `${inner} absent` }
    }
    if (given !== null && !isThere) continue
    yield { kind: 'property', name: inner }
    yield* walk(document, member, inner, given === null ? null : { value: (given.value as Json)[name] })
  }
}

/** Values, or kinds of values, that a schema tells apart. */
function valuesOf(schema: Json): readonly string[] {
  if (schema['const'] !== undefined) return [String(schema['const'])]
  const named: unknown = schema['enum'] ?? schema['x-extensible-enum']
  if (Array.isArray(named)) return named.map(String)
  if (schema['type'] === 'boolean') return ['true', 'false']
  const types: unknown[] = schema['anyOf']?.map((one: Json) => one['type']) ?? schema['type'] ?? []
  return Array.isArray(types) && types.includes('null') ? ['null', 'not null'] : []
}

function isSame(possible: string, value: unknown): boolean {
  return possible === String(value) || (possible === 'not null' && value !== null)
}

function nameOf(schema: Json): string | undefined {
  const ref: unknown = schema['$ref']
  return typeof ref === 'string' ? ref.slice(ref.lastIndexOf('/') + 1) : undefined
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null
}
