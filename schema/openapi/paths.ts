import { toFailureRefs, toSuccess } from './answers.ts'
import { components, exampleOf } from '../rest/components.ts'
import { successEnvelope } from '../rest/envelope.ts'
import { operationExamples, parameterExamples } from '../rest/examples.ts'
import { operations, refusalsOf, successStatus, undocumentedGroups, type Operation } from '../rest/operations.ts'
import { toComponents, toJsonSchema, type JsonObject } from '../json-schema.ts'
import type { z } from 'zod'

/** All paths of the service with their operations. */
export function paths(): JsonObject {
  const answers = toComponents({
    ...components,
    ...Object.fromEntries(operations.map(({ id, data, meta }) => [id, successEnvelope(data, meta)])),
  })
  const documented = Object.entries(Object.groupBy<string, Operation>(operations, ({ path }) => path)).map(
    ([path, list = []]) => [path, toPathItem(list.map((one) => [one.method, toOperation(one, answers[one.id] ?? {})]))],
  )
  return { ...Object.fromEntries(documented), ...undocumentedPaths() }
}

/** One operation per undocumented group, to show that the group exists (A2). */
function undocumentedPaths(): JsonObject {
  const entries = undocumentedGroups.map((group) => {
    const isOne = group !== 'trending'
    const operation = {
      operationId: isOne
        ? `getUndocumented${group === 'contracts' ? 'Contract' : 'Liquidity'}`
        : 'getUndocumentedTrending',
      tags: [group],
      summary: 'Not documented',
      description: `No operation of this group is documented. Every path under /${group} gives this response.`,
      security: [{ apiKey: [] }],
      ...(isOne && {
        parameters: [
          {
            name: 'address',
            in: 'path',
            required: true,
            description: 'Not documented; all values get the same response.',
            schema: { type: 'string', minLength: 1 },
            example: parameterExamples['address'],
            'x-assumption': ['A2'],
          },
        ],
      }),
      responses: toFailureRefs(['invalid_api_key', 'rate_limited', 'internal', 'not_documented']),
      'x-assumption': ['A2'],
    }
    return [isOne ? `/${group}/{address}` : `/${group}`, { get: operation }]
  })
  return Object.fromEntries(entries)
}

/** All other methods are rejected; OpenAPI can describe that by an extension only. */
function toPathItem(entries: readonly (readonly [string, JsonObject])[]): JsonObject {
  return { ...Object.fromEntries(entries), 'x-other-methods': { $ref: '#/components/responses/MethodNotAllowed' } }
}

function toOperation(operation: Operation, answer: JsonObject): JsonObject {
  const examples = { ...parameterExamples, ...operationExamples[operation.id]?.parameters }
  const parameters = [
    ...toParameters('path', operation.params, examples),
    ...toParameters('query', operation.query, examples),
  ]
  return {
    operationId: operation.id,
    tags: [operation.path.split('/')[1]],
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    security: [{ apiKey: operation.scope === null ? [] : [operation.scope] }],
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body !== null && { requestBody: toRequestBody(operation.body) }),
    responses: { [successStatus(operation)]: toSuccess(operation, answer), ...toFailureRefs(refusalsOf(operation)) },
    'x-requirement': operation.requirements,
    ...(operation.assumptions.length > 0 && { 'x-assumption': operation.assumptions }),
  }
}

function toParameters(place: 'path' | 'query', schema: z.ZodObject, examples: JsonObject): readonly JsonObject[] {
  const { properties = {}, required = [] } = toJsonSchema(schema) as {
    properties?: Record<string, JsonObject>
    required?: readonly string[]
  }
  return Object.entries(properties).map(([name, { description, 'x-assumption': assumption, ...rest }]) => {
    // zod omits the default of a parameter that is converted from text.
    const defaultValue = (schema.shape[name] as z.ZodType).safeParse(undefined).data
    return {
      name,
      in: place,
      required: required.includes(name),
      description,
      schema: { ...rest, ...(defaultValue !== undefined && { default: defaultValue }) },
      example: examples[name],
      ...(assumption !== undefined && { 'x-assumption': assumption }),
    }
  })
}

function toRequestBody(schema: z.ZodObject): JsonObject {
  const name = Object.entries(components).find(([, component]) => component === schema)?.[0]
  return {
    required: true,
    content: {
      'application/json': { schema: { $ref: `#/components/schemas/${name}` }, example: exampleOf(schema) },
    },
  }
}
