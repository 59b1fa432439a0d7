import { readOpenApi, type DocumentedAnswer, type DocumentedOperation } from './openapi-document.ts'
import type { Answer } from '../integration/emulator-rest-stage.ts'
import type { Json } from './api-document.ts'

/** Checks responses against the document, and records which documented ones were not seen yet. */
export function createContract() {
  const document = readOpenApi()
  const unseen = new Set(
    document.operations.flatMap(({ id, answers }) => [...answers.keys()].map((code) => `${id} ${code}`)),
  )

  function checkAnswer(answer: DocumentedAnswer, { headers, body }: Answer): readonly string[] {
    const problems = document.strictProblemsOf(answer.schema, body).map((problem) => `body: ${problem}`)
    const mediaType = headers.get('content-type')
    if (mediaType !== answer.mediaType) problems.push(`media type ${mediaType}`)
    for (const { name, required, schema } of answer.headers) {
      const text = headers.get(name)
      if (text === null) {
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
    check(operation: DocumentedOperation, method: string, got: Answer): readonly string[] {
      if (method !== operation.method) {
        const other = got.status === 405 ? document.otherMethods.get(operation.path) : undefined
        return checkAnswer(other ?? document.failure, got)
      }
      const answer = operation.answers.get(got.status)
      if (answer === undefined) return [`${operation.id} does not document the status ${got.status}`]
      unseen.delete(`${operation.id} ${got.status}`)
      return checkAnswer(answer, got)
    },
  }
}

/** Converts text to an integer if its schema wants one. */
export function toTyped(text: string, schema: Json): unknown {
  return schema['type'] === 'integer' && /^-?\d+$/.test(text) ? Number(text) : text
}
