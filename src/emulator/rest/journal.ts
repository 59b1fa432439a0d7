import { z } from 'zod'
import { matches } from '../faults/faults.ts'
import { limit, utcTime, wholeNumber } from '../values.ts'

/** A request under `/v1` and the status of its response, without secrets. */
export interface RestExchange {
  /** Value of the header X-Request-Id. */
  readonly requestId: string
  /** Arrival in milliseconds since 1970 of real time. */
  readonly at: number
  readonly method: string
  /** Path without the query. API keys in it are hidden (R68). */
  readonly path: string
  readonly status: number
  /** Error code of the response; null if it succeeded. */
  readonly error: string | null
  /** Null without a valid key. */
  readonly keyId: string | null
  readonly accountId: string | null
  readonly latencyMs: number
  /** Names of injected faults, if any (2.8). */
  readonly faults?: readonly string[]
}

/** A journal entry, numbered from 1. */
export interface JournalEntry extends RestExchange {
  readonly seq: number
}

/** Query of the journal; all its members must match. */
export const journalQuery = z.strictObject({
  method: z.exactOptional(z.string()),
  /** Exact path, or a prefix with a trailing `*`. */
  path: z.exactOptional(z.string()),
  status: z.exactOptional(z.string().regex(/^\d(?:\d\d|xx)$/, 'expected a status such as 404, or a class such as 4xx')),
  /** The id of the key. */
  key: z.exactOptional(z.string()),
  /** At or after this moment of real time. */
  since: z.exactOptional(utcTime),
  /** After the entry with this number. */
  after: z.exactOptional(wholeNumber),
  limit: limit.prefault('100'),
})

export type Journal = ReturnType<typeof createJournal>

/** The latest `capacity` requests under `/v1`. */
export function createJournal(capacity: number) {
  let entries: JournalEntry[] = []
  let lastSeq = 0

  return {
    add(exchange: RestExchange): void {
      entries.push({ seq: ++lastSeq, ...exchange })
      // Drops old entries in batches: adding to a full journal stays cheap.
      if (entries.length >= 2 * capacity) entries = entries.slice(-capacity)
    },
    /** The newest matches, oldest first. */
    find({ method, path = '*', status, key, since = 0, after = 0, limit: maxCount }: z.output<typeof journalQuery>) {
      const isStatus = (actual: string) => (status?.endsWith('xx') ? actual[0] === status[0] : actual === status)
      return entries
        .slice(-capacity)
        .filter(
          (entry) =>
            (method === undefined || entry.method === method.toUpperCase()) &&
            matches(entry.path, path) &&
            (status === undefined || isStatus(String(entry.status))) &&
            (key === undefined || entry.keyId === key) &&
            entry.at >= since &&
            entry.seq > after,
        )
        .slice(-maxCount)
    },
    /** Deletes all entries; returns their number. */
    clear(): number {
      const count = Math.min(entries.length, capacity)
      entries = []
      return count
    },
  }
}
