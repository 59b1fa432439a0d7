import { matches } from '../faults/faults.ts'

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

/** Journal filter; all given members must match. */
export interface JournalFilter {
  readonly method?: string
  /** Exact path, or a prefix with a trailing `*`. */
  readonly path?: string
  /** A status, or its class: `4xx`. */
  readonly status?: string
  /** The id of the key. */
  readonly key?: string
  /** At or after this moment of real time. */
  readonly since?: number
  /** After the entry with this number. */
  readonly after?: number
}

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
    /** The newest `limit` matches, oldest first. */
    find({ method, path = '*', status, key, since = 0, after = 0 }: JournalFilter, limit: number) {
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
        .slice(-limit)
    },
    /** Deletes all entries; returns their number. */
    clear(): number {
      const count = Math.min(entries.length, capacity)
      entries = []
      return count
    },
  }
}
