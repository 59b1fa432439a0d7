import type { MessagePort, Transferable, Worker } from 'node:worker_threads'
import { InboxError, errorCatalogue, messageOf, type ErrorCode } from '../base/errors.ts'

/** Calls over a message port: lists of `{call, op, args}` one way, of `{call, value}` or `{call, error}` back. */
type Endpoint = Pick<MessagePort | Worker, 'postMessage'>

interface Call {
  readonly call: number
  readonly op: string
  readonly args: unknown
}

type Reply =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly error: { readonly code: string; readonly message: string } }

/** A value for the other side, with what is to be moved there instead of copied. */
export interface Packed {
  readonly value: unknown
  readonly transfer: readonly Transferable[]
}

/**
 * What is posted within one turn of the event loop leaves as one message: waking the other thread costs more than a call.
 */
class Outbox {
  readonly #endpoint: Endpoint
  #messages: unknown[] = []
  #transfer: Transferable[] = []

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint
  }

  post(message: Call | Reply, transfer: readonly Transferable[]): void {
    // A tick comes after all promise callbacks that are due by now.
    if (this.#messages.length === 0) process.nextTick(() => this.#flush())
    this.#messages.push(message)
    this.#transfer.push(...transfer)
  }

  #flush(): void {
    const [messages, transfer] = [this.#messages, this.#transfer]
    this.#messages = []
    this.#transfer = []
    this.#endpoint.postMessage(messages, transfer)
  }
}

export class Caller {
  readonly #outbox: Outbox
  readonly #waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #calls = 0
  #ended: Error | undefined

  constructor(endpoint: Endpoint) {
    this.#outbox = new Outbox(endpoint)
  }

  call<T>(op: string, packed: Packed): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended)
    return new Promise<T>((resolve, reject) => {
      const call = ++this.#calls
      this.#waiting.set(call, { resolve, reject })
      this.#outbox.post({ call, op, args: packed.value }, packed.transfer)
    })
  }

  /** To be given each message that arrives; false if it holds no replies. */
  receive(message: unknown): boolean {
    if (!Array.isArray(message)) return false
    for (const reply of message as Reply[]) {
      const waiting = this.#waiting.get(reply.call)
      this.#waiting.delete(reply.call)
      if ('error' in reply) waiting?.reject(fromWireError(reply.error))
      else waiting?.resolve(reply.value as never)
    }
    return true
  }

  /** Rejects what waits and all later calls. */
  end(error: Error): void {
    this.#ended ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

type Method = (...args: never[]) => unknown

/** The same methods on the other side of a port. */
export type Remote<T> = {
  readonly [M in keyof T]: T[M] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never
}

export const plain = (value: unknown): Packed => ({ value, transfer: [] })

/** Calls the named methods of the object that `operationsOf` answers for. Arguments and results are copied. */
export function remote<T, M extends keyof T & string>(
  call: (op: string, packed: Packed) => Promise<unknown>,
  names: readonly M[],
): Remote<Pick<T, M>> {
  const methods = names.map((name) => [name, (...args: readonly unknown[]) => call(name, plain(args))])
  return Object.fromEntries(methods) as Remote<Pick<T, M>>
}

type Operations = Readonly<Record<string, (args: never) => Promise<Packed>>>

/** Every method of `target` as an operation for `answerCalls`. */
export function operationsOf(target: object): Operations {
  const methods = Object.entries(target) as [string, Method][]
  return Object.fromEntries(
    methods.map(([name, method]) => [name, async (args: never[]) => plain(await method(...args))]),
  )
}

/** Answers calls that arrive at `port` by `operations`. */
export function answerCalls(port: MessagePort, operations: Operations): void {
  const outbox = new Outbox(port)
  port.on('message', (calls: readonly Call[]) => {
    for (const { call, op, args } of calls) {
      const operation = operations[op] ?? (() => Promise.reject(new Error(`there is no operation ${op}`)))
      operation(args as never).then(
        ({ value, transfer }) => outbox.post({ call, value }, transfer),
        (error: unknown) => outbox.post({ call, error: toWireError(error) }, []),
      )
    }
  })
}

export function toWireError(thrown: unknown): { code: string; message: string } {
  return { code: thrown instanceof InboxError ? thrown.code : 'internal', message: messageOf(thrown) }
}

export function fromWireError(error: { readonly code: string; readonly message: string }): InboxError {
  return new InboxError(error.code in errorCatalogue ? (error.code as ErrorCode) : 'internal', error.message)
}
