import type { RestExchange } from './rest/journal-entry.ts'

/** An entry of the journal, numbered from 1 on. */
export interface JournalEntry extends RestExchange {
  readonly seq: number
}

/** What entries are looked for by; each that is given must hold. */
export interface JournalFilter {
  readonly method?: string
  /** The whole path, or its beginning with `*` at its end. */
  readonly path?: string
  /** A status, or its class: `4xx`. */
  readonly status?: string
  /** The id of the key. */
  readonly key?: string
  /** Not before this moment of real time. */
  readonly since?: number
  /** Beyond the entry of this number. */
  readonly after?: number
}

/** The latest requests under `/v1` and their answers. */
export interface Journal {
  add(exchange: RestExchange): void
  /** Oldest first, the newest `limit` of those that match. */
  find(filter: JournalFilter, limit: number): readonly JournalEntry[]
  /** Forgets all; gives how many there were. */
  clear(): number
}

/** Keeps at most `capacity` entries: the oldest goes for each that comes beyond that. */
export function createJournal(capacity: number): Journal {
  let entries: JournalEntry[] = []
  let lastSeq = 0

  return {
    add(exchange) {
      entries.push({ seq: ++lastSeq, ...exchange })
      // In portions, so that a full journal costs no more than one that is not.
      if (entries.length >= 2 * capacity) entries = entries.slice(-capacity)
    },
    find(filter, limit) {
      return entries
        .slice(-capacity)
        .filter((entry) => matches(entry, filter))
        .slice(-limit)
    },
    clear() {
      const count = Math.min(entries.length, capacity)
      entries = []
      return count
    },
  }
}

function matches(entry: JournalEntry, { method, path, status, key, since, after }: JournalFilter): boolean {
  return (
    (method === undefined || entry.method === method.toUpperCase()) &&
    (path === undefined || matchesPath(entry.path, path)) &&
    (status === undefined || matchesStatus(String(entry.status), status)) &&
    (key === undefined || entry.keyId === key) &&
    (since === undefined || entry.at >= since) &&
    (after === undefined || entry.seq > after)
  )
}

function matchesPath(path: string, wanted: string): boolean {
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted
}

function matchesStatus(status: string, wanted: string): boolean {
  return wanted.endsWith('xx') ? status[0] === wanted[0] : status === wanted
}
