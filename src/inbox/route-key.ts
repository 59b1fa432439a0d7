import { createHash } from 'node:crypto'
import type { HandlerRoute } from './port.ts'

const evmAddress = /^0x[0-9a-f]{40}$/i

/** An EVM address in lower case, its prefix too: people also type it all in capitals. Every other text as it is. */
export function foldAddress(text: string): string {
  return evmAddress.test(text) ? text.toLowerCase() : text
}

const longestKey = 255

interface RoutedEvent {
  readonly id: string
  readonly key: string
  /** Asked at most once. */
  readonly raw: () => Uint8Array | undefined
}

/** The keys that an event has for the routes that take it; its envelope is read only if a route asks for a part of it. */
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

function partAt(value: unknown, names: readonly string[]): string | null {
  let found = value
  for (const name of names) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return null
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  if (typeof found === 'number' || typeof found === 'boolean') return String(found)
  if (typeof found !== 'string' || found === '') return null
  return foldAddress(found)
}

/** Text of the sender's, so of any length. */
function bounded(key: string): string {
  if (key.length <= longestKey && key.isWellFormed()) return key
  return `sha256:${createHash('sha256').update(JSON.stringify(key)).digest('hex')}`
}
