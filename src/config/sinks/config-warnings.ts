import type { Templates } from '../../../handlers/sinks/common/template.ts'
import { eventSchemas, eventTypes, networkIds } from '../../../schema/index.ts'
import { internalEventTypes } from '../../../schema/internal.ts'
import { nearest } from '../../base/edit-distance.ts'
import type { RouteFilter } from './routes.ts'

interface Sink {
  readonly name: string
  readonly routes: readonly RouteFilter[]
  readonly options: unknown
}

/** Warns about undocumented types, networks and fields in routes and templates: allowed, but probably mistyped. */
export function findConfigWarnings({ name, routes, options }: Sink): string[] {
  const { templates = {} } = options as { readonly templates?: Templates }
  return [
    ...routes.flatMap(unknownInRoute).map((unknown) => `sinks.${name}: a route has ${unknown}`),
    ...Object.entries(templates)
      .flatMap(([pattern, template]) => unknownInTemplate(pattern, template))
      .map((unknown) => `sinks.${name}.templates: ${unknown}`),
  ]
}

function unknownInRoute({ types, source, networks = [], where }: RouteFilter): string[] {
  if (source !== undefined) return []
  const unknownNetworks = networks
    .filter((network) => !networkIds.some((known) => known === network))
    .map((network) => `the undocumented network ${network}${nearest(network, networkIds)}`)
  const unknownTypes = types.filter(isUndocumented).map(undocumented)
  const fields = fieldsOf(types)
  const unknownPaths = where.map(({ path }) => path).filter((path) => isUnknownField(path, fields))
  return [...unknownTypes, ...unknownNetworks, ...unknownPaths.map((path) => unknownField(path, types, fields))]
}

function unknownInTemplate(pattern: string, template: Templates[string]): string[] {
  if (isUndocumented(pattern)) return [undocumented(pattern)]
  const fields = fieldsOf([pattern])
  const paths = template.flatMap((part) =>
    part.kind === 'value' && isUnknownField(part.path, fields) ? [part.path] : [],
  )
  return [...new Set(paths)].map((path) => `${pattern} has ${unknownField(path, [pattern], fields)}`)
}

interface Handler {
  readonly name: string
  readonly kind: 'handler' | 'sink'
  readonly types: readonly string[]
  readonly sources?: readonly string[] | undefined
}

/** Warns about undocumented types of handlers of the default source, and if there is none. Sinks have the warnings of their routes. */
export function findHandlerWarnings(handlers: readonly Handler[], hasDefaultSource: boolean): string[] {
  return handlers.flatMap(({ name, kind, types, sources }) => {
    if (sources?.every((source) => source === 'default') === false) return []
    if (!hasDefaultSource && !types.every(isInternal))
      return [`${kind} ${name} gets no deliveries of the default source: INBOX_SECRETS is not set`]
    const unknown = kind === 'handler' ? types.filter(isUndocumented) : []
    return unknown.map((type) => `handler ${name} takes ${undocumented(type)}`)
  })
}

/** True if no documented type and no warning type matches the pattern. */
const isUndocumented = (pattern: string): boolean => !isInternal(pattern) && documentedTypesOf(pattern).length === 0

const isInternal = (pattern: string): boolean => internalEventTypes.some((type) => matches(pattern, type))

const matches = (pattern: string, type: string): boolean =>
  pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))

function undocumented(pattern: string): string {
  const known = [...eventTypes, ...internalEventTypes]
  const prefixes = known.map((type) => type.replace(/[^.]+$/, '*'))
  return `the undocumented type ${pattern}${nearest(pattern, pattern.endsWith('*') ? prefixes : known)}`
}

function isUnknownField(path: string, fields: ReadonlySet<string> | undefined): boolean {
  return fields !== undefined && path.startsWith('data.') && !fields.has(path.split('.')[1] ?? '')
}

function unknownField(path: string, types: readonly string[], fields: ReadonlySet<string> = new Set()): string {
  const guess = nearest(
    path,
    [...fields].map((field) => `data.${field}`),
  )
  return `the unknown field ${path} of ${types.join(', ')}${guess}`
}

/** Fields of these types; undefined if one of them is undocumented. */
function fieldsOf(types: readonly string[]): ReadonlySet<string> | undefined {
  const documented = types.map(documentedTypesOf)
  if (documented.some((found) => found.length === 0)) return undefined
  return new Set(documented.flat().flatMap((type) => Object.keys(eventSchemas[type].shape.data.shape)))
}

function documentedTypesOf(pattern: string) {
  return eventTypes.filter((type) => pattern === '*' || matches(pattern, type))
}
