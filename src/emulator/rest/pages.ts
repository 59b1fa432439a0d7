import type { Caller } from '../accounts/port.ts'
import { invalidRequest } from './error.ts'
import type { Input } from './input.ts'
import type { AsOf, PageRequest } from '../world/port.ts'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** A requested page: of `list`, after `position`, or from the start. */
export interface PageAsked {
  /** Identifies the list: operation, filters and account. */
  readonly list: string
  readonly limit: number
  readonly position: Position | null
}

/** Lists of the world have numeric keys, lists of an account have text keys. */
export interface KeyedPageRequest extends Omit<PageRequest, 'after'> {
  readonly after: number | string | null
}

interface PagesOptions {
  readonly cursors: Cursors
  readonly now: () => AsOf
}

/** Reads cursors of requests and writes cursors of responses (R120–R122, A58). */
export function createPages({ cursors, now }: PagesOptions) {
  return {
    /** Throws `invalid_request` for a cursor of another list. */
    ask(operationId: string, { params, query }: Input, { accountId }: Caller): PageAsked {
      const { limit, cursor, ...filters } = query
      const list = JSON.stringify([operationId, accountId, params, filters])
      return { list, limit: Number(limit), position: typeof cursor === 'string' ? positionOf(cursor, list) : null }
    },
    /** The first page shows the present moment; later pages show the moment of the first. */
    toRequest({ limit, position }: PageAsked): KeyedPageRequest {
      return { limit, after: position?.after ?? null, asOf: position?.asOf ?? now() }
    },
    /** The cursor of the next page; null if there is none. */
    nextCursor({ list }: PageAsked, asOf: AsOf, lastKey: number | string | null): string | null {
      return lastKey === null ? null : cursors.encode({ after: lastKey, asOf }, list)
    },
  }

  function positionOf(cursor: string, list: string): Position {
    const decoded = cursors.decode(cursor, list)
    if (!decoded.ok) throw invalidRequest([{ path: 'cursor', message: refusals[decoded.reason] }])
    if (decoded.position.asOf.seq > now().seq) throw invalidRequest([{ path: 'cursor', message: refusals.ahead }])
    return decoded.position
  }
}

const refusals = {
  foreign:
    'expected the meta.next_cursor of a page of this service, unchanged, issued after the latest restore of the world; pass ' +
    'it unchanged, or start again without one',
  'other-list':
    'expected a cursor of this list; keep the account, the path and all parameters but limit the same from page to page, ' +
    'or start again without one',
  ahead: 'expected a cursor of the past; this one is of a future moment; start again without one',
} as const

/**
 * A page of an account's items, oldest first. New items go to the end and deleted ones leave no gap: the next page
 * starts
 * after the last item of this one (R122).
 */
export function pageOf<T extends { readonly createdAt: number }>(
  items: readonly T[],
  idOf: (item: T) => string,
  { limit, after }: KeyedPageRequest,
): { readonly items: readonly T[]; readonly page: PageEnd } {
  const keyOf = (item: T) => `${String(item.createdAt).padStart(16, '0')} ${idOf(item)}`
  const keyed = items.map((item) => ({ key: keyOf(item), item })).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const rest = after === null ? keyed : keyed.filter(({ key }) => key > String(after))
  const shown = rest.slice(0, limit)
  const lastKey = rest.length > limit ? (shown.at(-1)?.key ?? null) : null
  return { items: shown.map(({ item }) => item), page: { lastKey, total: items.length } }
}

export interface PageEnd {
  /** Key of the last item if more exist, else null. */
  readonly lastKey: number | string | null
  readonly total: number
}

/** Start of the next page: strictly after the item with this key, in the list as of `asOf` (A58). */
export interface Position {
  readonly after: number | string
  readonly asOf: AsOf
}

export type DecodedCursor =
  | { readonly ok: true; readonly position: Position }
  /**
   * `foreign`: not issued by this world in this epoch, or changed. `other-list`: issued for another path or other
   * filters.
   */
  | { readonly ok: false; readonly reason: 'foreign' | 'other-list' }

/** Opaque cursors (R120): clients can't read or forge them. */
export interface Cursors {
  /** `list` identifies the operation and all its filters. */
  encode(position: Position, list: string): string
  decode(cursor: string, list: string): DecodedCursor
}

const version = 1
const macBytes = 12

/**
 * Cursors of one world: base64url of a MAC, the position, and a digest of the list. They never expire, but a restore of
 * the
 * world (a new epoch) voids them.
 */
export function createCursors(secret: string, epoch: () => number = () => 0): Cursors {
  const macOf = (payload: string) =>
    createHmac('sha256', secret).update(`${epoch()} ${payload}`).digest().subarray(0, macBytes)

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
