import { readOpenApi, type DocumentedAnswer, type DocumentedOperation } from './openapi-document.ts'
import type { Json } from './api-document.ts'

export interface Got {
  readonly status: number
  header(name: string): string | undefined
  readonly text: string
}

/** Checks responses against the document, and records which documented ones were not seen yet. */
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

  return {
    document,
    /** Documented statuses by operation that no response had. */
    unseen: unseen as ReadonlySet<string>,
    /** Returns the deviations of a response from the document. `method`: of the request, which may be another one than the operation's. */
    check(operation: DocumentedOperation, method: string, got: Got): readonly string[] {
      const body: unknown = JSON.parse(got.text)
      if (method !== operation.method) {
        const other = got.status === 405 ? document.otherMethods.get(operation.path) : undefined
        return checkAnswer(other ?? document.failure, got, body)
      }
      const answer = operation.answers.get(got.status)
      if (answer === undefined) return [`${operation.id} does not document the status ${got.status}`]
      unseen.delete(`${operation.id} ${got.status}`)
      return checkAnswer(answer, got, body)
    },
  }
}

/** Converts text to an integer if its schema wants one. */
export function toTyped(text: string, schema: Json): unknown {
  return schema['type'] === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
}
