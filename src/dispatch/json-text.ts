import { messageOf, TerminalError } from '../base/errors.ts'

/** A value as JSON text of limited length; `what` names it where it is none. Throws TerminalError. */
export function toJson(value: unknown, what: string, longest: number): string {
  const text = stringify(value, what)
  if (text === undefined)
    throw new TerminalError(`${what} cannot be written as JSON: expected data, received ${typeof value}`)
  if (text.length > longest)
    throw new TerminalError(`${what} is ${text.length} characters of JSON long, and can be ${longest} at most`)
  return text
}

function stringify(value: unknown, what: string): string | undefined {
  try {
    // `undefined` where there is no JSON for it, a function for instance.
    return JSON.stringify(value) as string | undefined
  } catch (error) {
    throw new TerminalError(`${what} cannot be written as JSON: ${messageOf(error)}`, { cause: error })
  }
}

export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T
}
