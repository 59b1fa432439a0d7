import { TerminalError } from '../base/errors.ts'
import type { StateEntry, StateRead, StateWrite } from '../inbox/port.ts'
import { afterKey, compareKeys, isStateKey, isStatePrefix, maxStateKeyLength } from '../inbox/state-keys.ts'
import { parseJson, toJson } from './outbox.ts'
import type { StateCache } from './state-cache.ts'

export interface SetStateOptions {
  /** After so many milliseconds it is as if the value were not there. Default: never. */
  readonly ttlMs?: number
}

export interface ListStateOptions {
  /** Go on behind this key. */
  readonly after?: string
  /** At most so many, from 1 to 1,000. Default 100. */
  readonly limit?: number
}

/**
 * Values that one handler keeps, by key: JSON, each up to 256 KiB; keys up to 512 characters. A run sees what it wrote itself. What it
 * wrote is stored together with its end, or not at all. Where another run changed what this one read, it is run again, so
 * that reading, changing and writing a value loses nothing however many runs do it.
 *
 * What cannot be kept throws TerminalError; so does any use once the run is over.
 */
export interface HandlerState {
  /** The value, or undefined. A copy: changing it changes nothing here. */
  get<T = unknown>(key: string): Promise<T | undefined>
  set(key: string, value: unknown, options?: SetStateOptions): void
  delete(key: string): void
  /** Keys that begin with `prefix` with their values, in order of the keys. */
  list<T = unknown>(prefix: string, options?: ListStateOptions): Promise<[key: string, value: T][]>
}

/** One run can read and write no more than this. */
const mostOperations = 1_000
const longestValue = 256 * 1024
const mostListed = 1_000
/** All that one run writes, in characters. */
const mostWritten = 8 * 1024 * 1024
const longestTtlMs = 100 * 365 * 24 * 3_600_000

/** What its state needs to know of a run. */
interface Run {
  readonly isOver: boolean
  now(): number
}

/** The state as one run sees it: what it read stays as it was, what it wrote is told to nobody yet. */
export class RunState implements HandlerState {
  readonly #cache: StateCache
  readonly #run: Run
  readonly #seen = new Map<string, StateEntry | null | Promise<StateEntry | null>>()
  readonly #reads: StateRead[] = []
  readonly #writes = new Map<string, StateWrite>()
  #written = 0

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
    const found = this.#writes.get(key) ?? this.#see(key)
    const entry = found instanceof Promise ? await found : found
    return entry === null || entry.value === null || this.#hasExpired(entry) ? undefined : parseJson<T>(entry.value)
  }

  set(key: string, value: unknown, options: SetStateOptions = {}): void {
    this.#check(key)
    const text = toJson(value, `the value of the state ${JSON.stringify(key)}`, longestValue)
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
    // Of what is stored as many more, because some of it may have been deleted here.
    const query = { prefix, after, limit: limit + written.length }
    const found = await this.#cache.list(query)
    this.#note({ query, found: found.map(({ key, version }) => ({ key, version })) })
    const entries = new Map<string, Pick<StateWrite, 'value' | 'expiresAt'>>(found.map((entry) => [entry.key, entry]))
    for (const write of written) entries.set(write.key, write)
    return [...entries]
      .filter((entry): entry is [string, { value: string; expiresAt: number | null }] => entry[1].value !== null)
      .filter(([, entry]) => !this.#hasExpired(entry))
      .toSorted(([a], [b]) => compareKeys(a, b))
      .slice(0, limit)
      .map(([key, { value }]) => [key, parseJson<T>(value)])
  }

  /** What was there when this run first looked. */
  #see(key: string): StateEntry | null | Promise<StateEntry | null> {
    const seen = this.#seen.get(key)
    if (seen !== undefined) return seen
    const known = this.#cache.peek(key)
    const looked =
      known === undefined ? this.#cache.get(key).then((entry) => this.#look(key, entry)) : this.#look(key, known)
    this.#seen.set(key, looked)
    return looked
  }

  #look(key: string, entry: StateEntry | null): StateEntry | null {
    const there = entry === null || this.#hasExpired(entry) ? null : entry
    this.#note({ query: { key }, found: there === null ? [] : [{ key, version: there.version }] })
    return there
  }

  #note(read: StateRead): void {
    if (this.#reads.length >= mostOperations)
      throw new TerminalError(`one run can read state ${mostOperations} times, and this is once more`)
    this.#reads.push(read)
  }

  #write(write: StateWrite): void {
    if (this.#writes.size >= mostOperations && !this.#writes.has(write.key))
      throw new TerminalError(`one run can write ${mostOperations} keys of its state, and this is one more`)
    this.#written += write.value?.length ?? 0
    if (this.#written > mostWritten)
      throw new TerminalError(`one run can write ${mostWritten} characters of JSON to its state, and this is more`)
    this.#writes.set(write.key, write)
  }

  #hasExpired({ expiresAt }: Pick<StateEntry, 'expiresAt'>): boolean {
    return expiresAt !== null && expiresAt <= this.#run.now()
  }

  #expiryOf({ ttlMs }: SetStateOptions): number | null {
    if (ttlMs === undefined) return null
    if (typeof ttlMs === 'number' && ttlMs >= 1 && ttlMs <= longestTtlMs) return Math.ceil(this.#run.now() + ttlMs)
    throw new TerminalError(`ttlMs of a state has to be a number of milliseconds from 1 to ${longestTtlMs}`)
  }

  #check(key: string): void {
    this.#checkOpen()
    if (!isStateKey(key))
      throw new TerminalError(
        `a key of the state has to be text of 1 to ${maxStateKeyLength} characters, well-formed, without U+0000 and U+10FFFF`,
      )
  }

  #checkList(prefix: string, after: string | null, limit: number): void {
    this.#checkOpen()
    if (!isStatePrefix(prefix) || (after !== null && !isStatePrefix(after)))
      throw new TerminalError(`the prefix of a list of the state, and \`after\`, have to be text that can begin a key`)
    if (!Number.isInteger(limit) || limit < 1 || limit > mostListed)
      throw new TerminalError(`the limit of a list of the state has to be a whole number from 1 to ${mostListed}`)
  }

  #checkOpen(): void {
    if (this.#run.isOver) throw new TerminalError('ctx.state was used after its run had ended: is an `await` missing?')
  }
}

function isListed(key: string, prefix: string, after: string | null): boolean {
  return key.startsWith(prefix) && (after === null || compareKeys(key, afterKey(after, prefix)) >= 0)
}
