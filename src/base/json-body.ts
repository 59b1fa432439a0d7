import { isUtf8 } from 'node:buffer'

export type JsonProblem = 'not_utf8' | 'byte_order_mark' | 'not_json' | 'too_deep'

export type JsonBody =
  | { readonly ok: true; readonly text: string; readonly value: unknown }
  | { readonly ok: false; readonly reason: JsonProblem }

/** Levels of nested objects and arrays. Deeper nesting could overflow the stack of later code. */
const maxDepth = 64

/** Parses a JSON body. Never throws. */
export function parseJsonBody(raw: Uint8Array): JsonBody {
  if (!isUtf8(raw)) return { ok: false, reason: 'not_utf8' }
  if (raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf) return { ok: false, reason: 'byte_order_mark' }
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, reason: 'not_json' }
  }
  return isDeeperThan(value, maxDepth) ? { ok: false, reason: 'too_deep' } : { ok: true, text, value }
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const name in value) {
    if (isDeeperThan((value as Record<string, unknown>)[name], levels - 1)) return true
  }
  return false
}

/** True for a JSON object; false for a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Ill-formed Unicode could collide inside a database. `maxLength` is in characters, one of which may take two UTF-16 units. */
export function isText(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value !== '' && isWithin(value, maxLength) && value.isWellFormed()
}

function isWithin(text: string, maxLength: number): boolean {
  return text.length <= maxLength || (text.length <= 2 * maxLength && Array.from(text).length <= maxLength)
}
