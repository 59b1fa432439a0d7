// Reads generated documents without any type of ours.

// oxlint-disable-next-line typescript/no-explicit-any -- a parsed document, looked into at many depths
export type Json = Record<string, any>

/** Each operation as `GET /path`. */
export function operationsOf(document: Json): { name: string; value: Json }[] {
  return Object.entries(document['paths'] as Json).flatMap(([path, item]) =>
    Object.entries(item as Json)
      .filter(([method]) => !method.startsWith('x-'))
      .map(([method, value]) => ({ name: `${method.toUpperCase()} ${path}`, value })),
  )
}

/** The target of a local `$ref`, or the value itself. */
export function resolve(document: Json, value: Json): Json {
  const ref: unknown = value['$ref']
  if (typeof ref !== 'string') return value
  let found: Json = document
  for (const part of ref.replace('#/', '').split('/')) found = found[part.replaceAll('~1', '/')]
  return found
}

/** Field names of an object schema, with `*` after required ones. */
export function fieldsOf(schema: Json): string[] {
  return Object.keys(schema['properties']).map((name) => (schema['required']?.includes(name) ? `${name}*` : name))
}

/** Calls `fn` for each object in the document with its path; returns the sum of the results. */
export function visit(value: unknown, fn: (value: Json, path: readonly string[]) => number): number {
  const walk = (at: unknown, path: readonly string[]): number => {
    if (typeof at !== 'object' || at === null) return 0
    const below = Object.entries(at).map(([key, member]) => walk(member, [...path, key]))
    return below.reduce((sum, count) => sum + count, Array.isArray(at) ? 0 : fn(at, path))
  }
  return walk(value, [])
}
