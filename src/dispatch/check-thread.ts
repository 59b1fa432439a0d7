import { parentPort, workerData } from 'node:worker_threads'
import { toWireError } from '../inbox/rpc.ts'
import type { CheckMessage } from './check-handlers.ts'
import { loadHandlers } from './registry.ts'
import { installResolveHook } from './resolve-hook.ts'
import { toHandlerInfo } from './runner-protocol.ts'

const dir = workerData as string
const tell = (message: CheckMessage) => parentPort?.postMessage(message)

installResolveHook(dir)
loadHandlers(dir).then(
  (handlers) => tell({ handlers: handlers.map(toHandlerInfo) }),
  (error: unknown) => tell({ error: toWireError(error) }),
)
