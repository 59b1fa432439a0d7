import { z } from 'zod'
import { nearest } from '../nearest.ts'
import { commonExamples, commonNames, commonOptions, type CommonOptions } from './common.ts'
import { isSinkKind, loadSinkKind, sinkKinds, type SinkKindName } from './kinds.ts'
import { ownEvents, problemsOfNotify } from './notify.ts'
import { findConfigWarnings } from './config-warnings.ts'
import { isSameFile } from './own-database.ts'
import { problemsOf } from './problems.ts'
import { resolveReferences, type ReferenceSources } from './references.ts'
import { describeRoutes, route, toRouteFilter, type RouteFilter } from './routes.ts'

/** A sink of the settings, checked and complete. Plain data: it goes from thread to thread. */
export interface ConfiguredSink {
  readonly name: string
  readonly kind: SinkKindName
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
  /** Names of sinks that get the program's own warnings. */
  readonly notify?: readonly string[]
  /** There were more sinks, which could not be read: which names there are is not known. */
  readonly isIncomplete?: boolean
  /** The file that the inbox itself is kept in, absolute. */
  readonly databaseFile?: string | undefined
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
  const isKnown = settings.isIncomplete !== true && isObject(settings.sinks ?? {})
  const names = isKnown ? entries.map(([name]) => name) : undefined
  const routes = readRoutes(settings.routes, names, problems)
  const { notify = [] } = settings
  problems.push(...problemsOfNotify(notify, names))
  const complete = read
    .map(({ sink }) => sink)
    .filter((sink) => sink !== undefined)
    .map(({ target, ...sink }): ConfiguredSink => {
      const own = [
        ...sink.routes,
        ...routes.filter(({ to }) => to.includes(sink.name)).map(({ filter }) => filter),
        ...(notify.includes(sink.name) ? [ownEvents] : []),
      ]
      const to = target === '' ? '' : ` to ${target}`
      return { ...sink, routes: own, description: `${sink.kind}${to}, gets ${describeRoutes(own)}` }
    })
  return { sinks: complete, problems, warnings: complete.flatMap(findConfigWarnings) }
}

function entriesOf({ sinks = {}, forwardUrl }: SinkSettings, problems: string[]): (readonly [string, unknown])[] {
  const forward =
    forwardUrl === undefined ? [] : ([['forward', { kind: 'forward', url: forwardUrl, types: '*' }]] as const)
  if (!isObject(sinks)) {
    problems.push("sinks: expected an object of sinks by name, for example { desk: { kind: 'slack', url: … } }")
    return [...forward]
  }
  if (forwardUrl !== undefined && Object.hasOwn(sinks, 'forward')) {
    problems.push('sinks.forward: INBOX_FORWARD_URL makes a sink of this name already; keep one of them')
  }
  return [...forward, ...Object.entries(sinks).filter(([name]) => forwardUrl === undefined || name !== 'forward')]
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

async function readSink(
  name: string,
  entry: unknown,
  sources: Pick<SinkSettings, 'databaseFile'> & ReferenceSources,
  problems: string[],
): Promise<ReadSink | undefined> {
  const where = `sinks.${name}`
  const kind = kindOf(name, entry, problems)
  if (kind === undefined) return undefined
  const own = await loadSinkKind(kind)
  const examples = { ...commonExamples, ...own.examples }
  const members = Object.entries(entry as object).filter(([member]) => member !== 'kind')
  const isCommon = ([member]: readonly [string, unknown]) => commonNames.includes(member)
  const common = commonOptions.safeParse(Object.fromEntries(members.filter(isCommon)))
  if (!common.success) problems.push(...problemsOf(common.error, where, { examples }))
  const given = Object.fromEntries(members.filter((member) => !isCommon(member)))
  const resolved = await resolveReferences(given, sources, where)
  problems.push(...resolved.problems)
  const options = own.options.safeParse(resolved.value, { reportInput: true })
  if (!options.success && resolved.problems.length === 0) {
    const known = [...Object.keys(shapeOf(own.options)), ...commonNames]
    problems.push(...problemsOf(options.error, where, { known, examples }))
  }
  if (!common.success || !options.success) return undefined
  const file = own.file?.(options.data)
  const { databaseFile } = sources
  if (file !== undefined && databaseFile !== undefined && isSameFile(sources.at(file), databaseFile)) {
    const option = kind === 'sql' ? 'url' : 'path'
    problems.push(`${where}.${option}: that is the file in which the inbox itself is kept; expected another file`)
  }
  const { types, networks, where: conditions, ...rest } = common.data
  if (types === undefined && (networks ?? conditions) !== undefined) {
    problems.push(`${where}.types: expected together with networks or where: '*' for all types`)
  }
  const routes = types === undefined ? [] : [toRouteFilter({ types, networks, where: conditions })]
  const target = own.target(resolved.shown as Record<string, unknown>)
  return { name, kind, options: options.data, common: rest, routes, target }
}

function kindOf(name: string, entry: unknown, problems: string[]): SinkKindName | undefined {
  const where = `sinks.${name}`
  if (!namePattern.test(name)) {
    problems.push(
      `sinks: the name of a sink is 1 to 100 letters, digits, dots, dashes or underscores, not ${JSON.stringify(name)}`,
    )
  }
  const kinds = `there are: ${sinkKinds.join(', ')}`
  if (typeof entry !== 'object' || entry === null || !('kind' in entry) || typeof entry.kind !== 'string') {
    problems.push(`${where}: expected an object with a \`kind\`; ${kinds}`)
    return undefined
  }
  if (isSinkKind(entry.kind)) return entry.kind
  problems.push(
    `${where}.kind: there is no kind ${JSON.stringify(entry.kind)}${nearest(entry.kind, sinkKinds)}; ${kinds}`,
  )
  return undefined
}

/** Schemas that were transformed hold the object inside. */
function shapeOf(schema: z.ZodType): object {
  const inner = schema instanceof z.ZodPipe ? schema.in : schema
  return inner instanceof z.ZodObject ? inner.shape : {}
}

/** Undefined `names`: they are not known, and all will do. */
function readRoutes(given: unknown, names: readonly string[] | undefined, problems: string[]) {
  if (given === undefined) return []
  if (!Array.isArray(given)) {
    problems.push("routes: expected a list, for example [{ types: 'wallet.*', to: 'desk' }]")
    return []
  }
  return given.flatMap((value: unknown, index) => {
    const where = `routes[${index}]`
    const parsed = route.safeParse(value)
    if (!parsed.success) {
      problems.push(...problemsOf(parsed.error, where, { known: Object.keys(route.shape) }))
      return []
    }
    const { to, ...filter } = parsed.data
    for (const name of to) {
      if (names === undefined || names.includes(name)) continue
      const known = names.length === 0 ? 'there are no sinks' : `there are: ${names.join(', ')}`
      problems.push(`${where}.to: there is no sink ${JSON.stringify(name)}${nearest(name, names)}; ${known}`)
    }
    return [{ to, filter: toRouteFilter(filter) }]
  })
}
