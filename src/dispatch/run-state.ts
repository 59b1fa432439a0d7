import { TerminalError } from '../base/errors.ts'
import type { StateEntry, StateRead, StateWrite } from '../inbox/port.ts'
import { afterKey, compareKeys, isStateKey, isStatePrefix, maxStateKeyLength } from '../inbox/state-keys.ts'
import { parseJson, toJson } from './outbox.ts'
import type { StateCache } from './state-cache.ts'

export interface SetStateOptions {
  /** The value expires after this many milliseconds. Default: never. */
  readonly ttlMs?: number
}

export interface ListStateOptions {
  /** Continue after this key. */
  readonly after?: string
  /** Maximum number of entries, from 1 to 1,000. Default 100. */
  readonly limit?: number
}

/**
 * Key-value state of one handler: JSON values up to 256 KiB, keys up to 512 characters. A run sees its own writes.
 * Writes are stored together with the run's outcome, or not at all. If another run changed state that this run read,
 * this run is repeated, so read-modify-write is safe with any number of concurrent runs.
 *
 * Throws TerminalError for values that can't be stored, and for any use after the run has ended.
 */
export interface HandlerState {
  /** Returns a copy of the value, or undefined. */
  get<T = unknown>(key: string): Promise<T | undefined>
  set(key: string, value: unknown, options?: SetStateOptions): void
  delete(key: string): void
  /** Entries whose key starts with `prefix`, ordered by key. */
  list<T = unknown>(prefix: string, options?: ListStateOptions): Promise<[key: string, value: T][]>
}

/** Maximum number of reads, and of written keys, per run. */
const maxOperations = 1_000
/** Maximum characters of a value's JSON. */
const maxValueLength = 256 * 1024
/** Maximum entries of a list. */
const maxListed = 1_000
/** Maximum characters that a run may write, all entries together. */
const maxWrittenLength = 8 * 1024 * 1024
/** 100 years. */
const maxTtlMs = 100 * 365 * 24 * 3_600_000

/** The properties of a run that its state needs. */
interface Run {
  readonly hasEnded: boolean
  now(): number
}

/** State as one run sees it: reads are repeatable, writes are invisible to other runs until the run ends. */
export class RunState implements HandlerState {
  readonly #cache: StateCache
  readonly #run: Run
  readonly #firstReads = new Map<string, StateEntry | null | Promise<StateEntry | null>>()
  readonly #reads: StateRead[] = []
  readonly #writes = new Map<string, StateWrite>()
  #writtenLength = 0

  constructor(cache: StateCache, run: Run) {
    this.#cache = cache
    this.#run = run
  }

  get reads(): readonly StateRead[] {
    return this.#reads
  }

  get writes(): readonly StateWrite[] {
    return [...this.#writes.values()]
  }

  async get<T>(key: string): Promise<T | undefined> {
    this.#check(key)
    const found = this.#writes.get(key) ?? this.#readFirst(key)
    const entry = found instanceof Promise ? await found : found
    return entry === null || entry.value === null || this.#hasExpired(entry) ? undefined : parseJson<T>(entry.value)
  }

  set(key: string, value: unknown, options: SetStateOptions = {}): void {
    this.#check(key)
    const text = toJson(value, `the state value ${JSON.stringify(key)}`, maxValueLength)
    this.#write({ key, value: text, expiresAt: this.#expiryOf(options) })
  }

  delete(key: string): void {
    this.#check(key)
    this.#write({ key, value: null, expiresAt: null })
  }

  async list<T>(prefix: string, options: ListStateOptions = {}): Promise<[key: string, value: T][]> {
    const { after = null, limit = 100 } = options
    this.#checkList(prefix, after, limit)
    const written = [...this.#writes.values()].filter(({ key }) => isListed(key, prefix, after))
    // Read more entries than asked for, because this run may have deleted some of them.
    const query = { prefix, after, limit: limit + written.length }
    const stored = await this.#cache.list(query)
    this.#note({ query, found: stored.map(({ key, version }) => ({ key, version })) })
    const entries = new Map<string, Pick<StateWrite, 'value' | 'expiresAt'>>(stored.map((entry) => [entry.key, entry]))
    for (const write of written) entries.set(write.key, write)
    return [...entries]
      .filter((entry): entry is [string, { value: string; expiresAt: number | null }] => entry[1].value !== null)
      .filter(([, entry]) => !this.#hasExpired(entry))
      .toSorted(([a], [b]) => compareKeys(a, b))
      .slice(0, limit)
      .map(([key, { value }]) => [key, parseJson<T>(value)])
  }

  /** The entry when this run first read it. */
  #readFirst(key: string): StateEntry | null | Promise<StateEntry | null> {
    const firstRead = this.#firstReads.get(key)
    if (firstRead !== undefined) return firstRead
    const cached = this.#cache.peek(key)
    const entry =
      cached === undefined
        ? this.#cache.get(key).then((stored) => this.#noteRead(key, stored))
        : this.#noteRead(key, cached)
    this.#firstReads.set(key, entry)
    return entry
  }

  #noteRead(key: string, stored: StateEntry | null): StateEntry | null {
    const entry = stored === null || this.#hasExpired(stored) ? null : stored
    this.#note({ query: { key }, found: entry === null ? [] : [{ key, version: entry.version }] })
    return entry
  }

  #note(read: StateRead): void {
    if (this.#reads.length >= maxOperations)
      throw new TerminalError(`a run can read state at most ${maxOperations} times`)
    this.#reads.push(read)
  }

  #write(write: StateWrite): void {
    if (this.#writes.size >= maxOperations && !this.#writes.has(write.key))
      throw new TerminalError(`a run can write at most ${maxOperations} state keys`)
    this.#writtenLength += write.value?.length ?? 0
    if (this.#writtenLength > maxWrittenLength)
      throw new TerminalError(`a run can write at most ${maxWrittenLength} characters of JSON to its state`)
    this.#writes.set(write.key, write)
  }

  #hasExpired({ expiresAt }: Pick<StateEntry, 'expiresAt'>): boolean {
    return expiresAt !== null && expiresAt <= this.#run.now()
  }

  #expiryOf({ ttlMs }: SetStateOptions): number | null {
    if (ttlMs === undefined) return null
    if (typeof ttlMs === 'number' && ttlMs >= 1 && ttlMs <= maxTtlMs) return Math.ceil(this.#run.now() + ttlMs)
    throw new TerminalError(`ctx.state: ttlMs must be 1–${maxTtlMs} milliseconds`)
  }

  #check(key: string): void {
    this.#checkOpen()
    if (!isStateKey(key))
      throw new TerminalError(
        `ctx.state: a key must be well-formed text of 1 to ${maxStateKeyLength} characters, without U+0000 and U+10FFFF`,
      )
  }

  #checkList(prefix: string, after: string | null, limit: number): void {
    this.#checkOpen()
    if (!isStatePrefix(prefix) || (after !== null && !isStatePrefix(after)))
      throw new TerminalError(`ctx.state.list: prefix and after must be text that can start a key`)
    if (!Number.isInteger(limit) || limit < 1 || limit > maxListed)
      throw new TerminalError(`ctx.state.list: limit must be a whole number from 1 to ${maxListed}`)
  }

  #checkOpen(): void {
    if (this.#run.hasEnded)
      throw new TerminalError('ctx.state was used after its run had ended: is an `await` missing?')
  }
}

function isListed(key: string, prefix: string, after: string | null): boolean {
  return key.startsWith(prefix) && (after === null || compareKeys(key, afterKey(after, prefix)) >= 0)
}
