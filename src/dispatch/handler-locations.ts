import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Secret } from '../signature/keys.ts'
import { parseDefinition } from './parse-definition.ts'
import { loadHandlers, refuseSameName } from './registry.ts'
import type { ResolvedHandler } from './resolved-handler.ts'
import type { SinkKind, SinkTools } from '../../handlers/sinks/common/kind.ts'
import type { ConfiguredSink } from '../config/sinks/load.ts'
import { siblingModule } from '../base/sibling-module.ts'
import { sign } from '../signature/sign.ts'
import type { SinkDefinition } from './define-sink.ts'
import { sourcesOf, toMatch, typesOf } from './route-match.ts'
import { nearest } from '../base/edit-distance.ts'
import { defaultSource } from '../inbox/port.ts'

/** Origins of handlers and sinks. */
export interface HandlerLocations {
  /** The user's handlers folder; null: none. */
  readonly handlersDir: string | null
  /** The sources of the settings; absent: unknown, and not checked. */
  readonly sources?: readonly KnownSource[]
  /** Bundled sinks that the settings configure. */
  readonly sinks?: BundledSinks
  /** URLs of modules of this program, each with one handler. */
  readonly bundled?: readonly string[]
}

/** Files that a thread loads: all except some, or a single one. */
export type Selection = { readonly except: readonly string[] } | { readonly only: string }

export const everything: Selection = { except: [] }

/** Locations according to the settings. */
export function locationsOf(
  config: Pick<Config, 'handlersDir' | 'sources' | 'sinks' | 'signatureHeader' | 'baseDir'>,
): HandlerLocations {
  const { handlersDir, sinks: configured, signatureHeader, baseDir } = config
  const sources = config.sources.map(({ settings: { name, provider } }) => ({ name, provider }))
  return { handlersDir, sources, ...(configured.length > 0 && { sinks: { configured, signatureHeader, baseDir } }) }
}

/** Locations without environment checks of sinks, for threads that are started again. */
export function withoutChecks(locations: HandlerLocations): HandlerLocations {
  return locations.sinks === undefined ? locations : { ...locations, sinks: { ...locations.sinks, isChecked: true } }
}

/** Loads all handlers, or the selected ones. Throws as `loadHandlers`. `secrets` is called for each signature. */
export async function loadAllHandlers(
  { handlersDir, sources, sinks, bundled: modules = [] }: HandlerLocations,
  secrets: () => readonly Secret[],
  selection = everything,
): Promise<readonly ResolvedHandler[]> {
  const isSingleFile = 'only' in selection
  const bundled = isSingleFile
    ? []
    : [...(await loadSinks(sinks, secrets)), ...(await Promise.all(modules.map(loadBundled)))]
  bundled.forEach((handler, index) => refuseSameName(bundled.slice(0, index), handler))
  const isSelected = (file: string) => (isSingleFile ? file === selection.only : !selection.except.includes(file))
  const handlers = handlersDir === null ? bundled : await loadHandlers(handlersDir, bundled, isSelected)
  const problems = sources === undefined ? [] : findSourceProblems(handlers, sources)
  if (problems.length > 0) throw new InboxError('handler_invalid', problems.join('\n'))
  return handlers
}

/** Throws one InboxError about all unusable sinks. */
async function loadSinks(
  sinks: BundledSinks | undefined,
  secrets: () => readonly Secret[],
): Promise<readonly ResolvedHandler[]> {
  if (sinks === undefined) return []
  const loaded = await Promise.allSettled(sinks.configured.map((sink) => loadBundledSink(sink, sinks, secrets)))
  const reasons = loaded.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []))
  const [first] = reasons
  if (reasons.length > 1 && reasons.every((reason) => reason instanceof InboxError)) {
    throw new InboxError('handler_invalid', reasons.map(messageOf).join('\n'), { cause: first })
  }
  if (reasons.length > 0) throw first
  return loaded.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

async function loadBundled(url: string): Promise<ResolvedHandler> {
  const module = (await import(url)) as { readonly default?: unknown }
  const file = fileURLToPath(url)
  return parseDefinition(module.default, file, parse(file).name)
}

/** Configured sinks and their context. Plain data, because it is sent between threads. */
export interface BundledSinks extends Pick<SinkTools, 'signatureHeader' | 'baseDir'> {
  readonly configured: readonly ConfiguredSink[]
  /** True: skip the environment checks. */
  readonly isChecked?: boolean
}

/**
 * Loads the module of one sink and creates it from the settings. `secrets` is called for each signature. Throws
 * InboxError `handler_invalid` if its kind doesn't support a setting, or if something that it needs is missing on this
 * machine.
 */
async function loadBundledSink(
  sink: ConfiguredSink,
  { signatureHeader, baseDir, isChecked = false }: BundledSinks,
  secrets: () => readonly Secret[],
): Promise<ResolvedHandler> {
  const { name, kind, options } = sink
  const file = siblingModule(import.meta.url, `../../handlers/sinks/${kind}`)
  const { default: sinkKind } = (await import(file.href)) as { readonly default: SinkKind }
  try {
    if (!isChecked) await sinkKind.check?.({ name, options }, { baseDir })
  } catch (error) {
    throw new InboxError('handler_invalid', messageOf(error), { cause: error })
  }
  const signWith = (raw: Uint8Array, label: string) => {
    const all = secrets()
    const secret = all.find((known) => known.label === label) ?? all[0]
    if (secret === undefined) throw new Error('no webhook secret to sign with')
    return sign(raw, secret)
  }
  const definition = sinkKind.create({ name, options }, { sign: signWith, signatureHeader, baseDir })
  return parseDefinition(underSettings(definition, sink), `the settings (sinks.${name})`, name)
}

/** Applies the settings on top of the kind's own definition. */
function underSettings(definition: Readonly<SinkDefinition>, { name, kind, common, routes }: ConfiguredSink): object {
  const { retry, breaker, ...others } = common
  if (definition.batch === undefined && others.batch !== undefined && others.batch > 1) {
    const message = `sinks.${name}.batch: a ${kind} sink sends one item at a time; remove \`batch\``
    throw new InboxError('handler_invalid', message)
  }
  if (others.onDead === 'hold' && (others.order ?? definition.order) === 'none') {
    const message = `sinks.${name}.onDead: 'hold' requires order: 'key'`
    throw new InboxError('handler_invalid', message)
  }
  const kindMatch = definition.match?.bind(definition)
  const routeMatch = toMatch(routes)
  const match: SinkDefinition['match'] =
    kindMatch && routeMatch ? (event) => kindMatch(event) && routeMatch(event) : (kindMatch ?? routeMatch)
  return {
    ...definition,
    ...others,
    ...(routes.length > 0 && { type: typesOf(routes), source: sourcesOf(routes) }),
    ...(match && { match }),
    ...(retry && { retry: typeof definition.retry === 'object' ? { ...definition.retry, ...retry } : retry }),
    ...(breaker !== undefined && { breaker: breaker === false ? undefined : { ...definition.breaker, ...breaker } }),
  }
}

/** A source of the settings. */
export interface KnownSource {
  readonly name: string
  /** Null: the settings describe the sender themselves. */
  readonly provider: string | null
}

/** One line per handler or sink with an unknown source, or with another provider than that of its source. */
export function findSourceProblems(
  handlers: readonly Pick<ResolvedHandler, 'file' | 'sources' | 'provider'>[],
  known: readonly KnownSource[],
): string[] {
  const names = [defaultSource, '*', ...known.map(({ name }) => name)]
  return handlers.flatMap(({ file, sources = [defaultSource], provider }) => [
    ...sources
      .filter((name) => !names.includes(name))
      .map((name) => `${file}: source must be one of ${names.join(', ')} (got "${name}")${nearest(name, names)}`),
    ...sources
      .filter((name) => provider !== undefined && names.includes(name) && providerOf(name, known) !== provider)
      .map(
        (name) =>
          `${file}: provider must be that of the source ${name}: ${providerOf(name, known) ?? 'none'} (got "${provider}")`,
      ),
  ])
}

function providerOf(source: string, known: readonly KnownSource[]): string | null {
  return known.find(({ name }) => name === source)?.provider ?? null
}
