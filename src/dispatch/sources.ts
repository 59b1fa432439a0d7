import { parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { sign } from '../signature/sign.ts'
import type { Secret } from '../signature/keys.ts'
import { siblingModule } from '../sibling-module.ts'
import type { ResolvedHandler } from './define.ts'
import { parseDefinition } from './parse-definition.ts'
import { loadHandlers } from './registry.ts'

/** Where handlers and sinks come from. */
export interface HandlerSources {
  /** The folder of the user's own; null: there is none. */
  readonly handlersDir: string | null
  /** Bundled sinks that are switched on. */
  readonly forward?: { readonly url: string; readonly signatureHeader: string }
  /** URLs of modules of this program, each with a handler. */
  readonly bundled?: readonly string[]
}

/** What of them one thread loads: all but some files of the folder, or one of these files alone. */
export type Selection = { readonly except: readonly string[] } | { readonly only: string }

export const everything: Selection = { except: [] }

/** What the settings say of it. */
export function sourcesOf(config: Pick<Config, 'handlersDir' | 'forwardUrl' | 'signatureHeader'>): HandlerSources {
  const { handlersDir, forwardUrl, signatureHeader } = config
  return { handlersDir, ...(forwardUrl !== undefined && { forward: { url: forwardUrl, signatureHeader } }) }
}

/** Loads all there is, or what is selected of it: see `loadHandlers` for what it throws. `secrets` is asked whenever something is to be signed. */
export async function loadSources(
  { handlersDir, forward, bundled: modules = [] }: HandlerSources,
  secrets: () => readonly Secret[],
  selection = everything,
): Promise<readonly ResolvedHandler[]> {
  const isAlone = 'only' in selection
  const sinks = forward === undefined || isAlone ? [] : [await loadForward(forward, secrets)]
  const bundled = isAlone ? [] : [...sinks, ...(await Promise.all(modules.map(loadBundled)))]
  const isSelected = (file: string) => (isAlone ? file === selection.only : !selection.except.includes(file))
  return handlersDir === null ? bundled : loadHandlers(handlersDir, bundled, isSelected)
}

async function loadBundled(url: string): Promise<ResolvedHandler> {
  const module = (await import(url)) as { readonly default?: unknown }
  const file = fileURLToPath(url)
  return parseDefinition(module.default, file, parse(file).name)
}

async function loadForward(
  settings: NonNullable<HandlerSources['forward']>,
  secrets: () => readonly Secret[],
): Promise<ResolvedHandler> {
  const file = siblingModule(import.meta.url, '../../handlers/sinks/forward')
  const { default: create } = (await import(file.href)) as { default: (options: object) => object }
  const signWith = (raw: Uint8Array, label: string) => {
    const all = secrets()
    const secret = all.find((known) => known.label === label) ?? all[0]
    if (secret === undefined) throw new Error('there is no webhook secret to sign with')
    return sign(raw, secret)
  }
  return parseDefinition(create({ ...settings, sign: signWith }), fileURLToPath(file), 'forward')
}
