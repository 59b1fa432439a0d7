import type { z } from 'zod'
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

/** Types, networks and fields in the settings of a sink that no documented event has: allowed, but probably a mistake. */
export function findConfigWarnings({ name, routes, options }: Sink): string[] {
  const { templates = {} } = options as { readonly templates?: Templates }
  return [
    ...routes.flatMap(oddInRoute).map((odd) => `sinks.${name}: a route asks for ${odd}`),
    ...Object.entries(templates)
      .flatMap(([pattern, template]) => oddInTemplate(pattern, template))
      .map((odd) => `sinks.${name}.templates: ${odd}`),
  ]
}

function oddInRoute({ types, networks = [], where }: RouteFilter): string[] {
  const ofNetworks = networks
    .filter((network) => !networkIds.some((known) => known === network))
    .map((network) => `the network ${network}, which the service does not have${nearest(network, networkIds)}`)
  const ofTypes = types.filter(isUndocumented).map(undocumented)
  const fields = fieldsOf(types)
  const ofPaths = where.map(({ path }) => path).filter((path) => isNoField(path, fields))
  const ofTexts = where
    .filter(({ path, tests }) => isNumber(path, types) && Object.values(tests).flat().some(isText))
    .map(({ path }) => `${path} by text, and it is a number: no text is equal to one, more or less`)
  return [...ofTypes, ...ofNetworks, ...ofPaths.map((path) => noField(path, types, fields)), ...ofTexts]
}

function oddInTemplate(pattern: string, template: Templates[string]): string[] {
  if (isUndocumented(pattern)) return [`it is for ${undocumented(pattern)}`]
  const fields = fieldsOf([pattern])
  const paths = template.flatMap((part) => (part.kind === 'value' && isNoField(part.path, fields) ? [part.path] : []))
  return [...new Set(paths)].map((path) => `that for ${pattern} has ${noField(path, [pattern], fields)}`)
}

const isUndocumented = (pattern: string): boolean => !isInternal(pattern) && documentedTypesOf(pattern).length === 0

const isInternal = (pattern: string): boolean => internalEventTypes.some((type) => isOf(pattern, type))

const isOf = (pattern: string, type: string): boolean =>
  pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))

function undocumented(pattern: string): string {
  const prefixes = eventTypes.map((type) => type.replace(/[^.]+$/, '*'))
  return `the type ${pattern}, which is not documented${nearest(pattern, pattern.endsWith('*') ? prefixes : eventTypes)}`
}

function isNoField(path: string, fields: ReadonlySet<string> | undefined): boolean {
  return fields !== undefined && path.startsWith('data.') && !fields.has(path.split('.')[1] ?? '')
}

function noField(path: string, types: readonly string[], fields: ReadonlySet<string> = new Set()): string {
  const guess = nearest(
    path,
    [...fields].map((field) => `data.${field}`),
  )
  return `${path}, which no documented event of ${types.join(', ')} has${guess}`
}

/** The fields of documented types; undefined where one is not documented. */
function fieldsOf(types: readonly string[]): ReadonlySet<string> | undefined {
  const documented = types.map(documentedTypesOf)
  if (documented.some((found) => found.length === 0)) return undefined
  return new Set(documented.flat().flatMap((type) => Object.keys(eventSchemas[type].shape.data.shape)))
}

function documentedTypesOf(pattern: string) {
  return eventTypes.filter((type) => pattern === '*' || isOf(pattern, type))
}

const isText = (value: unknown): boolean => typeof value === 'string'

/** Whether a path leads to a number in all documented events of these types that have it. */
function isNumber(path: string, types: readonly string[]): boolean {
  const [, name = ''] = /^data\.([^.]+)$/.exec(path) ?? []
  const kinds = types.flatMap(documentedTypesOf).flatMap((type) => {
    const shape: Readonly<Record<string, z.ZodType>> = eventSchemas[type].shape.data.shape
    return Object.hasOwn(shape, name) ? [shape[name]?.type] : []
  })
  return kinds.length > 0 && kinds.every((kind) => kind === 'number')
}
