import { createHash } from 'node:crypto'
import { foldAddress } from '../base/fold-address.ts'
import { defaultSource, keyOfSource, sentIdOf, sourceOf, type HandlerRoute, type StoredEvent } from './port.ts'

/** Maximum characters of a key. Longer ones are replaced by a digest. */
const maxKeyLength = 255

type KeyedEvent = Pick<StoredEvent, 'id' | 'type' | 'key' | 'secretLabel'>

/**
 * Returns a function from route to the key of the event's run; null: no key. `raw` returns the body; undefined if it was deleted. It is
 * called at most once, and only for routes with `keyPaths`.
 */
export function createRouteKeys(
  event: KeyedEvent,
  raw: () => Uint8Array | undefined,
): (route: HandlerRoute) => string | null {
  let envelope: unknown
  const parsed = () => (envelope ??= envelopeOf(event, JSON.parse(Buffer.from(raw() ?? 'null').toString())))

  return ({ order, keyPaths }) => {
    if (order === 'none') return null
    if (keyPaths === undefined) return event.key === event.id ? null : event.key
    const parts: string[] = []
    for (const path of keyPaths) {
      const part = partAt(parsed(), path.split('.'))
      if (part === null) return null
      parts.push(part)
    }
    return keyOfSource(sourceOf(event), bounded(parts.join(' ')))
  }
}

/** The part of an event that keys are read from. Bodies of other sources than the default one are no envelopes. */
function envelopeOf(event: KeyedEvent, body: unknown): unknown {
  return sourceOf(event) === defaultSource ? body : { id: sentIdOf(event), type: event.type, data: body }
}

/** Part of a key: the value at a path of the envelope; null if it is missing, empty or not a scalar. */
function partAt(value: unknown, names: readonly string[]): string | null {
  let current = value
  for (const name of names) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, name)) return null
    current = (current as Readonly<Record<string, unknown>>)[name]
  }
  if (typeof current === 'number' || typeof current === 'boolean') return String(current)
  if (typeof current !== 'string' || current === '') return null
  return foldAddress(current)
}

/** Replaces a long or malformed key by its digest. The sender chooses the values, so they can be anything. */
function bounded(key: string): string {
  if (key.length <= maxKeyLength && key.isWellFormed()) return key
  return `sha256:${createHash('sha256').update(JSON.stringify(key)).digest('hex')}`
}
