import { readOpenApi, type DocumentedAnswer, type DocumentedOperation } from './openapi-document.ts'
import type { Json } from './api-document.ts'

export interface Sent {
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string | readonly string[]>>
  /** Undefined if there is none, or if it isn't JSON. */
  readonly body?: unknown
}

export interface Got {
  readonly status: number
  header(name: string): string | undefined
  readonly text: string
}

/** Checks exchanges against the document, and records which documented responses were not seen yet. */
export function createContract() {
  const document = readOpenApi()
  const unseen = new Set(
    document.operations.flatMap(({ id, answers }) => [...answers.keys()].map((code) => `${id} ${code}`)),
  )

  function checkAnswer(answer: DocumentedAnswer, got: Got, body: unknown): readonly string[] {
    const problems = document.strictProblemsOf(answer.schema, body).map((problem) => `body: ${problem}`)
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
    check(operation: DocumentedOperation, sent: Sent, got: Got): readonly string[] {
      const body: unknown = JSON.parse(got.text)
      if (sent.method !== operation.method) {
        const other = got.status === 405 ? document.otherMethods.get(operation.path) : undefined
        return checkAnswer(other ?? document.failure, got, body)
      }
      const answer = operation.answers.get(got.status)
      if (answer === undefined) return [`${operation.id} does not document the status ${got.status}`]
      unseen.delete(`${operation.id} ${got.status}`)
      return [
        ...checkAnswer(answer, got, body),
        ...(got.status < 300 ? checkRequest(operation, givenBy(operation, sent), sent) : []),
      ]
    },
  }
}

function givenBy({ parameters }: DocumentedOperation, { params, query }: Sent) {
  const given = new Map<string, unknown>()
  for (const { name, in: place, schema } of parameters) {
    const text = place === 'path' ? params[name] : query[name]?.toString()
    if (text !== undefined) given.set(name, toTyped(text, schema))
  }
  return given
}

/** Converts text to an integer if its schema wants one. */
export function toTyped(text: string, schema: Json): unknown {
  return schema['type'] === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
}
