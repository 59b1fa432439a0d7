import { InboxError } from '../base/errors.ts'

/** Encodes the position where a page ended, integers ≥ 0 and digests in hex, as an opaque cursor. */
export function encodeCursor(...position: readonly (number | string)[]): string {
  return Buffer.from(position.join('.')).toString('base64url')
}

/** Decodes a cursor of one number. Throws `bad_request` for anything else. */
export function decodeCursor(text: string): number {
  return Number(decodePosition(text, /^(\d{1,16})$/)[0])
}

/** Decodes a cursor of two numbers. Throws `bad_request` for anything else. */
export function decodeCursorPair(text: string): readonly [number, number] {
  const [a, b] = decodePosition(text, /^(\d{1,16})\.(\d{1,16})$/)
  return [Number(a), Number(b)]
}

/** Decodes a cursor of two numbers and a SHA-256 in hex. Throws `bad_request` for anything else. */
export function decodeDigestCursor(text: string): readonly [number, number, string] {
  const [a, b, digest = ''] = decodePosition(text, /^(\d{1,16})\.(\d{1,16})\.([0-9a-f]{64})$/)
  return [Number(a), Number(b), digest]
}

function decodePosition(text: string, form: RegExp): readonly string[] {
  const [position, ...parts] = form.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? []
  const isSafe = parts.every((part) => part.length === 64 || Number.isSafeInteger(Number(part)))
  if (position !== undefined && isSafe && encodeCursor(position) === text) return parts
  throw new InboxError('bad_request', 'invalid cursor: pass the next_cursor of the previous page unchanged')
}

/** A page of rows that were read with one more than its limit. `positionOf`: the arguments of `encodeCursor`. */
export function toPage<T>(rows: readonly T[], limit: number, positionOf: (last: T) => readonly (number | string)[]) {
  const data = rows.slice(0, limit)
  const last = rows.length > limit ? data.at(-1) : undefined
  return { data, nextCursor: last === undefined ? null : encodeCursor(...positionOf(last)) }
}
