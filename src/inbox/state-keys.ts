import { Buffer } from 'node:buffer'

/** Keys sort by their UTF-8 bytes, and contain neither of these. */
const lowest = '\u0000'
const highest = '\u{10ffff}'

/** Maximum characters of a state key. */
export const maxStateKeyLength = 512

/** True for a valid state key: 1 to 512 characters, well-formed, without U+0000 and U+10FFFF. */
export function isStateKey(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && isStatePrefix(text)
}

/** Same as `isStateKey`, but allows an empty text. */
export function isStatePrefix(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= maxStateKeyLength &&
    text.isWellFormed() &&
    !text.includes(lowest) &&
    !text.includes(highest)
  )
}

/** The upper bound of the keys that begin with `prefix`. No key equals it. */
export function prefixEnd(prefix: string): string {
  return prefix + highest
}

/** The lower bound of the keys that begin with `prefix` and come after `after`. `after` may be any text. */
export function afterKey(after: string, prefix: string): string {
  const next = after + lowest
  return compareKeys(next, prefix) < 0 ? prefix : next
}

export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
