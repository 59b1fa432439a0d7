import { Coverage, facetsOf, facetsSeen, membersBeside, type Facet } from './openapi-coverage.ts'
import {
  readOpenApi,
  type DocumentedAnswer,
  type DocumentedOperation,
  type DocumentedParameter,
} from './openapi-document.ts'
import type { Json } from './api-document.ts'

export interface Sent {
  readonly method: string
  /** With the prefix of the version and the query. */
  readonly target: string
  /** Undefined: none, or none that is JSON. */
  readonly body?: unknown
}

export interface Got {
  readonly status: number
  header(name: string): string | undefined
  readonly text: string
}

interface Place {
  readonly operation: DocumentedOperation | null
  /** The template that the path fits; null if there is none. */
  readonly path: string | null
  readonly params: Readonly<Record<string, string>>
}

const prefix = '/v1'

/** Holds exchanges against the document, and remembers what of it has been seen. */
export function createContract() {
  const document = readOpenApi()
  const coverage = new Coverage()
  for (const operation of document.operations) {
    coverage.declare([{ kind: 'operation', name: operation.id }])
    for (const [status, answer] of operation.answers) coverage.declare(facetsOfAnswer(operation.id, status, answer))
    if (!operation.isImplemented) continue
    for (const one of [...operation.parameters, ...operation.members]) {
      coverage.declare(facetsOfParameter(operation.id, one))
    }
    if (operation.body !== null) coverage.declare(facetsOf(document, operation.body, `${operation.id} body`))
  }
  for (const [path, answer] of document.otherMethods) coverage.declare(facetsOfAnswer(`other ${path}`, 405, answer))

  function* facetsOfAnswer(name: string, status: number, { headers, schema }: DocumentedAnswer): Iterable<Facet> {
    const place = `${name} ${status}`
    yield { kind: 'status', name: place }
    for (const header of headers) yield { kind: 'header', name: `${place} ${header.name}` }
    yield* facetsOf(document, schema, place)
  }

  function* facetsOfParameter(id: string, parameter: DocumentedParameter): Iterable<Facet> {
    yield { kind: 'parameter', name: `${id} ${parameter.name} accepted` }
    if (!isFree(parameter)) yield { kind: 'parameter', name: `${id} ${parameter.name} refused` }
    if (!parameter.required) yield { kind: 'parameter', name: `${id} ${parameter.name} absent` }
    yield* facetsOf(document, parameter.schema, `${id} ${parameter.name}`)
  }

  /** Which operation a request is one of: paths without parameters come first. */
  function find(method: string, target: string): Place {
    const [given = ''] = target.split('?')
    const all = document.operations.toSorted((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
    for (const { path } of all) {
      const params = paramsOf(path, given)
      if (params === null) continue
      const operation = all.find((one) => one.path === path && one.method === method) ?? null
      return { operation, path, params }
    }
    return { operation: null, path: null, params: {} }
  }

  function checkAnswer(place: string, answer: DocumentedAnswer, got: Got, body: unknown): readonly string[] {
    const facets: Facet[] = [{ kind: 'status', name: place }]
    const problems = document.problemsOf(answer.schema, body).map((problem) => `body: ${problem}`)
    if (got.header('content-type') !== answer.mediaType) problems.push(`media type ${got.header('content-type')}`)
    for (const { name, required, schema } of answer.headers) {
      const text = got.header(name)
      if (text === undefined) {
        if (required) problems.push(`header ${name} is missing`)
        continue
      }
      facets.push({ kind: 'header', name: `${place} ${name}` })
      problems.push(...document.problemsOf(schema, toTyped(text, schema)).map((why) => `header ${name}: ${why}`))
    }
    coverage.see([...facets, ...facetsSeen(document, answer.schema, place, body)])
    return problems
  }

  /** Whatever was accepted must be a request as documented. */
  function checkRequest(operation: DocumentedOperation, given: ReadonlyMap<string, unknown>, sent: Sent) {
    const problems: string[] = []
    for (const { name, in: place, required, schema } of [...operation.parameters, ...operation.members]) {
      const value = place === 'body' ? (sent.body as Json | undefined)?.[name] : given.get(name)
      if (value === undefined) {
        if (required) problems.push(`accepted without the parameter ${name}`)
        else coverage.see([{ kind: 'parameter', name: `${operation.id} ${name} absent` }])
        continue
      }
      problems.push(...document.problemsOf(schema, value).map((why) => `accepted with ${name}: ${why}`))
      see(operation.id, name, schema, value)
    }
    if (operation.body === null) return problems
    coverage.see(facetsSeen(document, operation.body, `${operation.id} body`, sent.body))
    return [...problems, ...document.problemsOf(operation.body, sent.body).map((why) => `accepted with a body: ${why}`)]
  }

  function see(id: string, name: string, schema: Json, value: unknown): void {
    coverage.see([{ kind: 'parameter', name: `${id} ${name} accepted` }])
    coverage.see(facetsSeen(document, schema, `${id} ${name}`, value))
  }

  return {
    document,
    coverage,
    find,
    /** What of an answer, or of a request that was accepted, is not as documented. */
    check(sent: Sent, got: Got): readonly string[] {
      const { operation, path, params } = find(sent.method, sent.target)
      const body = parse(got.text)
      if (operation === null) {
        const other = path === null ? undefined : document.otherMethods.get(path)
        if (other !== undefined && got.status === 405) return checkAnswer(`other ${path} 405`, other, got, body)
        return checkAnswer('anywhere', document.failure, got, body)
      }
      coverage.see([{ kind: 'operation', name: operation.id }])
      const answer = operation.answers.get(got.status)
      if (answer === undefined) return [`${operation.id} does not document the status ${got.status}`]
      const problems = [...checkAnswer(`${operation.id} ${got.status}`, answer, got, body)]
      const undocumented = [...membersBeside(document, answer.schema, body)]
      problems.push(...undocumented.map((name) => `undocumented member ${name}`))
      if (got.status < 300) problems.push(...checkRequest(operation, givenBy(operation, sent, params), sent))
      for (const name of got.status === 400 ? blamedBy(body) : []) {
        coverage.see([{ kind: 'parameter', name: `${operation.id} ${name} refused` }])
      }
      return problems
    },
  }
}

/** Any text will do, as for handles in a path: what names nothing is not found rather than refused. */
function isFree({ in: place, schema }: DocumentedParameter): boolean {
  return place === 'path' && schema['pattern'] === undefined
}

function paramsOf(template: string, path: string): Readonly<Record<string, string>> | null {
  const expected = `${prefix}${template}`.split('/')
  const given = path.split('/')
  if (expected.length !== given.length) return null
  const params: Record<string, string> = {}
  for (const [index, part] of expected.entries()) {
    const own = given[index] ?? ''
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? []
    if (name === undefined ? part !== own : own === '') return null
    if (name !== undefined) params[name] = decode(own)
  }
  return params
}

function givenBy({ parameters }: DocumentedOperation, { target }: Sent, params: Readonly<Record<string, string>>) {
  const mark = target.indexOf('?')
  const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark))
  const given = new Map<string, unknown>()
  for (const { name, in: place, schema } of parameters) {
    const text = place === 'path' ? params[name] : (query.get(name) ?? undefined)
    if (text !== undefined) given.set(name, toTyped(text, schema))
  }
  return given
}

/** A text as the type that its schema has, where it is written as one. */
export function toTyped(text: string, schema: Json): unknown {
  return schema['type'] === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
}

function blamedBy(body: unknown): readonly string[] {
  const details: { path: string }[] = (body as Json | null)?.['error']?.details ?? []
  return details.map(({ path }) => path.split('.')[0] ?? '')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
