import { versionOf, type Effects, type Lease, type StateEntry, type StateQuery, type StateRead } from '../inbox/port.ts'

/** Reads the stored state of one handler. */
export type ReadState = (query: StateQuery) => Promise<readonly StateEntry[]>

interface CachedEntry {
  /** Null: the key is absent. */
  readonly entry: StateEntry | null
  readonly size: number
}

interface Pending {
  readonly version: number
  readonly read: readonly string[]
  readonly written: readonly string[]
  /** Set only if a caller waits for the outcome. */
  ended?: PromiseWithResolvers<void>
}

/** Cache size per handler, in characters. */
const maxCharacters = 4_000_000
/** Assumed size of an entry beyond its text, in characters. */
const overhead = 100

/**
 * Cache of one handler's state in this thread. Writes of an ended run are visible to the next runs before they are
 * stored, so that runs need not wait for the disk. The cache may be wrong, because another thread wrote or an outcome
 * was not stored. Then the store detects a conflict in the run that used a wrong entry, and the run is repeated with
 * the stored state.
 */
export class StateCache {
  readonly #read: ReadState
  /** Least recently used first. */
  readonly #known = new Map<string, CachedEntry>()
  #characters = 0
  /** Reads and writes of ended runs, by run id, until it is known whether they were stored. */
  readonly #pending = new Map<number, Pending>()

  constructor(read: ReadState) {
    this.#read = read
  }

  /** The cached entry; null: the key is absent; undefined: not cached. */
  peek(key: string): StateEntry | null | undefined {
    const known = this.#known.get(key)
    if (known === undefined) return undefined
    this.#known.delete(key)
    this.#known.set(key, known)
    return known.entry
  }

  /** Reads an uncached entry from the store. */
  async get(key: string): Promise<StateEntry | null> {
    const [entry = null] = await this.#read({ key })
    // A run that ended during the read may have written the key.
    const current = this.#known.get(key)
    if (current !== undefined) return current.entry
    this.#learn(key, entry)
    return entry
  }

  /** Reads entries under a prefix, after pending writes under it are stored. */
  async list(query: Extract<StateQuery, { prefix: string }>): Promise<readonly StateEntry[]> {
    for (const pending of this.#pending.values().toArray()) {
      if (!pending.written.some((key) => key.startsWith(query.prefix))) continue
      await (pending.ended ??= Promise.withResolvers<void>()).promise
    }
    return this.#read(query)
  }

  /**
   * A run ended, and its writes are about to be stored. If it read outdated entries, the store will answer
   * `conflict`: then its writes stay invisible. Otherwise the next runs would conflict in turn, without end.
   */
  anticipate(lease: Pick<Lease, 'runId' | 'token'>, { reads, writes }: Pick<Effects, 'reads' | 'writes'>): void {
    const version = versionOf(lease)
    const read = reads.flatMap(({ query }) => ('key' in query ? [query.key] : []))
    const written = writes.map(({ key }) => key)
    this.#pending.set(lease.runId, { version, read, written })
    if (!reads.every((earlier) => this.#isKnown(earlier))) return
    for (const { key, value, expiresAt } of writes) {
      this.#learn(key, value === null ? null : { key, value, version, expiresAt })
    }
  }

  /** Called when it is known whether the writes of a run were stored. */
  settled(lease: Pick<Lease, 'runId' | 'token'>, isStored: boolean): void {
    const pending = this.#pending.get(lease.runId)
    if (pending?.version !== versionOf(lease)) return
    if (!isStored) return this.revoke(lease.runId)
    this.#pending.delete(lease.runId)
    pending.ended?.resolve()
  }

  /**
   * Forgets the writes of a run that were not stored, and its reads, one of which caused the conflict. Also called when
   * a run starts again, because its conflict may be reported later.
   */
  revoke(runId: number): void {
    const pending = this.#pending.get(runId)
    if (pending === undefined) return
    this.#pending.delete(runId)
    for (const key of [...pending.written, ...pending.read]) this.#forget(key)
    pending.ended?.resolve()
  }

  /** Forgets entries that may have misled a run: the next run reads them from the store. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#forget(key)
  }

  #isKnown({ query, found: [entryRead] }: StateRead): boolean {
    if (!('key' in query)) return true
    const known = this.#known.get(query.key)
    if (known === undefined) return false
    // An expired entry was read as absent.
    if (entryRead === undefined) return known.entry === null || known.entry.expiresAt !== null
    return known.entry?.version === entryRead.version
  }

  #learn(key: string, entry: StateEntry | null): void {
    this.#forget(key)
    const size = key.length + (entry?.value.length ?? 0) + overhead
    this.#known.set(key, { entry, size })
    this.#characters += size
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= maxCharacters) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#characters -= this.#known.get(key)?.size ?? 0
    this.#known.delete(key)
  }
}
