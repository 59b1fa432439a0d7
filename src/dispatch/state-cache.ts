import type { Effects, StateEntry, StateQuery, StateRead } from '../inbox/port.ts'

/** Reads the stored state of one handler. */
export type ReadState = (query: StateQuery) => Promise<readonly StateEntry[]>

interface Known {
  /** Null: there is nothing under this key. */
  readonly entry: StateEntry | null
  readonly size: number
}

/** How much of a handler's state is kept at hand, in characters. */
const mostCharacters = 4_000_000
/** What an entry takes beside its text. */
const overhead = 100

/**
 * What this thread knows of the state of one handler. A run that ended here shows the next ones what it wrote before that is
 * stored, so that they need not wait for the disk. What is known may be wrong, because another thread wrote or because an outcome was
 * not stored: then the store finds the run that built on it to be in conflict, and it is run again on what is true.
 */
export class StateCache {
  readonly #read: ReadState
  /** The least recently used first. */
  readonly #known = new Map<string, Known>()
  #characters = 0
  /** Of runs that ended: what they write, until it is known whether that was stored. */
  readonly #pending = new Map<number, { readonly keys: readonly string[]; readonly over: PromiseWithResolvers<void> }>()

  constructor(read: ReadState) {
    this.#read = read
  }

  /** The entry under a key, as far as is known here; read from the store if nothing is. */
  async get(key: string): Promise<StateEntry | null> {
    const known = this.#known.get(key)
    if (known !== undefined) {
      this.#known.delete(key)
      this.#known.set(key, known)
      return known.entry
    }
    const [entry = null] = await this.#read({ key })
    // While it was read, a run may have ended that wrote it.
    const meanwhile = this.#known.get(key)
    if (meanwhile !== undefined) return meanwhile.entry
    this.#learn(key, entry)
    return entry
  }

  /** What is stored under a prefix, once what ended here under it is stored. */
  async list(query: Extract<StateQuery, { prefix: string }>): Promise<readonly StateEntry[]> {
    for (const { keys, over } of this.#pending.values().toArray()) {
      if (keys.some((key) => key.startsWith(query.prefix))) await over.promise
    }
    return this.#read(query)
  }

  /**
   * A run ended, and what it wrote is going to be stored. If what it had read is not what is known any more, it is going to be refused
   * instead: then the next runs are not shown it, because they would be refused in turn, and so on without end.
   */
  anticipate(version: number, { reads, writes }: Pick<Effects, 'reads' | 'writes'>): void {
    this.#pending.set(version, { keys: writes.map(({ key }) => key), over: Promise.withResolvers<void>() })
    if (!reads.every((read) => this.#isKnown(read))) return
    for (const { key, value, expiresAt } of writes) {
      this.#learn(key, value === null ? null : { key, value, version, expiresAt })
    }
  }

  /** Whether it was stored is known. If it was not, what was built on it goes, and so does what made it fail: all it had read. */
  settled(version: number, isStored: boolean, read: readonly string[]): void {
    const pending = this.#pending.get(version)
    this.#pending.delete(version)
    if (!isStored) for (const key of [...(pending?.keys ?? []), ...read]) this.#forget(key)
    pending?.over.resolve()
  }

  #isKnown({ query, found: [found] }: StateRead): boolean {
    if (!('key' in query)) return true
    const known = this.#known.get(query.key)
    if (known === undefined) return false
    // One whose time is over was read as if it were not there.
    if (found === undefined) return known.entry === null || known.entry.expiresAt !== null
    return known.entry?.version === found.version
  }

  #learn(key: string, entry: StateEntry | null): void {
    this.#forget(key)
    const size = key.length + (entry?.value.length ?? 0) + overhead
    this.#known.set(key, { entry, size })
    this.#characters += size
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= mostCharacters) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#characters -= this.#known.get(key)?.size ?? 0
    this.#known.delete(key)
  }
}
