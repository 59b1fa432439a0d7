import { createHash } from 'node:crypto'
import { decodeDigestCursor, encodeDigestCursor } from './cursor.ts'
import type { ConflictDetail, ConflictRecord, NewEvent, Page, PageQuery } from './port.ts'

interface Entry {
  readonly seq: number
  readonly eventId: string
  readonly type: string
  readonly digest: string
  readonly receivedAt: number
  count: number
  raw: Uint8Array
}

/** Other bodies that came under known ids, kept in memory. */
export function createMemoryConflicts() {
  const all = new Map<string, Entry>()

  return {
    get size() {
      return all.size
    },
    /** `known`: the event that has the id. */
    add({ seq, event }: { readonly seq: number; readonly event: NewEvent }, { receivedAt, raw }: NewEvent): void {
      const { id: eventId, type } = event
      const digest = createHash('sha256').update(raw).digest('hex')
      const known = all.get(`${seq} ${digest}`)
      if (known) known.count += 1
      else {
        all.set(`${seq} ${digest}`, { seq, eventId, type, digest, receivedAt, count: 1, raw: new Uint8Array(raw) })
      }
    },
    /** The bytes of an event that was pruned go. */
    empty(seq: number): void {
      for (const entry of all.values()) if (entry.seq === seq) entry.raw = new Uint8Array()
    },
    page({ limit, cursor }: PageQuery): Page<ConflictRecord> {
      const newestFirst = [...all.values()].toSorted((a, b) => compare(placeOf(b), placeOf(a)))
      const behind = cursor === undefined ? undefined : decodeDigestCursor(cursor)
      const found = newestFirst.filter((entry) => behind === undefined || compare(placeOf(entry), behind) < 0)
      const last = found.length > limit ? found[limit - 1] : undefined
      return {
        data: found.slice(0, limit).map(toRecord),
        nextCursor: last === undefined ? null : encodeDigestCursor(last.receivedAt, last.seq, last.digest),
      }
    },
    one(seq: number, digest: string, keptRaw: Uint8Array): ConflictDetail | null {
      const entry = all.get(`${seq} ${digest}`)
      return entry ? { ...toRecord(entry), raw: new Uint8Array(entry.raw), keptRaw: new Uint8Array(keptRaw) } : null
    },
  }
}

type Place = readonly [receivedAt: number, seq: number, digest: string]

function placeOf({ receivedAt, seq, digest }: Entry): Place {
  return [receivedAt, seq, digest]
}

function compare(a: Place, b: Place): number {
  return a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : a[2] > b[2] ? 1 : 0)
}

function toRecord({ eventId, type, digest, receivedAt, count, raw }: Entry): ConflictRecord {
  return { eventId, type, digest, receivedAt, count, sizeBytes: raw.length }
}
