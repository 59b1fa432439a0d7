import { workerData, type MessagePort } from 'node:worker_threads'
import { toWireError } from '../inbox/rpc.ts'
import type { CheckMessage } from './check-handlers.ts'
import { installResolveHook } from './resolve-hook.ts'
import { toHandlerInfo } from './runner-protocol.ts'
import { loadSources, type HandlerSources } from './sources.ts'

const { port, ...sources } = { ...(workerData as HandlerSources & { readonly port: MessagePort }) }
// Handler code can read `workerData`. It must not get at the port.
for (const name of Object.keys(workerData as object)) Reflect.deleteProperty(workerData as object, name)
const tell = (message: CheckMessage) => port.postMessage(message)

installResolveHook(sources.handlersDir, (importing) => tell({ importing }))
loadSources(sources, () => []).then(
  (handlers) => tell({ handlers: handlers.map(toHandlerInfo) }),
  (error: unknown) => tell({ error: toWireError(error) }),
)
