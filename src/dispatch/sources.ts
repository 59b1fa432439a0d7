import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Secret } from '../signature/keys.ts'
import { loadBundledSink, type BundledSinks } from './bundled-sinks.ts'
import { parseDefinition } from './parse-definition.ts'
import { loadHandlers, refuseSameName } from './registry.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** Where handlers and sinks come from. */
export interface HandlerSources {
  /** The folder of the user's own; null: there is none. */
  readonly handlersDir: string | null
  /** Sinks of this program that the settings ask for. */
  readonly sinks?: BundledSinks
  /** URLs of modules of this program, each with a handler. */
  readonly bundled?: readonly string[]
}

/** What of them one thread loads: all but some files of the folder, or one of these files alone. */
export type Selection = { readonly except: readonly string[] } | { readonly only: string }

export const everything: Selection = { except: [] }

/** What the settings say of it. */
export function sourcesOf(
  config: Pick<Config, 'handlersDir' | 'sinks' | 'signatureHeader' | 'baseDir'>,
): HandlerSources {
  const { handlersDir, sinks: configured, signatureHeader, baseDir } = config
  return { handlersDir, ...(configured.length > 0 && { sinks: { configured, signatureHeader, baseDir } }) }
}

/** The same, for threads that are started again: what sinks need on this machine is not looked for. */
export function withoutChecks(sources: HandlerSources): HandlerSources {
  return sources.sinks === undefined ? sources : { ...sources, sinks: { ...sources.sinks, isChecked: true } }
}

/** Loads all there is, or what is selected of it: see `loadHandlers` for what it throws. `secrets` is asked whenever something is to be signed. */
export async function loadSources(
  { handlersDir, sinks, bundled: modules = [] }: HandlerSources,
  secrets: () => readonly Secret[],
  selection = everything,
): Promise<readonly ResolvedHandler[]> {
  const isAlone = 'only' in selection
  const bundled = isAlone
    ? []
    : [...(await loadSinks(sinks, secrets)), ...(await Promise.all(modules.map(loadBundled)))]
  bundled.forEach((handler, index) => refuseSameName(bundled.slice(0, index), handler))
  const isSelected = (file: string) => (isAlone ? file === selection.only : !selection.except.includes(file))
  return handlersDir === null ? bundled : loadHandlers(handlersDir, bundled, isSelected)
}

/** Throws one InboxError about all that cannot be used. */
async function loadSinks(
  sinks: BundledSinks | undefined,
  secrets: () => readonly Secret[],
): Promise<readonly ResolvedHandler[]> {
  if (sinks === undefined) return []
  const loaded = await Promise.allSettled(sinks.configured.map((sink) => loadBundledSink(sink, sinks, secrets)))
  const reasons = loaded.flatMap((one): unknown[] => (one.status === 'rejected' ? [one.reason] : []))
  const [first] = reasons
  if (reasons.length > 1 && reasons.every((reason) => reason instanceof InboxError)) {
    throw new InboxError('handler_invalid', reasons.map(messageOf).join('\n'), { cause: first })
  }
  if (reasons.length > 0) throw first
  return loaded.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}

async function loadBundled(url: string): Promise<ResolvedHandler> {
  const module = (await import(url)) as { readonly default?: unknown }
  const file = fileURLToPath(url)
  return parseDefinition(module.default, file, parse(file).name)
}
