import { toAdminOpenApi } from '../../src/admin/openapi.ts'
import { describedRoutes } from '../../src/admin/routes.ts'
import { resolve, type Json } from './api-document.ts'
import { createJudge } from './openapi-document.ts'

// Checks answers by the OpenAPI document only.

export interface AdminOperation {
  readonly id: string
  readonly method: string
  /** Below `/api/v1`, the parameter in braces. */
  readonly path: string
  /** Null: no credential needed. */
  readonly role: string | null
  readonly parameters: readonly Json[]
  /** Schema of its body; null: none. */
  readonly body: Json | null
}

/** Reads the document strictly. */
export function readAdminDocument() {
  const document = JSON.parse(JSON.stringify(toAdminOpenApi(describedRoutes))) as Json
  const judge = createJudge(document, { isStrict: true })
  const operations = Object.entries(document['paths'] as Json).flatMap(([path, item]) =>
    Object.entries(item as Json).map(([method, value]): AdminOperation => {
      return {
        id: value['operationId'],
        method: method.toUpperCase(),
        path,
        role: value['x-role'] ?? null,
        parameters: value['parameters'] ?? [],
        body: value['requestBody']?.content['application/json'].schema ?? null,
      }
    }),
  )
  return {
    text: document as object,
    operations,
    /** Differences between an answer and the document. */
    problemsOf(
      { id, method, path }: AdminOperation,
      { status, type, text }: { readonly status: number; readonly type: string | null; readonly text: string },
    ): readonly string[] {
      const answer: Json | undefined = document['paths'][path][method.toLowerCase()]['responses'][status]
      if (answer === undefined) return [`${id} does not document the status ${status}`]
      const [[mediaType, { schema }] = ['', {} as Json]] = Object.entries(resolve(document, answer)['content'] as Json)
      if (type?.split(';')[0] !== mediaType) return [`${id} ${status} came as ${type}, not as ${mediaType}`]
      if (mediaType !== 'application/json') return []
      return judge(schema, JSON.parse(text)).map((problem) => `${id} ${status}: ${problem}`)
    },
    /** True if a body matches the document. */
    isBody: ({ body }: AdminOperation, value: unknown) => body !== null && judge(body, value).length === 0,
  }
}
