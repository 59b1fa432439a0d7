import { Buffer } from 'node:buffer'

/** Keys are in the order of their UTF-8 bytes, and have neither of these. */
const lowest = '\u0000'
const highest = '\u{10ffff}'

export const longestStateKey = 512

/** Whether text can be the key of a value: 1 to 512 characters, well-formed, without U+0000 and U+10FFFF. */
export function isStateKey(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && isStatePrefix(text)
}

/** As a key, but it may be empty. */
export function isStatePrefix(text: unknown): text is string {
  return (
    typeof text === 'string' &&
    text.length <= longestStateKey &&
    text.isWellFormed() &&
    !text.includes(lowest) &&
    !text.includes(highest)
  )
}

/** All keys that begin with `prefix` come before this, and no others that come behind the prefix. */
export function prefixEnd(prefix: string): string {
  return prefix + highest
}

/** Where the keys of a prefix go on behind `after`, which need not be one of them. */
export function afterKey(after: string, prefix: string): string {
  const next = after + lowest
  return compareKeys(next, prefix) < 0 ? prefix : next
}

export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
