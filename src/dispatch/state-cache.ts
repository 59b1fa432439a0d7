import { versionOf, type Effects, type Lease, type StateEntry, type StateQuery, type StateRead } from '../inbox/port.ts'

/** Reads the stored state of one handler. */
export type ReadState = (query: StateQuery) => Promise<readonly StateEntry[]>

interface Known {
  /** Null: there is nothing under this key. */
  readonly entry: StateEntry | null
  readonly size: number
}

interface Pending {
  readonly version: number
  readonly read: readonly string[]
  readonly written: readonly string[]
  /** Only where somebody waits for it. */
  over?: PromiseWithResolvers<void>
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
  /** By run, of those that ended: what they read and write, until it is known whether that was stored. */
  readonly #pending = new Map<number, Pending>()

  constructor(read: ReadState) {
    this.#read = read
  }

  /** The entry under a key, as far as is known here; undefined: nothing is. */
  peek(key: string): StateEntry | null | undefined {
    const known = this.#known.get(key)
    if (known === undefined) return undefined
    this.#known.delete(key)
    this.#known.set(key, known)
    return known.entry
  }

  /** Reads from the store what is not known here. */
  async get(key: string): Promise<StateEntry | null> {
    const [entry = null] = await this.#read({ key })
    // While it was read, a run may have ended that wrote it.
    const meanwhile = this.#known.get(key)
    if (meanwhile !== undefined) return meanwhile.entry
    this.#learn(key, entry)
    return entry
  }

  /** What is stored under a prefix, once what ended here under it is stored. */
  async list(query: Extract<StateQuery, { prefix: string }>): Promise<readonly StateEntry[]> {
    for (const pending of this.#pending.values().toArray()) {
      if (!pending.written.some((key) => key.startsWith(query.prefix))) continue
      await (pending.over ??= Promise.withResolvers<void>()).promise
    }
    return this.#read(query)
  }

  /**
   * A run ended under a lease, and what it did is going to be stored. If what it had read is not what is known any more, it is
   * going to be refused instead: then the next runs are not shown it, because they would be refused in turn, and so on without end.
   */
  anticipate(lease: Pick<Lease, 'runId' | 'token'>, { reads, writes }: Pick<Effects, 'reads' | 'writes'>): void {
    const version = versionOf(lease)
    const read = reads.flatMap(({ query }) => ('key' in query ? [query.key] : []))
    const written = writes.map(({ key }) => key)
    this.#pending.set(lease.runId, { version, read, written })
    if (!reads.every((was) => this.#isKnown(was))) return
    for (const { key, value, expiresAt } of writes) {
      this.#learn(key, value === null ? null : { key, value, version, expiresAt })
    }
  }

  /** It is known whether what a run did under a lease was stored. */
  settled(lease: Pick<Lease, 'runId' | 'token'>, isStored: boolean): void {
    const pending = this.#pending.get(lease.runId)
    if (pending?.version !== versionOf(lease)) return
    if (!isStored) return this.revoke(lease.runId)
    this.#pending.delete(lease.runId)
    pending.over?.resolve()
  }

  /**
   * What a run did was not stored, or it would not begin again: what it wrote is forgotten, and what made it fail, which is
   * something that it had read. A run begins again before its refusal is heard of.
   */
  revoke(runId: number): void {
    const pending = this.#pending.get(runId)
    if (pending === undefined) return
    this.#pending.delete(runId)
    for (const key of [...pending.written, ...pending.read]) this.#forget(key)
    pending.over?.resolve()
  }

  /** What is known of these may have led a run astray: the next one reads them from the store. */
  forget(keys: readonly string[]): void {
    for (const key of keys) this.#forget(key)
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
