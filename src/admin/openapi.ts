import { z } from 'zod'
import { convertRegistry, toJsonSchema, type JsonObject } from '../../schema/json-schema.ts'
import { errorCatalogue, type ErrorCode } from '../base/errors.ts'
import { version } from '../base/version.ts'
import { groups, type RouteText } from './route.ts'
import { streamMessages } from './stream.ts'
import { components } from './wire.ts'

type Routes = Readonly<Record<string, RouteText>>

/** The admin API as an OpenAPI 3.1 document. Pure. */
export function toAdminOpenApi(routes: Routes): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Admin API of onchain-inbox',
      version,
      summary: 'Stored events, their runs, what failed, and what to do about it.',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: '{admin_url}/api/v1',
        description: 'The admin side of a sidecar.',
        variables: { admin_url: { default: 'http://127.0.0.1:8081', description: 'Where the admin side listens.' } },
      },
    ],
    tags: Object.entries(groups).map(([name, description]) => ({ name, description })),
    paths: toPaths(routes),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: "The operator's token, or that of viewers." },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'inbox_session_8081',
          description: 'A session of the console; the name ends in the port of the admin side.',
        },
      },
      responses: toResponses(routes),
      schemas: componentSchemas(),
    },
  }
}

const about = `The admin side of a sidecar, for its console, its commands, and your own programs.

Lists are \`{"data", "next_cursor"}\`: pass \`next_cursor\` as \`cursor\` to get the next page; it is null on the last page. Errors are
\`{"error": {"code", "message"}}\`; codes are stable. \`x-role\` says who may call an operation: a viewer's token may get, an operator's may do
everything. The audit records each action with its caller; actions are idempotent. With \`dryRun\` they only count.
Undocumented parameters and members of bodies are rejected. Answers may get more members.`

/** Every path below `/api/v1` with its operations. */
function toPaths(routes: Routes): JsonObject {
  const byPath = Map.groupBy(Object.entries(routes), ([, { path, param }]) => path.replace(':id', `{${param?.name}}`))
  return Object.fromEntries(
    [...byPath].map(([path, same]) => [
      path,
      Object.fromEntries(same.map(([id, route]) => [route.method, toOperation(id, route)])),
    ]),
  )
}

function toOperation(id: string, route: RouteText): JsonObject {
  const parameters = toParameters(route)
  return {
    operationId: id,
    tags: [route.group],
    summary: route.summary,
    security: route.role === 'anyone' ? [] : [{ token: [] }, { session: [] }],
    ...(route.role !== 'anyone' && { 'x-role': route.role }),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && { requestBody: toRequestBody(route.body) }),
    responses: { [route.status]: toSuccess(route), ...toRefusals(route) },
  }
}

function toParameters({ param, query }: RouteText): readonly JsonObject[] {
  const { properties = {}, required = [] } = schemaOf(query) as {
    properties?: Record<string, JsonObject>
    required?: readonly string[]
  }
  return [
    ...(param === undefined
      ? []
      : [{ ...param, in: 'path', required: true, schema: { type: 'string', minLength: 1 } }]),
    ...Object.entries(properties).map(([name, { description, ...schema }]) => {
      // zod leaves the default out where text is converted first.
      const { data } = (query.shape[name] as z.ZodType).safeParse(undefined)
      const usual = data instanceof Set ? [...data].join() : typeof data === 'number' ? `${data}` : data
      return {
        name,
        in: 'query',
        required: required.includes(name) && usual === undefined,
        description: `Expected ${String(description)}.`,
        schema: { ...schema, ...(usual !== undefined && { default: usual }) },
      }
    }),
  ]
}

function toRequestBody(body: z.ZodType): JsonObject {
  const { description, ...schema } = schemaOf(body)
  return {
    required: true,
    description: `Expected ${String(description)}.`,
    content: { 'application/json': { schema } },
  }
}

const successes: Readonly<Record<RouteText['status'], string>> = { 200: 'Done.', 201: 'Created.', 202: 'Started.' }

function toSuccess({ gives, status }: RouteText): JsonObject {
  const description = successes[status]
  if (gives === 'bytes') return { description, content: { 'application/octet-stream': { schema: { type: 'string' } } } }
  if (gives === 'document') return { description, content: { 'application/json': { schema: { type: 'object' } } } }
  if (gives === 'stream') {
    return {
      description: 'Events named `events`, `overview` and `changed`. The data of each is one line of JSON.',
      content: { 'text/event-stream': { schema: { oneOf: streamMessages.map(refOf) } } },
    }
  }
  return { description, content: { 'application/json': { schema: refOf(gives) } } }
}

/** The errors that a route may answer, by status. */
function toRefusals(route: RouteText): JsonObject {
  return Object.fromEntries(
    [...refusalsOf(route)].map(([status, codes]) => [status, { $ref: `#/components/responses/${nameOf(codes)}` }]),
  )
}

/** Every error answer, by name. */
function toResponses(routes: Routes): JsonObject {
  const all = Object.values(routes).flatMap((route) => [...refusalsOf(route).values()])
  return Object.fromEntries(all.map((codes) => [nameOf(codes), toRefusal(codes)]))
}

function refusalsOf({ method, param, body, role, refuses }: RouteText): ReadonlyMap<number, readonly ErrorCode[]> {
  const codes: ErrorCode[] = [
    'bad_request',
    ...(role === 'anyone' ? [] : (['unauthorized'] as const)),
    'forbidden',
    ...(param === undefined ? [] : (['not_found'] as const)),
    ...(body === undefined ? [] : (['body_too_large', 'content_encoding_unsupported'] as const)),
    ...(method === 'get' || method === 'delete' ? [] : (['media_type_unsupported'] as const)),
    ...refuses,
    'internal',
    'store_unavailable',
    'store_full',
    'shutting_down',
  ]
  return Map.groupBy(new Set(codes), (code) => errorCatalogue[code].status)
}

function nameOf(codes: readonly ErrorCode[]): string {
  return codes.flatMap((code) => code.split('_').map((word) => word[0]?.toUpperCase() + word.slice(1))).join('')
}

function toRefusal(codes: readonly ErrorCode[]): JsonObject {
  return {
    description: `Code ${codes.map((code) => `\`${code}\``).join(' or ')}.`,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

/** How an answer is referred to; a union by its options. Throws for a schema that is not registered. */
function refOf(schema: z.ZodType): JsonObject {
  if (schema instanceof z.ZodUnion) return { oneOf: schema.options.map((one) => refOf(one as z.ZodType)) }
  const name = components.get(schema)?.id
  if (name === undefined) throw new Error('an answer is not registered among the components of the document')
  return { $ref: `#/components/schemas/${name}` }
}

/** The schema of a body or of parameters, in place. */
function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _dialect, ...rest } = tidied(toJsonSchema(schema))
  return rest
}

/** Every registered schema, sorted by name. */
function componentSchemas(): JsonObject {
  const converted = Object.entries(convertRegistry(components)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(converted.map(([name, schema]) => [name, { title: name, ...tidied(schema) }]))
}

/** Without bounds of safe integers, and without patterns that `format` implies. */
function tidied(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const { pattern, format, minimum, maximum, ...rest } = value as JsonObject
    return {
      ...rest,
      // `contentEncoding` says so already, in the standard's words.
      ...(format !== undefined && format !== 'base64' && { format }),
      ...(pattern !== undefined && format === undefined && { pattern }),
      ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
      ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    }
  }) as JsonObject
}
