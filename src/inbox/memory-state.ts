import type { Clock } from '../clock.ts'
import { afterKey, compareKeys, prefixEnd } from './state-keys.ts'
import type { StateEntry, StateQuery, StateRead, StateWrite } from './port.ts'

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
