import type { z } from 'zod'
import type { JsonObject } from '../../../schema/json-schema.ts'
import { errorCatalogue, type ErrorCode } from '../../errors.ts'
import { changedTold, eventsTold, overviewTold } from '../answers/stream.ts'
import type { RouteText } from '../routes/route.ts'
import { refOf, schemaOf } from './schemas.ts'

/** Every path below `/api/v1` with its operations. */
export function toPaths(routes: readonly RouteText[]): JsonObject {
  const byPath = Map.groupBy(routes, pathOf)
  return Object.fromEntries(
    [...byPath].map(([path, same]) => [path, Object.fromEntries(same.map((one) => [one.method, toOperation(one)]))]),
  )
}

function pathOf({ path, param }: RouteText): string {
  return path.replace(':id', `{${param?.name}}`)
}

function toOperation(route: RouteText): JsonObject {
  const parameters = toParameters(route)
  return {
    operationId: route.id,
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

const successes: Readonly<Record<RouteText['status'], string>> = { 200: 'Done.', 201: 'Created.', 202: 'Begun.' }

function toSuccess({ gives, status }: RouteText): JsonObject {
  const description = successes[status]
  if (gives === 'bytes') return { description, content: { 'application/octet-stream': { schema: { type: 'string' } } } }
  if (gives === 'document') return { description, content: { 'application/json': { schema: { type: 'object' } } } }
  if (gives === 'stream') {
    const told = [eventsTold, overviewTold, changedTold].map(refOf)
    return {
      description: 'Events named `events`, `overview` and `changed`. The data of each is one line of JSON.',
      content: { 'text/event-stream': { schema: { oneOf: told } } },
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

/** Every answer that is an error, by name. */
export function toResponses(routes: readonly RouteText[]): JsonObject {
  const all = routes.flatMap((route) => [...refusalsOf(route).values()])
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
