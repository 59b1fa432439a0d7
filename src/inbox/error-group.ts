import type { RunError } from './port.ts'

/** Error of a dead letter without a recorded error. */
export const unknownError: RunError = { name: 'unknown', message: 'no error was recorded' }

/** Numbers and addresses. Errors that differ only in these share a group. */
const variableParts = /0x[0-9a-f]{6,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[1-9A-HJ-NP-Za-km-z]{32,88}|\d+(?:\.\d+)?/gi
/** Maximum characters of a group. */
const maxLength = 200

/** The group of an error, from its name and the first line of its message. Must stay stable: links and stored rows contain it. */
export function errorGroupOf({ name, message }: { readonly name: string; readonly message: string }): string {
  const [line = ''] = message.split('\n', 1)
  // Cutting may leave half a surrogate pair, which a URL can't contain.
  return `${name}: ${line.slice(0, 1_000).replaceAll(variableParts, '#')}`.slice(0, maxLength).toWellFormed()
}
