import { registerHooks } from 'node:module'
import type { OpenAPI3 } from 'openapi-typescript'
import { format } from 'oxfmt'
import ts from 'typescript-5'
import { toOpenApi } from './openapi.ts'

/** Where the types of the client are, from this folder. */
export const clientTypesFile = '../src/client/generated.ts'

const notice = `// Made from schema/openapi.json by \`npm run generate\`: not to be changed by hand.
/* oxlint-disable */
`

/** The text of `src/client/generated.ts`: types of every operation of the service that has an answer, from our OpenAPI document. */
export async function generateClientTypes(): Promise<string> {
  const { default: generate, astToString } = await importGenerator()
  const nodes = await generate(toClientDocument() as unknown as OpenAPI3, { transform: toOpenEnum })
  // The others are of what the document has not: webhooks, say.
  const wanted = nodes.filter((node) => !ts.isTypeAliasDeclaration(node))
  const formatted = await format('generated.ts', notice + astToString(wanted), {
    semi: false,
    singleQuote: true,
    printWidth: 120,
    trailingComma: 'all',
  })
  return formatted.code
}

/** It needs the compiler's old API, which TypeScript 7 has not. */
async function importGenerator() {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => next(specifier === 'typescript' ? 'typescript-5' : specifier, context),
  })
  try {
    return await import('openapi-typescript')
  } finally {
    hooks.deregister()
  }
}

type Json = Readonly<Record<string, unknown>>

/** What the client needs of the document: operations that can succeed, their successes, and what these refer to. */
function toClientDocument(): Json {
  const { openapi, info, paths, components } = toOpenApi() as Record<string, Json>
  const schemas = components?.['schemas'] as Json
  const kept = mapEntries(paths ?? {}, (item) => toSuccesses(item as Json))
  const names = reachable({ paths: kept }, schemas)
  const isReachable = ([name]: [string, unknown]) => names.has(name)
  return {
    openapi,
    info,
    paths: Object.fromEntries(Object.entries(kept).filter(([, item]) => Object.keys(item).length > 0)),
    components: { schemas: withoutBareChoices(Object.fromEntries(Object.entries(schemas).filter(isReachable))) },
  }
}

/** The operations of a path that can succeed, each with its success alone. */
function toSuccesses(item: Json): Json {
  const operations = Object.entries(item).flatMap(([method, operation]) => {
    const { responses, ...rest } = operation as Json
    const successes = Object.entries((responses ?? {}) as Json).filter(([status]) => status.startsWith('2'))
    const plain = successes.map(([status, success]) => [status, withoutHeaders(success as Json)])
    return plain.length === 0 ? [] : [[method, { ...rest, responses: Object.fromEntries(plain) }]]
  })
  return Object.fromEntries(operations)
}

function withoutHeaders({ content, description }: Json): Json {
  const json = (content as Readonly<Record<string, Json>>)['application/json'] ?? {}
  return { description, content: { 'application/json': { schema: json['schema'] } } }
}

function reachable(from: unknown, schemas: Json, found = new Set<string>()): ReadonlySet<string> {
  for (const [, name = ''] of JSON.stringify(from).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name)) continue
    found.add(name)
    reachable(schemas[name], schemas, found)
  }
  return found
}

/** `x-extensible-enum` as a union that editors complete and that takes any other text, too. */
function toOpenEnum(schema: object): ts.TypeNode | undefined {
  if (!('x-extensible-enum' in schema)) return undefined
  const known = schema['x-extensible-enum'] as readonly string[]
  const { factory } = ts
  const literals = known.map((value) => factory.createLiteralTypeNode(factory.createStringLiteral(value)))
  const text = factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword)
  const other = factory.createIntersectionTypeNode([text, factory.createTypeLiteralNode([])])
  return factory.createUnionTypeNode([...literals, factory.createParenthesizedType(other)])
}

/** Choices between constraints only, beside a `type`, are none of types: the generator would make them `unknown`. */
function withoutBareChoices<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(withoutBareChoices) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const isBare = 'type' in schema && 'anyOf' in schema && !JSON.stringify(schema.anyOf).includes('"type":')
  const members = Object.entries(schema).filter(([name]) => !(isBare && name === 'anyOf'))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutBareChoices(member)])) as T
}

function mapEntries<T>(values: Json, to: (value: unknown) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, to(value)]))
}
