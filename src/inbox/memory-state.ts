import type { Clock } from '../clock.ts'
import { afterKey, compareKeys, prefixEnd } from './state-keys.ts'
import { versionOf, type StateEntry, type StateQuery, type StateRead, type StateWrite } from './port.ts'

const largestState = 10_000
const mostKeys = 100

/** The states of the handlers of a memory inbox. */
export class MemoryState {
  readonly #clock: Clock
  readonly #entries = new Map<string, Map<string, StateEntry>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  read(handler: string, query: StateQuery): StateEntry[] {
    const entries = this.#entries.get(handler)
    if ('key' in query) {
      const entry = entries?.get(query.key)
      return entry && this.#isThere(entry) ? [entry] : []
    }
    const { prefix, after, limit } = query
    const from = after === null ? prefix : afterKey(after, prefix)
    const end = prefixEnd(prefix)
    return [...(entries?.values() ?? [])]
      .filter((entry) => this.#isThere(entry))
      .filter(({ key }) => compareKeys(key, from) >= 0 && compareKeys(key, end) < 0)
      .toSorted((a, b) => compareKeys(a.key, b.key))
      .slice(0, limit)
  }

  /** Keys of what a run wrote last, in order; none if the state is large. */
  keysOf(handler: string, runId: number): string[] {
    const entries = [...(this.#entries.get(handler)?.values() ?? [])].filter((entry) => this.#isThere(entry))
    if (entries.length > largestState) return []
    const [from, to] = [versionOf({ runId, token: 0 }), versionOf({ runId: runId + 1, token: 0 })]
    const own = entries.filter(({ version }) => version >= from && version < to)
    return own
      .map(({ key }) => key)
      .toSorted(compareKeys)
      .slice(0, mostKeys)
  }

  areUnchanged(handler: string, reads: readonly StateRead[]): boolean {
    const shown = (entries: StateRead['found']) => JSON.stringify(entries.map(({ key, version }) => [key, version]))
    return reads.every(({ query, found }) => shown(this.read(handler, query)) === shown(found))
  }

  write(handler: string, version: number, writes: readonly StateWrite[]): void {
    const entries = this.#entries.get(handler) ?? new Map<string, StateEntry>()
    this.#entries.set(handler, entries)
    for (const { key, value, expiresAt } of writes) {
      if (value === null) entries.delete(key)
      else entries.set(key, { key, value, version, expiresAt })
    }
    for (const entry of entries.values()) if (!this.#isThere(entry)) entries.delete(entry.key)
  }

  #isThere({ expiresAt }: StateEntry): boolean {
    return expiresAt === null || expiresAt > this.#clock.now()
  }
}
