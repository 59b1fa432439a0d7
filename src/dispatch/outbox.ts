import { TerminalError, messageOf } from '../base/errors.ts'
import type { Lease, NewItem } from '../inbox/port.ts'

/** The sinks there are, by name. */
export type KnownSinks = ReadonlyMap<string, Pick<SinkInfo, 'order'>>

/** What runs need to know of a sink in order to leave something for it. */
export interface SinkInfo {
  readonly name: string
  readonly order: 'key' | 'none'
}

/** The sinks among handlers. */
export function sinksOf(handlers: readonly (SinkInfo & { readonly kind: 'handler' | 'sink' })[]): SinkInfo[] {
  return handlers.filter(({ kind }) => kind === 'sink').map(({ name, order }) => ({ name, order }))
}

export function toKnownSinks(sinks: readonly SinkInfo[]): KnownSinks {
  return new Map(sinks.map((sink) => [sink.name, sink]))
}

export interface EnqueueOptions {
  /** What order is kept by at the sink; null: none. Default: that of the run. */
  readonly key?: string | null
}

const mostItems = 1_000
const longestPayload = 1024 * 1024
const longestKey = 512
/** All that one run enqueues, in characters. */
const mostEnqueued = 8 * 1024 * 1024

/** What its outbox needs to know of a run. */
interface Run {
  readonly lease: Pick<Lease, 'key'>
  readonly idempotencyKey: string
  readonly isOver: boolean
}

/** What one run leaves for sinks: told to nobody before the run ends. */
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

  /** Throws TerminalError where it can never be passed on. */
  enqueue(sink: string, payload: unknown, options: EnqueueOptions = {}): void {
    if (this.#run.isOver)
      throw new TerminalError('ctx.enqueue was called after its run had ended: is an `await` missing?')
    const known = this.#sinks.get(sink)
    if (known === undefined) throw new TerminalError(`there is no sink called ${String(sink)}; ${this.#saySinks()}`)
    if (this.#items.length >= mostItems) throw new TerminalError(`one run can enqueue ${mostItems} items at most`)
    const text = toJson(payload, `the payload for the sink ${sink}`, longestPayload)
    this.#enqueued += text.length
    if (this.#enqueued > mostEnqueued)
      throw new TerminalError(`one run can enqueue ${mostEnqueued} characters of JSON, and this is more`)
    const key = known.order === 'none' ? null : this.#keyOf(options)
    const idempotencyKey = `${this.#run.idempotencyKey}:${this.#items.length}`
    this.#items.push({ sink, key, payload: text, idempotencyKey })
  }

  #keyOf({ key }: EnqueueOptions): string | null {
    if (key === undefined) return this.#run.lease.key
    if (key === null || (typeof key === 'string' && key !== '' && key.length <= longestKey && key.isWellFormed()))
      return key
    throw new TerminalError(`the key of an item has to be well-formed text of 1 to ${longestKey} characters, or null`)
  }

  #saySinks(): string {
    const names = [...this.#sinks.keys()].join(', ')
    return names === '' ? 'no sink is set up' : `there are: ${names}`
  }
}

/** A value as JSON text of limited length; `what` names it where it is none. Throws TerminalError. */
export function toJson(value: unknown, what: string, longest: number): string {
  const text = stringify(value, what)
  if (text === undefined)
    throw new TerminalError(`${what} cannot be written as JSON: expected data, received ${typeof value}`)
  if (text.length > longest)
    throw new TerminalError(`${what} is ${text.length} characters of JSON long, and can be ${longest} at most`)
  return text
}

function stringify(value: unknown, what: string): string | undefined {
  try {
    // `undefined` where there is no JSON for it, a function for instance.
    return JSON.stringify(value) as string | undefined
  } catch (error) {
    throw new TerminalError(`${what} cannot be written as JSON: ${messageOf(error)}`, { cause: error })
  }
}

export function parseJson<T>(text: string): T {
  return JSON.parse(text) as T
}
