import { membersBeside, readOpenApi, type DocumentedAnswer, type DocumentedOperation } from './openapi-document.ts'
import type { Json } from './api-document.ts'

export interface Sent {
  readonly method: string
  /** Path with the version prefix, and query. */
  readonly target: string
  /** Undefined if there is none, or if it isn't JSON. */
  readonly body?: unknown
}

export interface Got {
  readonly status: number
  header(name: string): string | undefined
  readonly text: string
}

interface Place {
  readonly operation: DocumentedOperation | null
  /** The template that matches the path; null if none does. */
  readonly path: string | null
  readonly params: Readonly<Record<string, string>>
}

const prefix = '/v1'

/** Checks exchanges against the document, and records which documented responses were not seen yet. */
export function createContract() {
  const document = readOpenApi()
  const unseen = new Set(
    document.operations.flatMap(({ id, answers }) => [...answers.keys()].map((code) => `${id} ${code}`)),
  )

  /** Finds the operation of a request. Paths without parameters come first. */
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

  function checkAnswer(answer: DocumentedAnswer, got: Got, body: unknown): readonly string[] {
    const problems = document.problemsOf(answer.schema, body).map((problem) => `body: ${problem}`)
    if (got.header('content-type') !== answer.mediaType) problems.push(`media type ${got.header('content-type')}`)
    for (const { name, required, schema } of answer.headers) {
      const text = got.header(name)
      if (text === undefined) {
        if (required) problems.push(`header ${name} is missing`)
        continue
      }
      problems.push(...document.problemsOf(schema, toTyped(text, schema)).map((why) => `header ${name}: ${why}`))
    }
    return problems
  }

  /** An accepted request must be documented. */
  function checkRequest(operation: DocumentedOperation, given: ReadonlyMap<string, unknown>, sent: Sent) {
    const problems: string[] = []
    for (const { name, in: place, required, schema } of [...operation.parameters, ...operation.members]) {
      const value = place === 'body' ? (sent.body as Json | undefined)?.[name] : given.get(name)
      if (value === undefined) {
        if (required) problems.push(`accepted without the parameter ${name}`)
        continue
      }
      problems.push(...document.problemsOf(schema, value).map((why) => `accepted with ${name}: ${why}`))
    }
    if (operation.body === null) return problems
    return [...problems, ...document.problemsOf(operation.body, sent.body).map((why) => `accepted with a body: ${why}`)]
  }

  return {
    document,
    /** Documented statuses by operation that no response had. */
    unseen: unseen as ReadonlySet<string>,
    /** Returns the deviations of a response, or of an accepted request, from the document. */
    check(sent: Sent, got: Got): readonly string[] {
      const { operation, path, params } = find(sent.method, sent.target)
      const body = parse(got.text)
      if (operation === null) {
        const other = path === null ? undefined : document.otherMethods.get(path)
        if (other !== undefined && got.status === 405) return checkAnswer(other, got, body)
        return checkAnswer(document.failure, got, body)
      }
      const answer = operation.answers.get(got.status)
      if (answer === undefined) return [`${operation.id} does not document the status ${got.status}`]
      const problems = [...checkAnswer(answer, got, body)]
      unseen.delete(`${operation.id} ${got.status}`)
      const undocumented = [...membersBeside(document, answer.schema, body)]
      problems.push(...undocumented.map((name) => `undocumented member ${name}`))
      if (got.status < 300) problems.push(...checkRequest(operation, givenBy(operation, sent, params), sent))
      return problems
    },
  }
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

/** Converts text to an integer if its schema wants one. */
export function toTyped(text: string, schema: Json): unknown {
  return schema['type'] === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
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
