import { MessageChannel, type MessagePort, type Transferable, type Worker } from 'node:worker_threads'
import { InboxError, errorCatalogue, messageOf, type ErrorCode } from '../base/errors.ts'
import type { DispatchStore } from './port.ts'
import { TransientMap } from '../base/transient-map.ts'
import { codecs } from './wire.ts'

// Calls over a message port: lists of `{call, op, args}` one way, of `{call, value}` or `{call, error}` back. `call`: number of the call.

type Endpoint = Pick<MessagePort | Worker, 'postMessage'>

interface Call {
  readonly call: number
  readonly op: string
  readonly args: readonly unknown[]
}

type Reply =
  | { readonly call: number; readonly value: unknown }
  | { readonly call: number; readonly error: { readonly code: string; readonly message: string } }

/**
 * Sends all messages of one turn of the event loop together. Waking the other thread costs more than a call: one message per call needs an
 * eighth more processor time per event.
 */
class Outbox {
  readonly #endpoint: Endpoint
  #messages: unknown[] = []
  #transfer: Transferable[] = []

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint
  }

  post(message: Call | Reply, transfer: readonly Transferable[] = []): void {
    // A tick runs after all promise callbacks that are due now.
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

/** The calling side. */
export class Caller {
  readonly #outbox: Outbox
  #waiting = new TransientMap<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  #calls = 0
  #ended: Error | undefined

  constructor(endpoint: Endpoint) {
    this.#outbox = new Outbox(endpoint)
  }

  /** `transfer`: arguments to move to the other side instead of copying them. */
  call<T>(op: string, args: readonly unknown[], transfer?: readonly Transferable[]): Promise<T> {
    if (this.#ended) return Promise.reject(this.#ended)
    return new Promise<T>((resolve, reject) => {
      const call = ++this.#calls
      const { pack, unpackResult } = codecs[op] ?? {}
      this.#waiting.set(call, {
        resolve: unpackResult === undefined ? resolve : (value) => resolve(unpackResult(value) as T),
        reject,
      })
      this.#outbox.post({ call, op, args: pack === undefined ? args : [pack(args[0] as never)] }, transfer)
    })
  }

  /** Call with each incoming message. Returns false if it contains no replies. */
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

  /** Rejects all pending and later calls. */
  end(error: Error): void {
    this.#ended ??= error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting = new TransientMap()
  }
}

/** The methods of `T`, called over a port. */
export type Remote<T> = {
  readonly [M in keyof T]: T[M] extends (...args: infer A) => infer R ? (...args: A) => Promise<Awaited<R>> : never
}

/** Builds methods that pass their arguments to `call`. */
export function remote<T, M extends keyof T & string = keyof T & string>(
  call: (op: string, args: readonly unknown[]) => Promise<unknown>,
  names: readonly M[],
): Remote<Pick<T, M>> {
  const methods = names.map((name) => [name, (...args: readonly unknown[]) => call(name, args)])
  return Object.fromEntries(methods) as Remote<Pick<T, M>>
}

/** Answers calls at `port` with the methods of `target`. */
export function answerCalls(port: MessagePort, target: object): void {
  const outbox = new Outbox(port)
  const methods = new Map(Object.entries(target) as [string, (...args: unknown[]) => unknown][])

  async function answer(op: string, args: readonly unknown[]): Promise<unknown> {
    const method = methods.get(op)
    if (method === undefined) throw new Error(`there is no operation ${op}`)
    const { unpack, packResult } = codecs[op] ?? {}
    const result = await (unpack === undefined ? method(...args) : method(unpack(args[0] as never)))
    return packResult === undefined ? result : packResult(result as never)
  }

  port.on('message', (calls: readonly Call[]) => {
    for (const { call, op, args } of calls) {
      answer(op, args).then(
        (value) => outbox.post({ call, value }),
        (error: unknown) => outbox.post({ call, error: toWireError(error) }),
      )
    }
  })
}

const dispatchMethods = ['register', 'claim', 'readState', 'settle', 'retire', 'release', 'reap'] as const

/** Answers calls of a dispatcher in another thread: only of the methods above. */
export function serveDispatchStore(port: MessagePort, inbox: DispatchStore): void {
  answerCalls(port, Object.fromEntries(dispatchMethods.map((name) => [name, inbox[name]])))
}

/** Opens a port for `connectDispatchStore` to an inbox in this thread. */
export function openDispatchChannel(inbox: DispatchStore): MessagePort {
  const { port1, port2 } = new MessageChannel()
  serveDispatchStore(port2, inbox)
  port2.unref()
  return port1
}

/** The dispatcher's part of an inbox in another thread, over a port of `openDispatchChannel`. */
export function connectDispatchStore(port: MessagePort): DispatchStore {
  const caller = new Caller(port)
  port.on('message', (message) => caller.receive(message))
  return remote<DispatchStore>((op, args) => caller.call(op, args), dispatchMethods)
}

export function toWireError(thrown: unknown): { code: string; message: string } {
  return { code: thrown instanceof InboxError ? thrown.code : 'internal', message: messageOf(thrown) }
}

export function fromWireError(error: { readonly code: string; readonly message: string }): InboxError {
  return new InboxError(error.code in errorCatalogue ? (error.code as ErrorCode) : 'internal', error.message)
}
