import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Caller } from '../accounts/accounts.ts'
import type { AsOf } from '../world/port.ts'
import { invalidRequest } from './error.ts'
import type { Input } from './input.ts'

interface PagesOptions {
  /** Signs cursors: cursors of another world are rejected. */
  readonly secret: string
  /** Number of restores of the world; a restore voids earlier cursors. */
  readonly epoch: () => number
}

const problems = {
  foreign:
    'expected the meta.next_cursor of a page of this service, unchanged, issued after the latest restore of the world; pass ' +
    'it unchanged, or start again without one',
  'other-list':
    'expected a cursor of this list; keep the account, the path and all parameters but limit the same from page to page, ' +
    'or start again without one',
} as const

const version = 1
const macBytes = 12

/** Reads and writes opaque cursors (R120–R122, A58): base64url of a MAC, the position, and a digest of the list. They never expire. */
export function createPages({ secret, epoch }: PagesOptions) {
  const macOf = (payload: string) =>
    createHmac('sha256', secret).update(`${epoch()} ${payload}`).digest().subarray(0, macBytes)

  function positionOf(cursor: string, list: string) {
    const bytes = Buffer.from(cursor, 'base64url')
    const isCanonical = bytes.length > macBytes && bytes.toString('base64url') === cursor
    const payload = bytes.subarray(macBytes).toString()
    if (!isCanonical || !timingSafeEqual(bytes.subarray(0, macBytes), macOf(payload))) throw invalidCursor('foreign')
    const [, after, at, seq, digest] = JSON.parse(payload) as [number, number | string, number, number, string]
    if (digest !== digestOf(list)) throw invalidCursor('other-list')
    return { after, asOf: { at, seq } }
  }

  return {
    /**
     * A requested page: after the item with the key `after`, in the list as of `asOf` (A58); both null for the first page.
     * Throws `invalid_request` for a cursor of another list.
     */
    readRequested(
      operationId: string,
      { params, query }: Pick<Input, 'params' | 'query'>,
      { accountId }: Pick<Caller, 'accountId'>,
    ) {
      const { limit, cursor, ...filters } = query
      /** Identifies the list: operation, filters and account. */
      const list = JSON.stringify([operationId, accountId, params, filters])
      const position = typeof cursor === 'string' ? positionOf(cursor, list) : { after: null, asOf: null }
      return { list, limit: Number(limit), ...position }
    },
    /** The cursor of the next page; null if there is none. */
    nextCursor(
      { list, asOf: { at, seq } }: { readonly list: string; readonly asOf: AsOf },
      lastKey: number | string | null,
    ): string | null {
      if (lastKey === null) return null
      const payload = JSON.stringify([version, lastKey, at, seq, digestOf(list)])
      return Buffer.concat([macOf(payload), Buffer.from(payload)]).toString('base64url')
    },
  }
}

function invalidCursor(reason: keyof typeof problems) {
  return invalidRequest([{ path: 'cursor', message: problems[reason] }])
}

function digestOf(list: string): string {
  return createHash('sha256').update(list).digest('base64url').slice(0, 12)
}
