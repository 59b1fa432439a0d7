import type { z } from 'zod'
import { toComponents, toJsonSchema, type JsonObject } from '../json-schema.ts'
import { components, exampleOf } from '../rest/components.ts'
import { successEnvelope } from '../rest/envelope.ts'
import { parameterExamples } from '../rest/examples.ts'
import { errorsOf, operations, successStatus, undocumentedGroups, type Operation } from '../rest/operations.ts'
import { toFailureRefs, toSuccess } from './responses.ts'

/** All paths of the service with their operations. */
export function paths(): JsonObject {
  const envelopes = operations.map(({ id, data, meta }) => [id, successEnvelope(data, meta)])
  const schemas = toComponents({ ...components, ...Object.fromEntries(envelopes) })
  const documented: Record<string, JsonObject> = {}
  for (const operation of operations) {
    // All other methods are rejected; OpenAPI can describe that by an extension only.
    const { 'x-other-methods': others = { $ref: '#/components/responses/MethodNotAllowed' }, ...methods } =
      documented[operation.path] ?? {}
    const item = { ...methods, [operation.method]: toOperation(operation, schemas[operation.id] ?? {}) }
    documented[operation.path] = { ...item, 'x-other-methods': others }
  }
  return { ...documented, ...Object.fromEntries(undocumentedGroups.map(toUndocumentedPath)) }
}

/** One operation of an undocumented group, to show that the group exists (A2). */
function toUndocumentedPath(group: (typeof undocumentedGroups)[number]): [path: string, item: JsonObject] {
  const name = { contracts: 'Contract', liquidity: 'Liquidity', trending: 'Trending' }[group]
  const address = {
    name: 'address',
    in: 'path',
    required: true,
    description: 'Not documented; all values get the same response.',
    schema: { type: 'string', minLength: 1 },
    example: parameterExamples.address,
    'x-assumption': ['A2'],
  }
  const hasAddress = group !== 'trending'
  const operation = {
    operationId: `getUndocumented${name}`,
    tags: [group],
    summary: 'Not documented',
    description: `No operation of this group is documented. Every path under /${group} gives this response.`,
    security: [{ apiKey: [] }],
    ...(hasAddress && { parameters: [address] }),
    responses: toFailureRefs(['invalid_api_key', 'rate_limited', 'internal', 'not_documented']),
    'x-assumption': ['A2'],
  }
  return [hasAddress ? `/${group}/{address}` : `/${group}`, { get: operation }]
}

function toOperation(operation: Operation, schema: JsonObject): JsonObject {
  const examples = { ...parameterExamples, ...operation.example?.parameters }
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
    responses: { [successStatus(operation)]: toSuccess(operation, schema), ...toFailureRefs(errorsOf(operation)) },
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

function toRequestBody(body: z.ZodObject): JsonObject {
  const name = Object.entries(components).find(([, component]) => component === body)?.[0]
  const schema = { $ref: `#/components/schemas/${name}` }
  return { required: true, content: { 'application/json': { schema, example: exampleOf(body) } } }
}
