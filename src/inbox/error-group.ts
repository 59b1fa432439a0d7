import type { RunError } from './port.ts'

/** What is said of a dead letter of which no attempt tells an error. */
export const unknownError: RunError = { name: 'unknown', message: 'no error was recorded' }

/** What numbers and addresses in the text of an error become, so that errors which differ in nothing else are of one group. */
const changing = /0x[0-9a-f]{6,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[1-9A-HJ-NP-Za-km-z]{32,88}|\d+(?:\.\d+)?/gi
const longest = 200

/** The group of an error by its name and the first line of its message. Pure; the same for ever, since links hold it. */
export function errorGroupOf({ name, message }: { readonly name: string; readonly message: string }): string {
  const [line = ''] = message.split('\n', 1)
  // Half a character is no text that a link could hold.
  return `${name}: ${line.slice(0, 1_000).replaceAll(changing, '#')}`.slice(0, longest).toWellFormed()
}
