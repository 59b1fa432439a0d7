import { registerHooks } from 'node:module'
import type { SinkKind } from '../../../handlers/sinks/common/kind.ts'
import { siblingModule } from '../../base/sibling-module.ts'

/** The kinds of bundled sinks. Each is the file `handlers/sinks/<kind>.ts`. */
export const sinkKinds = [
  'forward',
  'slack',
  'discord',
  'telegram',
  'pagerduty',
  'email',
  'exec',
  'file',
  'sql',
  'nats',
  'redis',
  'kafka',
] as const

export type SinkKindName = (typeof sinkKinds)[number]

export function isSinkKind(name: string): name is SinkKindName {
  return sinkKinds.some((kind) => kind === name)
}

const folder = new URL('../../../handlers/sinks/', import.meta.url).href
/** Public names that kinds import, and their modules. `onchain-inbox` gives only the errors: the whole package takes 10 MB of memory. */
const publicNames: Readonly<Record<string, URL>> = {
  'onchain-inbox': siblingModule(import.meta.url, '../../base/errors'),
  'onchain-inbox/format': siblingModule(import.meta.url, '../../dispatch/format'),
  'onchain-inbox/schema': siblingModule(import.meta.url, '../../../schema/index'),
}
let hasHook = false

/** Loads a kind for its options. Works from source as well, where the package has no built files to import by name. */
export async function loadSinkKind(name: SinkKindName): Promise<SinkKind> {
  if (!hasHook) {
    hasHook = true
    registerHooks({
      resolve(specifier, context, next) {
        const url = context.parentURL?.startsWith(folder) === true ? publicNames[specifier] : undefined
        return url === undefined ? next(specifier, context) : { url: url.href, shortCircuit: true }
      },
    })
  }
  const file = siblingModule(import.meta.url, `../../../handlers/sinks/${name}`)
  return ((await import(file.href)) as { readonly default: SinkKind }).default
}
