import { z } from 'zod'
import { eventSchemas, eventTypes, networkIds } from '../../../schema/index.ts'
import { nearest } from '../nearest.ts'
import { commonNames, commonOptions, type CommonOptions } from './common.ts'
import { describeRoutes, describeTarget } from './describe.ts'
import { isSinkKind, sinkKindNames, sinkKinds, type SinkKind } from './kinds.ts'
import { problemsOf } from './problems.ts'
import { resolveReferences, type ReferenceSources } from './references.ts'
import { route, toRouteFilter, type RouteFilter } from './routes.ts'

/** A sink of the settings, checked and complete. Plain data: it goes from thread to thread. */
export interface ConfiguredSink {
  readonly name: string
  readonly kind: SinkKind
  /** Those of its kind. May hold secrets. */
  readonly options: unknown
  readonly common: CommonOptions
  /** Which events go to it by themselves. */
  readonly routes: readonly RouteFilter[]
  /** Where it leads and what it gets, without anything secret. */
  readonly description: string
}

export interface SinkSettings extends ReferenceSources {
  readonly sinks: unknown
  readonly routes: unknown
  readonly forwardUrl: string | undefined
}

export interface LoadedSinks {
  readonly sinks: readonly ConfiguredSink[]
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

type ReadSink = Omit<ConfiguredSink, 'description'> & { readonly target: string }

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** Reads `sinks`, `routes` and INBOX_FORWARD_URL. Tells all problems at once, none with the value of an option. */
export async function loadSinks(settings: SinkSettings): Promise<LoadedSinks> {
  const problems: string[] = []
  const entries = entriesOf(settings, problems)
  const read = await Promise.all(
    entries.map(async ([name, entry]) => {
      const found: string[] = []
      return { sink: await readSink(name, entry, settings, found), found }
    }),
  )
  problems.push(...read.flatMap(({ found }) => found))
  const names = entries.map(([name]) => name)
  const routes = readRoutes(settings.routes, names, problems)
  const complete = read
    .map(({ sink }) => sink)
    .filter((sink) => sink !== undefined)
    .map(({ target, ...sink }): ConfiguredSink => {
      const own = [...sink.routes, ...routes.filter(({ to }) => to.includes(sink.name)).map(({ filter }) => filter)]
      const to = target === '' ? '' : ` to ${target}`
      return { ...sink, routes: own, description: `${sink.kind}${to}, gets ${describeRoutes(own)}` }
    })
  return { sinks: complete, problems, warnings: complete.flatMap(findOddities) }
}

function entriesOf({ sinks = {}, forwardUrl }: SinkSettings, problems: string[]): (readonly [string, unknown])[] {
  const forward =
    forwardUrl === undefined ? [] : ([['forward', { kind: 'forward', url: forwardUrl, types: '*' }]] as const)
  if (typeof sinks !== 'object' || sinks === null || Array.isArray(sinks)) {
    problems.push("sinks: expected an object of sinks by name, for example { desk: { kind: 'slack', url: … } }")
    return [...forward]
  }
  if (forwardUrl !== undefined && Object.hasOwn(sinks, 'forward')) {
    problems.push('sinks.forward: INBOX_FORWARD_URL makes a sink of this name already; keep one of them')
  }
  return [...forward, ...Object.entries(sinks).filter(([name]) => forwardUrl === undefined || name !== 'forward')]
}

async function readSink(
  name: string,
  entry: unknown,
  sources: ReferenceSources,
  problems: string[],
): Promise<ReadSink | undefined> {
  const where = `sinks.${name}`
  const kind = kindOf(name, entry, problems)
  if (kind === undefined) return undefined
  const members = Object.entries(entry as object).filter(([member]) => member !== 'kind')
  const isCommon = ([member]: readonly [string, unknown]) => commonNames.includes(member)
  const common = commonOptions.safeParse(Object.fromEntries(members.filter(isCommon)))
  if (!common.success) problems.push(...problemsOf(common.error, where))
  const given = Object.fromEntries(members.filter((member) => !isCommon(member)))
  const resolved = await resolveReferences(given, sources, where)
  problems.push(...resolved.problems)
  const options = sinkKinds[kind].safeParse(resolved.value)
  if (!options.success && resolved.problems.length === 0) {
    const known = [...Object.keys(shapeOf(kind)), ...commonNames]
    problems.push(...problemsOf(options.error, where, known))
  }
  if (!common.success || !options.success) return undefined
  const { types, networks, where: conditions, ...rest } = common.data
  if (types === undefined && (networks ?? conditions) !== undefined) {
    problems.push(`${where}.types: expected together with networks or where: '*' for all types`)
  }
  const routes = types === undefined ? [] : [toRouteFilter({ types, networks, where: conditions })]
  const target = describeTarget(kind, resolved.shown as Record<string, unknown>)
  return { name, kind, options: options.data, common: rest, routes, target }
}

function kindOf(name: string, entry: unknown, problems: string[]): SinkKind | undefined {
  const where = `sinks.${name}`
  if (!namePattern.test(name)) {
    problems.push(
      `sinks: the name of a sink is 1 to 100 letters, digits, dots, dashes or underscores, not ${JSON.stringify(name)}`,
    )
  }
  const kinds = `there are: ${sinkKindNames.join(', ')}`
  if (typeof entry !== 'object' || entry === null || !('kind' in entry) || typeof entry.kind !== 'string') {
    problems.push(`${where}: expected an object with a \`kind\`; ${kinds}`)
    return undefined
  }
  if (isSinkKind(entry.kind)) return entry.kind
  problems.push(
    `${where}.kind: there is no kind ${JSON.stringify(entry.kind)}${nearest(entry.kind, sinkKindNames)}; ${kinds}`,
  )
  return undefined
}

/** Schemas that were refined or transformed hold the object inside. */
function shapeOf(kind: SinkKind): object {
  const schema: z.ZodType = sinkKinds[kind]
  const inner = schema instanceof z.ZodPipe ? schema.in : schema
  return inner instanceof z.ZodObject ? inner.shape : {}
}

function readRoutes(given: unknown, names: readonly string[], problems: string[]) {
  if (given === undefined) return []
  if (!Array.isArray(given)) {
    problems.push("routes: expected a list, for example [{ types: 'wallet.*', to: 'desk' }]")
    return []
  }
  return given.flatMap((value: unknown, index) => {
    const where = `routes[${index}]`
    const parsed = route.safeParse(value)
    if (!parsed.success) {
      problems.push(...problemsOf(parsed.error, where, Object.keys(route.shape)))
      return []
    }
    const { to, ...filter } = parsed.data
    for (const name of to.filter((one) => !names.includes(one))) {
      const known = names.length === 0 ? 'there are no sinks' : `there are: ${names.join(', ')}`
      problems.push(`${where}.to: there is no sink ${JSON.stringify(name)}${nearest(name, names)}; ${known}`)
    }
    return [{ to, filter: toRouteFilter(filter) }]
  })
}

/** What is allowed, but looks like a mistake. */
function findOddities({ name, routes }: ConfiguredSink): string[] {
  return routes.flatMap(({ types, networks = [], where }) => {
    const ofNetworks = networks
      .filter((network) => !networkIds.some((known) => known === network))
      .map((network) => `the network ${network}, which the service does not have${nearest(network, networkIds)}`)
    const ofTypes = types
      .filter((pattern) => documentedTypesOf(pattern).length === 0)
      .map((pattern) => `the type ${pattern}, which is not documented${nearest(pattern, eventTypes)}`)
    const fields = fieldsOf(types)
    const ofPaths = where
      .filter(({ path }) => fields !== undefined && path.startsWith('data.') && !fields.has(path.split('.')[1] ?? ''))
      .map(
        ({ path }) =>
          `${path}, which no documented event of ${types.join(', ')} has${nearest(
            path,
            [...(fields ?? [])].map((field) => `data.${field}`),
          )}`,
      )
    const ofTexts = where
      .filter(({ path, tests }) => isNumber(path, types) && Object.values(tests).flat().some(isText))
      .map(({ path }) => `${path} by text, and it is a number: no text is equal to one, more or less`)
    return [...ofTypes, ...ofNetworks, ...ofPaths, ...ofTexts].map((odd) => `sinks.${name}: a route asks for ${odd}`)
  })
}

/** The fields of documented types; undefined where one is not documented. */
function fieldsOf(types: readonly string[]): ReadonlySet<string> | undefined {
  const documented = types.map(documentedTypesOf)
  if (documented.some((found) => found.length === 0)) return undefined
  return new Set(documented.flat().flatMap((type) => Object.keys(eventSchemas[type].shape.data.shape)))
}

function documentedTypesOf(pattern: string) {
  return eventTypes.filter(
    (type) => pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )
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
