import { z } from 'zod'
import { nearest } from '../../base/edit-distance.ts'
import { isSinkKind, loadSinkKind, sinkKinds, type SinkKindName } from './kinds.ts'
import { findConfigWarnings } from './config-warnings.ts'
import { describeRoutes, route, toRouteFilter, type RouteFilter, filterOptions } from './routes.ts'
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { maxTimerMs } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { isObject } from '../../base/json-body.ts'
import { readSecretFile } from '../../base/secret-file.ts'
import { readOrigin } from '../../sources/secrets.ts'
import type { SecretOrigin } from '../../sources/settings.ts'

/** A sink of the settings, checked and complete. Plain data, because it is sent between threads. */
export interface ConfiguredSink {
  readonly name: string
  readonly kind: SinkKindName
  /** Options of its kind. May hold secrets. */
  readonly options: unknown
  readonly common: CommonOptions
  /** Events that go directly to the sink, without a handler. */
  readonly routes: readonly RouteFilter[]
  /** Target and routes, without secrets. */
  readonly description: string
}

export interface SinkSettings {
  readonly sinks: unknown
  readonly routes: unknown
  readonly forwardUrl: string | undefined
  /** Names of sinks that get the warnings of the inbox. */
  readonly notify: readonly string[]
  /** True if a setting that defines sinks is invalid: then the names of all sinks are unknown. */
  readonly isIncomplete: boolean
  /** Absolute path of the inbox's own database file; undefined: none. */
  readonly databaseFile: string | undefined
  readonly env: NodeJS.ProcessEnv
  /** Makes a path absolute. */
  readonly at: (path: string) => string
}

export interface LoadedSinks {
  readonly sinks: readonly ConfiguredSink[]
  readonly problems: readonly string[]
  readonly warnings: readonly string[]
}

type ReadSink = Omit<ConfiguredSink, 'description'> & { readonly target: string }

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/

/** Reads `sinks`, `routes` and INBOX_FORWARD_URL. Returns all problems; none shows the value of an option. */
export async function loadSinks(settings: SinkSettings): Promise<LoadedSinks> {
  const { notify } = settings
  const problems: string[] = []
  const entries = entriesOf(settings, problems)
  const read = await Promise.all(
    entries.map(async ([name, entry]) => {
      const found: string[] = []
      return { sink: await readSink(name, entry, settings, found), found }
    }),
  )
  problems.push(...read.flatMap(({ found }) => found))
  const isKnown = !settings.isIncomplete && isObject(settings.sinks ?? {})
  const names = isKnown ? entries.map(([name]) => name) : undefined
  const routes = readRoutes(settings.routes, names, problems)
  problems.push(...unknownSinks(notify, names).map((problem) => `notify: ${problem}`))
  const sinks = read.flatMap(({ sink }): ConfiguredSink[] => {
    if (sink === undefined) return []
    const { target, ...rest } = sink
    const all = [
      ...sink.routes,
      ...routes.filter(({ to }) => to.includes(sink.name)).map(({ filter }) => filter),
      ...(notify.includes(sink.name) ? [internalEvents] : []),
    ]
    const to = target === '' ? '' : ` to ${target}`
    return [{ ...rest, routes: all, description: `${sink.kind}${to}, gets ${describeRoutes(all)}` }]
  })
  return { sinks, problems, warnings: sinks.flatMap(findConfigWarnings) }
}

function entriesOf({ sinks = {}, forwardUrl }: SinkSettings, problems: string[]): (readonly [string, unknown])[] {
  const isValid = isObject(sinks)
  if (!isValid) {
    problems.push("sinks: expected an object of sinks by name, for example { desk: { kind: 'slack', url: … } }")
  }
  const entries = isValid ? Object.entries(sinks) : []
  if (forwardUrl === undefined) return entries
  const others = entries.filter(([name]) => name !== 'forward')
  if (others.length < entries.length) {
    problems.push('sinks.forward: INBOX_FORWARD_URL creates a sink of this name; keep one of them')
  }
  return [['forward', { kind: 'forward', url: forwardUrl, types: '*' }], ...others]
}

async function readSink(
  name: string,
  entry: unknown,
  settings: SinkSettings,
  problems: string[],
): Promise<ReadSink | undefined> {
  const where = `sinks.${name}`
  const kind = kindOf(name, entry, problems)
  if (kind === undefined) return undefined
  const sinkKind = await loadSinkKind(kind)
  const members = Object.entries(entry as object).filter(([member]) => member !== 'kind')
  const isCommon = ([member]: readonly [string, unknown]) => commonNames.includes(member)
  const common = commonOptions.safeParse(Object.fromEntries(members.filter(isCommon)))
  if (!common.success) problems.push(...problemsOf(common.error, where))
  const unresolvedOptions = Object.fromEntries(members.filter((member) => !isCommon(member)))
  const referenceProblems: string[] = []
  const resolved = await resolveReferences(unresolvedOptions, where, settings, referenceProblems)
  problems.push(...referenceProblems)
  const options = sinkKind.options.safeParse(resolved.value)
  if (!options.success && referenceProblems.length === 0) {
    const [first = '', ...others] = problemsOf(options.error, where, [
      ...Object.keys(shapeOf(sinkKind.options)),
      ...commonNames,
    ])
    problems.push(`${first}; for example ${sinkKind.example}`, ...others)
  }
  if (!common.success || !options.success) return undefined
  const file = sinkKind.file?.(options.data)
  const { databaseFile } = settings
  if (file !== undefined && databaseFile !== undefined && realPath(settings.at(file)) === realPath(databaseFile)) {
    const option = kind === 'sql' ? 'url' : 'path'
    problems.push(`${where}.${option}: this is the database file of the inbox; expected another file`)
  }
  const { types, source, networks, where: conditions, ...rest } = common.data
  if (types === undefined && (source ?? networks ?? conditions) !== undefined) {
    problems.push(`${where}.types: expected together with source, networks or where: '*' for all types`)
  }
  const routes = types === undefined ? [] : [toRouteFilter({ types, source, networks, where: conditions })]
  const target = sinkKind.target(resolved.shown as Record<string, unknown>)
  return { name, kind, options: options.data, common: rest, routes, target }
}

function kindOf(name: string, entry: unknown, problems: string[]): SinkKindName | undefined {
  const where = `sinks.${name}`
  if (!namePattern.test(name)) {
    problems.push(
      `sinks: the name of a sink is 1 to 100 letters, digits, dots, dashes or underscores, not ${JSON.stringify(name)}`,
    )
  }
  const kinds = `known kinds: ${sinkKinds.join(', ')}`
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

/** The members of an object schema, also of a transformed one. */
function shapeOf(schema: z.ZodType): object {
  const inner = schema instanceof z.ZodPipe ? schema.in : schema
  return inner instanceof z.ZodObject ? inner.shape : {}
}

function readRoutes(entries: unknown, names: readonly string[] | undefined, problems: string[]) {
  if (entries === undefined) return []
  if (!Array.isArray(entries)) {
    problems.push("routes: expected a list, for example [{ types: 'wallet.*', to: 'desk' }]")
    return []
  }
  return entries.flatMap((value: unknown, index) => {
    const where = `routes[${index}]`
    const parsed = route.safeParse(value)
    if (!parsed.success) {
      problems.push(...problemsOf(parsed.error, where, Object.keys(route.shape)))
      return []
    }
    const { to, ...filter } = parsed.data
    problems.push(...unknownSinks(to, names).map((problem) => `${where}.to: ${problem}`))
    return [{ to, filter: toRouteFilter(filter) }]
  })
}

/** Resolves symbolic links in the part of the path that exists. */
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

/** Options of all kinds. Each kind has its own defaults. */
export type CommonOptions = z.output<typeof common>

const commonOptions = common.extend(filterOptions)

const commonNames: readonly string[] = Object.keys(commonOptions.shape)

/** Prefix of internal event types. */
const internalPrefix = 'inbox.'

/** The route to a sink that `notify` names. */
const internalEvents: RouteFilter = { types: [`${internalPrefix}*`], where: [] }

/** True if a pattern of a route matches internal events only. */
export function isInternalPattern(pattern: string): boolean {
  return pattern.startsWith(internalPrefix)
}

/** One line per unknown name; none if the known `names` are undefined. */
function unknownSinks(targets: readonly string[], names: readonly string[] | undefined): string[] {
  if (names === undefined) return []
  const known = names.length === 0 ? 'there are no sinks' : `known sinks: ${names.join(', ')}`
  return targets
    .filter((name) => !names.includes(name))
    .map((name) => `there is no sink ${JSON.stringify(name)}${nearest(name, names)}; ${known}`)
}

/** Problems of an entry: place and expectation. zod's messages don't quote values. `known`: names of all options. */
function problemsOf(error: z.ZodError, where: string, known: readonly string[] = []): string[] {
  return [...new Set(error.issues.flatMap((issue) => describeIssue(issue, where, known)))]
}

function describeIssue(issue: z.core.$ZodIssue, where: string, known: readonly string[]): string[] {
  const place = [where, ...issue.path.map(String)].join('.')
  if (issue.code === 'unrecognized_keys') {
    const options = issue.path.length === 0 ? known : []
    const others = options.length === 0 ? '' : `; known options: ${options.join(', ')}`
    return issue.keys.map((key) => `${place}: unknown option \`${key}\`${nearest(key, options)}${others}`)
  }
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => `${place}: ${message}`)
  if (isMissing(issue)) return [`${place} is required`]
  if (issue.code === 'invalid_union' && issue.message === 'Invalid input') {
    const inner = issue.errors.flat().map(ruleOf)
    return [`${place}: ${[...new Set(inner)].join(', or ')}`]
  }
  return [`${place}: ${ruleOf(issue)}`]
}

function isMissing(issue: z.core.$ZodIssue): boolean {
  if (issue.code === 'invalid_union') return issue.errors.length > 0 && issue.errors.flat().every(isMissing)
  return issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
}

function ruleOf(issue: z.core.$ZodIssue): string {
  // A custom message of a kind is better than a description of its limit.
  const isDefault = issue.message.startsWith('Too ')
  const unit = issue.code === 'too_small' || issue.code === 'too_big' ? (units[issue.origin] ?? '') : ''
  if (isDefault && issue.code === 'too_small') return `expected at least ${issue.minimum}${unit}`
  if (isDefault && issue.code === 'too_big') return `expected at most ${issue.maximum}${unit}`
  return issue.message.replace(/^Invalid (?:input|option): /, '')
}

const units: Readonly<Record<string, string>> = { string: ' characters', array: ' values' }

interface Resolved {
  readonly value: unknown
  /** The value with the names of references in place of their texts. */
  readonly shown: unknown
}

/**
 * Replaces references by their texts: `{ env: 'NAME' }` by the variable, `{ file: 'path' }` by the file's content, both
 * trimmed. Adds to `problems`, without the texts.
 */
async function resolveReferences(
  value: unknown,
  path: string,
  { env, at }: Pick<SinkSettings, 'env' | 'at'>,
  problems: string[],
): Promise<Resolved> {
  if (typeof value !== 'object' || value === null) return { value, shown: value }
  const entries = Object.entries(value)
  const [[name, target] = [], second] = entries
  if (
    !Array.isArray(value) &&
    second === undefined &&
    typeof target === 'string' &&
    /^(?:env|file)$/.test(name ?? '')
  ) {
    const shown = name === 'env' ? `$${target}` : `file ${at(target)}`
    const reader = { env, readFile: (file: string) => readSecretFile(at(file)) }
    const text = await readOrigin(path, value as SecretOrigin, reader).catch((error: unknown) => {
      problems.push(messageOf(error))
    })
    return { value: text, shown }
  }
  const parts: (readonly [string, Resolved])[] = []
  for (const [member, part] of entries) {
    parts.push([member, await resolveReferences(part, `${path}.${member}`, { env, at }, problems)])
  }
  const joined = (pick: (part: Resolved) => unknown) =>
    Array.isArray(value)
      ? parts.map(([, part]) => pick(part))
      : Object.fromEntries(parts.map(([member, part]) => [member, pick(part)]))
  return { value: joined((part) => part.value), shown: joined((part) => part.shown) }
}
