import type { SinkKind, SinkTools } from '../../handlers/sinks/common/kind.ts'
import type { ConfiguredSink } from '../config/sinks/load.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { siblingModule } from '../base/sibling-module.ts'
import type { Secret } from '../signature/keys.ts'
import { sign } from '../signature/sign.ts'
import type { SinkDefinition } from './define-sink.ts'
import { parseDefinition } from './parse-definition.ts'
import { toMatch, typesOf } from './route-match.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** The sinks of the settings, and what they are lent. Plain data: it goes from thread to thread. */
export interface BundledSinks extends Pick<SinkTools, 'signatureHeader' | 'baseDir'> {
  readonly configured: readonly ConfiguredSink[]
  /** What they need on this machine was found already. */
  readonly isChecked?: boolean
}

/**
 * Loads the module of one sink and makes it as the settings say. `secrets` is asked whenever something is to be signed. Throws
 * InboxError `handler_invalid` where the settings ask for what its kind cannot do, or where something that it needs is missing on
 * this machine.
 */
export async function loadBundledSink(
  sink: ConfiguredSink,
  { signatureHeader, baseDir, isChecked = false }: BundledSinks,
  secrets: () => readonly Secret[],
): Promise<ResolvedHandler> {
  const { name, kind, options } = sink
  const file = siblingModule(import.meta.url, `../../handlers/sinks/${kind}`)
  const { default: own } = (await import(file.href)) as { readonly default: SinkKind }
  try {
    if (!isChecked) await own.check?.({ name, options }, { baseDir })
  } catch (error) {
    throw new InboxError('handler_invalid', messageOf(error), { cause: error })
  }
  const signWith = (raw: Uint8Array, label: string) => {
    const all = secrets()
    const secret = all.find((known) => known.label === label) ?? all[0]
    if (secret === undefined) throw new Error('there is no webhook secret to sign with')
    return sign(raw, secret)
  }
  const definition = own.create({ name, options }, { sign: signWith, signatureHeader, baseDir })
  return parseDefinition(underSettings(definition, sink), `the settings (sinks.${name})`, name)
}

/** What a kind says of itself, with what the settings say laid over it. */
function underSettings(definition: Readonly<SinkDefinition>, { name, kind, common, routes }: ConfiguredSink): object {
  const { retry, breaker, ...others } = common
  if (definition.batch === undefined && others.batch !== undefined && others.batch > 1) {
    const message = `sinks.${name}.batch: a sink of the kind ${kind} sends one item at a time; leave \`batch\` out`
    throw new InboxError('handler_invalid', message)
  }
  if (others.onDead === 'hold' && (others.order ?? definition.order) === 'none') {
    const message = `sinks.${name}.onDead: 'hold' stops the items of a key, and there is no key with order 'none'; say order: 'key' too`
    throw new InboxError('handler_invalid', message)
  }
  const own = definition.match?.bind(definition)
  const routed = toMatch(routes)
  const match: SinkDefinition['match'] = own && routed ? (event) => own(event) && routed(event) : (own ?? routed)
  return {
    ...definition,
    ...others,
    ...(routes.length > 0 && { type: typesOf(routes) }),
    ...(match && { match }),
    ...(retry && { retry: typeof definition.retry === 'object' ? { ...definition.retry, ...retry } : retry }),
    ...(breaker !== undefined && { breaker: breaker === false ? undefined : { ...definition.breaker, ...breaker } }),
  }
}
