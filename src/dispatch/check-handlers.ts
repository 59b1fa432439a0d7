import { MessageChannel, receiveMessageOnPort, Worker, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { fromWireError, toWireError } from '../inbox/rpc.ts'
import { siblingModule } from '../base/sibling-module.ts'
import { installResolveHook } from './resolve-hook.ts'
import { toHandlerInfo, type HandlerInfo } from './runner-protocol.ts'
import { loadSources, type HandlerSources } from './sources.ts'

/** Time limit of a check, in milliseconds. Shorter than the limit of `serve`, because a person waits for it. */
const checkMs = 10_000

/**
 * Loads all handlers as `serve` would, in a separate thread, without running any. Throws `handler_invalid` or
 * `handler_duplicate`.
 */
export async function checkHandlers(
  sources: HandlerSources,
  limitMs: number = checkMs,
): Promise<readonly HandlerInfo[]> {
  // Not `parentPort`: handler code can post to that.
  const { port1, port2: port } = new MessageChannel()
  const worker = new Worker(siblingModule(import.meta.url, './check-handlers'), {
    workerData: { ...sources, checkPort: port } satisfies CheckData,
    transferList: [port],
  })
  const checked = Promise.withResolvers<readonly HandlerInfo[]>()
  let lastRead: string | undefined
  function receive(message: CheckMessage): void {
    if ('importing' in message) lastRead = message.importing
    else if ('handlers' in message) checked.resolve(message.handlers)
    else checked.reject(fromWireError(message.error))
  }
  function refuse(problem: string): void {
    // The error or exit event may overtake the last messages.
    for (let left = receiveMessageOnPort(port1); left !== undefined; left = receiveMessageOnPort(port1))
      receive(left.message as CheckMessage)
    const place = lastRead === undefined ? '' : `; last file read: ${lastRead}`
    checked.reject(
      new InboxError('handler_invalid', `the handlers in ${sources.handlersDir} cannot be loaded: ${problem}${place}`),
    )
  }
  port1.on('message', receive)
  worker.on('error', (error) => refuse(error instanceof Error ? (error.stack ?? error.message) : 'a file threw'))
  worker.on('exit', (code) =>
    refuse(`a file ended the thread with exit code ${code}, or awaits a promise that never settles`),
  )
  const late = systemClock.after(limitMs, () => refuse(`loading took longer than ${limitMs} ms`))
  try {
    return await checked.promise
  } finally {
    late.cancel()
    port1.close()
    // Not awaited: a thread in a native call ends only when that call returns.
    void worker.terminate()
  }
}

type CheckMessage =
  | { readonly importing: string }
  | { readonly handlers: readonly HandlerInfo[] }
  | { readonly error: { readonly code: string; readonly message: string } }

type CheckData = HandlerSources & { readonly checkPort: MessagePort }

function isCheck(data: unknown): data is CheckData {
  return typeof data === 'object' && data !== null && 'checkPort' in data
}

if (isCheck(workerData)) {
  const { checkPort, ...sources } = { ...workerData }
  // Handler code can read `workerData`; it must not reach the port.
  for (const name of Object.keys(workerData)) Reflect.deleteProperty(workerData, name)
  const post = (message: CheckMessage) => checkPort.postMessage(message)
  installResolveHook(sources.handlersDir, (importing) => post({ importing }))
  loadSources(sources, () => []).then(
    (handlers) => post({ handlers: handlers.map(toHandlerInfo) }),
    (error: unknown) => post({ error: toWireError(error) }),
  )
}
