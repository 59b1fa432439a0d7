import { TerminalError, messageOf } from '../base/errors.ts'
import type { Lease, NewItem } from '../inbox/port.ts'

/** The order of items at each known sink, by its name. */
export type KnownSinks = ReadonlyMap<string, 'key' | 'none'>

/** The sinks among handlers. */
export function sinksOf(
  handlers: readonly { readonly kind: 'handler' | 'sink'; readonly name: string; readonly order: 'key' | 'none' }[],
): KnownSinks {
  return new Map(handlers.filter(({ kind }) => kind === 'sink').map(({ name, order }) => [name, order]))
}

export interface EnqueueOptions {
  /** Ordering key at the sink; null: none. Default: the key of the run. */
  readonly key?: string | null
}

/** Maximum items per run, and characters of a payload and of a key. */
const maxItems = 1_000
const maxPayloadLength = 1024 * 1024
const maxKeyLength = 512
/** Maximum characters that a run may enqueue, all items together. */
const maxEnqueued = 8 * 1024 * 1024

/** The properties of a run that its outbox needs. */
interface Run {
  readonly lease: Pick<Lease, 'key'>
  readonly idempotencyKey: string
  readonly hasEnded: boolean
}

/** Items that a run leaves for sinks. They are stored only when the run ends. */
export class RunOutbox {
  readonly #sinks: KnownSinks
  readonly #run: Run
  readonly #items: NewItem[] = []
  #enqueued = 0

  constructor(sinks: KnownSinks, run: Run) {
    this.#sinks = sinks
    this.#run = run
  }

  get items(): readonly NewItem[] {
    return this.#items
  }

  /** Throws TerminalError if the item can never be delivered. */
  enqueue(sink: string, payload: unknown, options: EnqueueOptions = {}): void {
    if (this.#run.hasEnded)
      throw new TerminalError('ctx.enqueue was called after its run had ended: is an `await` missing?')
    const order = this.#sinks.get(sink)
    if (order === undefined) throw new TerminalError(`unknown sink ${String(sink)}; ${this.#listSinks()}`)
    if (this.#items.length >= maxItems) throw new TerminalError(`a run can enqueue at most ${maxItems} items`)
    const text = toJson(payload, `the payload for the sink ${sink}`, maxPayloadLength)
    this.#enqueued += text.length
    if (this.#enqueued > maxEnqueued)
      throw new TerminalError(`a run can enqueue at most ${maxEnqueued} characters of JSON`)
    const key = order === 'none' ? null : this.#keyOf(options)
    const idempotencyKey = `${this.#run.idempotencyKey}:${this.#items.length}`
    this.#items.push({ sink, key, payload: text, idempotencyKey })
  }

  #keyOf({ key }: EnqueueOptions): string | null {
    if (key === undefined) return this.#run.lease.key
    if (key === null || (typeof key === 'string' && key !== '' && key.length <= maxKeyLength && key.isWellFormed()))
      return key
    throw new TerminalError(`the key of an item must be well-formed text of 1 to ${maxKeyLength} characters, or null`)
  }

  #listSinks(): string {
    const names = [...this.#sinks.keys()].join(', ')
    return names === '' ? 'no sink is configured' : `known sinks: ${names}`
  }
}

/** Serializes a value to JSON of limited length. Error messages call it `label`. Throws TerminalError. */
export function toJson(value: unknown, label: string, maxLength: number): string {
  const text = stringify(value, label)
  if (text === undefined)
    throw new TerminalError(`${label} cannot be written as JSON: expected data, received ${typeof value}`)
  if (text.length > maxLength)
    throw new TerminalError(`${label} must be at most ${maxLength} characters of JSON (got ${text.length})`)
  return text
}

function stringify(value: unknown, label: string): string | undefined {
  try {
    // `undefined` for values without JSON, such as functions.
    return JSON.stringify(value) as string | undefined
  } catch (error) {
    throw new TerminalError(`${label} cannot be written as JSON: ${messageOf(error)}`, { cause: error })
  }
}

export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T
}
