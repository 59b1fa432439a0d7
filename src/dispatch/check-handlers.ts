import { MessageChannel, Worker } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { fromWireError } from '../inbox/rpc.ts'
import { siblingModule } from '../base/sibling-module.ts'
import type { HandlerInfo } from './runner-protocol.ts'
import type { HandlerSources } from './sources.ts'

/** Limit for a check, in milliseconds. Shorter than that of `serve`, because a person waits for it. */
const checkMs = 10_000

/**
 * Loads all handlers as `serve` would, in a thread of their own, runs none of them, and tells what they are.
 * Throws `handler_invalid` or `handler_duplicate`.
 */
export async function checkHandlers(
  sources: HandlerSources,
  limitMs: number = checkMs,
): Promise<readonly HandlerInfo[]> {
  // Not `parentPort`, which handler code can post to.
  const { port1, port2: port } = new MessageChannel()
  const worker = new Worker(siblingModule(import.meta.url, './check-thread'), {
    workerData: { ...sources, port },
    transferList: [port],
  })
  const checked = Promise.withResolvers<readonly HandlerInfo[]>()
  let lastRead: string | undefined
  function refuse(problem: string): void {
    const place = lastRead === undefined ? '' : `; the last file that it read is ${lastRead}`
    checked.reject(
      new InboxError('handler_invalid', `the handlers in ${sources.handlersDir} cannot be loaded: ${problem}${place}`),
    )
  }
  port1.on('message', (message: CheckMessage) => {
    if ('importing' in message) lastRead = message.importing
    else if ('handlers' in message) checked.resolve(message.handlers)
    else checked.reject(fromWireError(message.error))
  })
  worker.on('error', (error) => refuse(error instanceof Error ? (error.stack ?? error.message) : 'a file threw'))
  worker.on('exit', (code) => refuse(`a file ended its thread with code ${code}, or waits for what never comes`))
  const late = systemClock.after(limitMs, () => refuse(`it takes longer than ${limitMs} ms`))
  try {
    return await checked.promise
  } finally {
    late.cancel()
    port1.close()
    // Not awaited: a thread inside a native call ends only when that returns.
    void worker.terminate()
  }
}

export type CheckMessage =
  | { readonly importing: string }
  | { readonly handlers: readonly HandlerInfo[] }
  | { readonly error: { readonly code: string; readonly message: string } }
