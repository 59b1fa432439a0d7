import { parentPort, workerData } from 'node:worker_threads'
import { toWireError } from '../inbox/rpc.ts'
import type { CheckMessage } from './check-handlers.ts'
import { installResolveHook } from './resolve-hook.ts'
import { toHandlerInfo } from './runner-protocol.ts'
import { loadSources, type HandlerSources } from './sources.ts'

const sources = workerData as HandlerSources
const tell = (message: CheckMessage) => parentPort?.postMessage(message)

installResolveHook(sources.handlersDir, (importing) => tell({ importing }))
loadSources(sources, () => []).then(
  (handlers) => tell({ handlers: handlers.map(toHandlerInfo) }),
  (error: unknown) => tell({ error: toWireError(error) }),
)
