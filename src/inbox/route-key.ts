import { createHash } from 'node:crypto'
import type { HandlerRoute } from './port.ts'

const evmAddress = /^0x[0-9a-f]{40}$/i

/** Lowercases an EVM address and its prefix `0x`, which people may type as `0X`. Returns other text unchanged. */
export function foldAddress(text: string): string {
  return evmAddress.test(text) ? text.toLowerCase() : text
}

/** Maximum characters of a key. Longer ones are replaced by a digest. */
const maxKeyLength = 255

interface RoutedEvent {
  readonly id: string
  readonly key: string
  /** Returns the body; undefined if it was deleted. Called at most once. */
  readonly raw: () => Uint8Array | undefined
}

/** Returns a function from route to the key of the event's run; null: no key. Parses the envelope only for routes with `keyPaths`. */
export function createRouteKeys(event: RoutedEvent): (route: HandlerRoute) => string | null {
  let envelope: unknown
  const parsed = () => (envelope ??= JSON.parse(Buffer.from(event.raw() ?? 'null').toString()))

  return ({ order, keyPaths }) => {
    if (order === 'none') return null
    if (keyPaths === undefined) return event.key === event.id ? null : event.key
    const parts: string[] = []
    for (const path of keyPaths) {
      const part = partAt(parsed(), path.split('.'))
      if (part === null) return null
      parts.push(part)
    }
    return bounded(parts.join(' '))
  }
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
