import { z } from 'zod'
import { convertRegistry, toJsonSchema, type JsonObject } from '../../schema/json-schema.ts'
import { errorCatalogue, type ErrorCode } from '../base/errors.ts'
import { version } from '../base/version.ts'
import { groups, type RouteText } from './route.ts'
import { streamMessages } from './stream.ts'
import { components } from './wire.ts'

/** The admin API as an OpenAPI 3.1 document. Pure. */
export function toAdminOpenApi(routes: Readonly<Record<string, RouteText>>): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Admin API of onchain-inbox',
      version,
      summary: 'Stored events, their runs, failures, and actions on them.',
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      {
        url: '{admin_url}/api/v1',
        description: 'The admin side of a sidecar.',
        variables: { admin_url: { default: 'http://127.0.0.1:8081', description: 'Address of the admin side.' } },
      },
    ],
    tags: Object.entries(groups).map(([name, description]) => ({ name, description })),
    paths: toPaths(routes),
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: "The operator's or viewers' token." },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'inbox_session_8081',
          description: 'A session of the console; the name ends in the port of the admin side.',
        },
      },
      schemas: componentSchemas(),
    },
  }
}

const about = `The admin side of a sidecar, for its console, its commands, and your own programs.

Lists are \`{"data", "next_cursor"}\`: pass \`next_cursor\` as \`cursor\` to get the next page; null ends the list. Errors are
\`{"error": {"code", "message"}}\`; codes are stable. \`x-role\` is the role that an operation needs: viewers may read, operators may do
everything. Actions are idempotent, and recorded in the audit with their caller. With \`dryRun\` they only count.
Undocumented parameters and members are rejected. Answers may gain members.`

/** All paths below `/api/v1`. */
function toPaths(routes: Readonly<Record<string, RouteText>>): JsonObject {
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
    responses: { [route.status]: toSuccess(route), ...toErrors(route) },
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
      // zod omits the default of a text that is converted.
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
  if (gives === 'table') {
    const schema = { type: 'string' }
    return { description, content: { 'text/csv': { schema }, 'application/x-ndjson': { schema } } }
  }
  if (gives === 'document') return { description, content: { 'application/json': { schema: { type: 'object' } } } }
  if (gives === 'stream') {
    return {
      description: 'Events `events`, `overview` and `changed`, each with one line of JSON.',
      content: { 'text/event-stream': { schema: { oneOf: streamMessages.map(refOf) } } },
    }
  }
  return { description, content: { 'application/json': { schema: refOf(gives) } } }
}

/** Errors of a route, by status. */
function toErrors({ method, param, body, role, errors }: RouteText): JsonObject {
  const codes: ErrorCode[] = [
    'bad_request',
    ...(role === 'anyone' ? [] : (['unauthorized'] as const)),
    'forbidden',
    ...(param === undefined ? [] : (['not_found'] as const)),
    ...(body === undefined ? [] : (['body_too_large', 'content_encoding_unsupported'] as const)),
    ...(method === 'get' || method === 'delete' ? [] : (['media_type_unsupported'] as const)),
    ...errors,
    'internal',
    'store_unavailable',
    'store_full',
    'shutting_down',
  ]
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
  return Object.fromEntries(
    [...Map.groupBy(new Set(codes), (code) => errorCatalogue[code].status)].map(([status, same]) => [
      status,
      { description: `Code ${same.map((code) => `\`${code}\``).join(' or ')}.`, content },
    ]),
  )
}

/** Reference to a component; a union refers to its options. Throws if the schema is not a component. */
function refOf(schema: z.ZodType): JsonObject {
  if (schema instanceof z.ZodUnion) return { oneOf: schema.options.map((option) => refOf(option as z.ZodType)) }
  const name = components.get(schema)?.id
  if (name === undefined) throw new Error('expected a component of the document')
  return { $ref: `#/components/schemas/${name}` }
}

/** Inline schema of a body or of parameters. */
function schemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _dialect, ...rest } = tidied(toJsonSchema(schema))
  return rest
}

function componentSchemas(): JsonObject {
  const converted = Object.entries(convertRegistry(components)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(converted.map(([name, schema]) => [name, { title: name, ...tidied(schema) }]))
}

/** Removes bounds of safe integers, and patterns that `format` implies. */
function tidied(schema: JsonObject): JsonObject {
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const { pattern, format, minimum, maximum, ...rest } = value as JsonObject
    return {
      ...rest,
      // The standard's `contentEncoding` says the same.
      ...(format !== undefined && format !== 'base64' && { format }),
      ...(pattern !== undefined && format === undefined && { pattern }),
      ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
      ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    }
  }) as JsonObject
}
