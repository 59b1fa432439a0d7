import { InboxError } from '../base/errors.ts'

/** Encodes the position where a page ended, one or more integers ≥ 0, as an opaque cursor. */
export function encodeCursor(...position: readonly number[]): string {
  return Buffer.from(position.join('.')).toString('base64url')
}

/** Decodes a cursor of one number. Throws `bad_request` for anything else. */
export function decodeCursor(text: string): number {
  const [n = 0] = decodePosition(text, 1)
  return n
}

/** Decodes a cursor of two numbers. Throws `bad_request` for anything else. */
export function decodeCursorPair(text: string): readonly [number, number] {
  const [a = 0, b = 0] = decodePosition(text, 2)
  return [a, b]
}

const digitsPerPart = 12
const sha256Digits = 64

/** Encodes two numbers and a SHA-256 in hex as a cursor. */
export function encodeDigestCursor(a: number, b: number, digest: string): string {
  const parts = Array.from({ length: Math.ceil(digest.length / digitsPerPart) }, (_, index) => {
    return parseInt(digest.slice(index * digitsPerPart, (index + 1) * digitsPerPart), 16)
  })
  return encodeCursor(a, b, ...parts)
}

/** Decodes a cursor of `encodeDigestCursor`. Throws `bad_request` for anything else. */
export function decodeDigestCursor(text: string): readonly [number, number, string] {
  const [a = 0, b = 0, ...parts] = decodePosition(text, 2 + Math.ceil(sha256Digits / digitsPerPart))
  const digits = parts.map((part) => part.toString(16).padStart(digitsPerPart, '0'))
  const last = digits.at(-1)?.slice(-(sha256Digits % digitsPerPart)) ?? ''
  return [a, b, digits.slice(0, -1).join('') + last]
}

function decodePosition(text: string, length: number): readonly number[] {
  const position = Buffer.from(text, 'base64url').toString('latin1').split('.').map(Number)
  const isValid = position.length === length && position.every((n) => Number.isSafeInteger(n) && n >= 0)
  if (isValid && encodeCursor(...position) === text) return position
  throw new InboxError('bad_request', 'invalid cursor: pass the next_cursor of the previous page unchanged')
}
