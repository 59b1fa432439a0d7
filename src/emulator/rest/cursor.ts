import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { AsOf } from '../world/port.ts'

/** Where the next page begins: strictly after the item with this key, in the list as it was at `asOf` (A58). */
export interface Position {
  readonly after: number | string
  readonly asOf: AsOf
}

export type DecodedCursor =
  | { readonly ok: true; readonly position: Position }
  /** `foreign`: not made by this world in its present course of time, or changed. `other-list`: made for another path or other filters. */
  | { readonly ok: false; readonly reason: 'foreign' | 'other-list' }

/** Opaque cursors (R120): clients can neither read anything into them nor make one that is taken. */
export interface Cursors {
  /** `list` names what is paged through: the operation and all its filters. */
  encode(position: Position, list: string): string
  decode(cursor: string, list: string): DecodedCursor
}

const version = 1
const macBytes = 12

/**
 * Cursors of one world: base64url of a MAC with its secret, the position, and a digest of the list. They never expire, but when
 * `course` changes: then the world was put back, and what they saw is no more.
 */
export function createCursors(secret: string, course: () => number = () => 0): Cursors {
  const macOf = (payload: string) =>
    createHmac('sha256', secret).update(`${course()} ${payload}`).digest().subarray(0, macBytes)

  return {
    encode({ after, asOf }, list) {
      const payload = JSON.stringify([version, after, asOf.at, asOf.seq, digestOf(list)])
      return Buffer.concat([macOf(payload), Buffer.from(payload)]).toString('base64url')
    },
    decode(cursor, list) {
      const bytes = Buffer.from(cursor, 'base64url')
      const isCanonical = bytes.length > macBytes && bytes.toString('base64url') === cursor
      if (!isCanonical) return { ok: false, reason: 'foreign' }
      const payload = bytes.subarray(macBytes).toString()
      if (!timingSafeEqual(bytes.subarray(0, macBytes), macOf(payload))) return { ok: false, reason: 'foreign' }
      const [, after, at, seq, digest] = JSON.parse(payload) as [number, number | string, number, number, string]
      if (digest !== digestOf(list)) return { ok: false, reason: 'other-list' }
      return { ok: true, position: { after, asOf: { at, seq } } }
    },
  }
}

function digestOf(list: string): string {
  return createHash('sha256').update(list).digest('base64url').slice(0, 12)
}
