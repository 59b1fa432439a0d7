import { z } from 'zod'
import { nearest } from '../../base/edit-distance.ts'
import { isSinkKind, loadSinkKind, sinkKinds, type SinkKindName } from './kinds.ts'
import { findConfigWarnings } from './config-warnings.ts'
import { describeRoutes, route, toRouteFilter, type RouteFilter, filterOptions } from './routes.ts'
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Example } from '../../../handlers/sinks/common/kind.ts'
import { maxTimerMs } from '../values.ts'
import { messageOf } from '../../base/errors.ts'
import { readSecretFile } from '../../base/secret-file.ts'

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
  problems.push(...unknownSinks(notify, names).map((problem) => `notify: ${problem}`))
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
    problems.push(...unknownSinks(to, names).map((problem) => `${where}.to: ${problem}`))
    return [{ to, filter: toRouteFilter(filter) }]
  })
}

/** True if both paths lead to the same file, which may not exist yet. Both are absolute. */
function isSameFile(path: string, other: string): boolean {
  return realPath(path) === realPath(other)
}

/** Without symbolic links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path))
  }
}

const count = z.int().min(1)
const milliseconds = z.int().min(1).max(maxTimerMs)

const common = z
  .strictObject({
    order: z.enum(['key', 'none']),
    concurrency: count.max(10_000),
    rate: z.number().positive().max(100_000),
    timeoutMs: milliseconds,
    retry: z.strictObject({ attempts: count, baseMs: milliseconds, capMs: milliseconds }).partial(),
    onDead: z.enum(['skip', 'hold']),
    batch: count.max(10_000),
    breaker: z.union([
      z.literal(false),
      z.strictObject({ failures: count.max(1_000), cooldownMs: milliseconds, capMs: milliseconds }).partial(),
    ]),
  })
  .partial()

/** What an entry of `sinks` may say whatever its kind is: where it says nothing, the kind decides. */
export type CommonOptions = z.output<typeof common>

/** The same together with a route of its own. */
const commonOptions = common.extend(filterOptions)

const commonNames: readonly string[] = Object.keys(commonOptions.shape)

const commonExamples: Readonly<Record<string, Example>> = {
  concurrency: ['a whole number', '4'],
  rate: ['a number of items per second', '10'],
  timeoutMs: ['milliseconds', '30000'],
  retry: ['an object of numbers', '{ attempts: 50, baseMs: 1000, capMs: 600000 }'],
  batch: ['a whole number', '100'],
  breaker: ['false, or an object of numbers', '{ failures: 5, cooldownMs: 5000, capMs: 300000 }'],
  where: ['an object of conditions by path', "{ 'data.amount_usd': { gte: 1000 } }"],
}

/** What the types of the program's own events begin with: see `internalTypePrefix` of the inbox. */
const ownPrefix = 'inbox.'

/** The route to a sink that `notify` names. */
const ownEvents: RouteFilter = { types: [`${ownPrefix}*`], where: [] }

/** Whether a pattern of a route stands for own events, and so for no others. */
export function isOwnPattern(pattern: string): boolean {
  return pattern.startsWith(ownPrefix)
}

/** A line for each that is not among `names`. Undefined `names`: they are not known, and all will do. */
function unknownSinks(asked: readonly string[], names: readonly string[] | undefined): string[] {
  if (names === undefined) return []
  const known = names.length === 0 ? 'there are no sinks' : `there are: ${names.join(', ')}`
  return asked
    .filter((name) => !names.includes(name))
    .map((name) => `there is no sink ${JSON.stringify(name)}${nearest(name, names)}; ${known}`)
}

type Examples = Readonly<Record<string, Example>>

/** What is wrong with an entry: `place: what was expected`. zod's own words do not quote values. */
function problemsOf(
  error: z.ZodError,
  where: string,
  { known = [], examples = {} }: { readonly known?: readonly string[]; readonly examples?: Examples } = {},
): string[] {
  const lines = error.issues.flatMap((issue) => {
    const [option, ...deeper] = issue.path
    const name = String(option)
    const found = Object.hasOwn(examples, name) ? examples[name] : undefined
    if (found === undefined || issue.code === 'unrecognized_keys' || issue.code === 'invalid_key')
      return describe(issue, where, known)
    const [what, example] = found
    const told =
      deeper.length === 0 && isRaw(issue)
        ? [`${where}.${String(option)}: expected ${what}`]
        : describe(issue, where, known)
    const missing = deeper.length === 0 && isMissing(issue) ? ', it is missing' : ''
    return told.map((line) => `${line}${missing}; for example ${String(option)}: ${example}`)
  })
  return [...new Set(lines)]
}

/** Whether there is nothing to say of it but zod's own words. */
function isRaw({ code, message }: z.core.$ZodIssue): boolean {
  return code !== 'too_small' && code !== 'too_big' && /^(?:Invalid |that is no )/.test(message)
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  return issue.message.endsWith('received undefined') || ('input' in issue && issue.input === undefined)
}

function describe(issue: z.core.$ZodIssue, where: string, known: readonly string[]): string[] {
  const place = [where, ...issue.path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const isTop = issue.path.length === 0 && known.length > 0
      return `${place}: unknown option \`${key}\`${isTop ? `${nearest(key, known)}; known are ${known.join(', ')}` : ''}`
    })
  }
  // The issues of a key are about the key itself.
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${place}: ${message}`)
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const all = issue.errors.flat().map(({ message }) => message)
    const hints = all.filter((message) => !/^(?:Invalid|Too) /.test(message))
    const told = hints.length > 0 ? hints : all
    return [`${place}: ${[...new Set(told)].join(', or ')}`]
  }
  return [`${place}: ${issue.message}`]
}

export interface ReferenceSources {
  readonly env: NodeJS.ProcessEnv
  /** Makes a path absolute. */
  readonly at: (path: string) => string
}

export interface Resolved {
  /** The value with texts in the place of references. */
  readonly value: unknown
  /** The value with the names of what is referred to in their place: fit to be shown. */
  readonly shown: unknown
  /** `path: what is wrong`. */
  readonly problems: readonly string[]
}

/**
 * Puts texts where a value refers to one: `{ env: 'NAME' }` is that variable, `{ file: 'path' }` what that file holds, both
 * without white space around them. Never throws; nothing of what is referred to is in the problems.
 */
async function resolveReferences(value: unknown, sources: ReferenceSources, path: string): Promise<Resolved> {
  const reference = toReference(value)
  if (reference !== undefined) return resolveOne(reference, sources, path)
  if (typeof value !== 'object' || value === null) return { value, shown: value, problems: [] }
  const entries = await Promise.all(
    Object.entries(value).map(
      async ([name, part]) => [name, await resolveReferences(part, sources, `${path}.${name}`)] as const,
    ),
  )
  const problems = entries.flatMap(([, part]) => part.problems)
  const isList = Array.isArray(value)
  const joined = (pick: (part: Resolved) => unknown) =>
    isList
      ? entries.map(([, part]) => pick(part))
      : Object.fromEntries(entries.map(([name, part]) => [name, pick(part)]))
  return { value: joined((part) => part.value), shown: joined((part) => part.shown), problems }
}

type Reference = { readonly env: string } | { readonly file: string }

function toReference(value: unknown): Reference | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const [[name, target] = [], second] = Object.entries(value)
  if (second !== undefined || typeof target !== 'string') return undefined
  if (name === 'env') return { env: target }
  return name === 'file' ? { file: target } : undefined
}

async function resolveOne(reference: Reference, { env, at }: ReferenceSources, path: string): Promise<Resolved> {
  if ('env' in reference) {
    const text = env[reference.env]?.trim()
    const shown = `$${reference.env}`
    if (text !== undefined && text !== '') return { value: text, shown, problems: [] }
    return { value: undefined, shown, problems: [`${path}: the environment variable ${reference.env} is not set`] }
  }
  const file = at(reference.file)
  try {
    return { value: await readSecretFile(file), shown: `file ${file}`, problems: [] }
  } catch (error) {
    return { value: undefined, shown: `file ${file}`, problems: [`${path}: ${messageOf(error)}`] }
  }
}
