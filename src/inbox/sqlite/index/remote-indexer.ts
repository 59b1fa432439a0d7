import { Worker } from 'node:worker_threads'
import { InboxError, messageOf } from '../../../base/errors.ts'
import { siblingModule } from '../../../base/sibling-module.ts'
import type { IndexStatus } from '../../index-port.ts'
import { Caller, plain } from '../../rpc.ts'
import { indexFileOf } from './file.ts'
import type { IndexerThreadData } from './indexer-thread.ts'
import { indexOff } from '../../index-status.ts'

/** The thread of the index as the main thread sees it. */
export interface RemoteIndexer {
  status(): Promise<IndexStatus>
  /** Throws the index away and begins anew. `damage`: what was found wrong with it; null: somebody asked for it. */
  rebuild(damage: string | null): Promise<void>
  close(): Promise<void>
}

/** A look at a whole large file can take longer; then it is ended in the middle, which harms nothing. */
const closeWithinMs = 2_000

/** Starts the thread. That it dies is a warning, and the index is off; it is started again by `rebuild`. */
export function startIndexer(file: string, onWarning: (text: string) => void): RemoteIndexer {
  let isClosed = false
  let thread = start()

  function start() {
    const worker = new Worker(siblingModule(import.meta.url, './indexer-thread'), {
      workerData: { file, indexFile: indexFileOf(file) } satisfies IndexerThreadData,
      name: 'indexer',
      resourceLimits: { maxYoungGenerationSizeMb: 12 },
    })
    const caller = new Caller(worker)
    const state = { worker, caller, death: null as string | null }
    const die = (reason: string) => {
      if (state.death !== null || isClosed) return
      state.death = reason
      caller.end(new InboxError('store_unavailable', `the thread of the index ended: ${reason}`))
      onWarning(`the index is off until the next start, or until it is made anew: its thread ended: ${reason}`)
    }
    worker.on('message', (message: unknown) => {
      if (caller.receive(message)) return
      if (isWarning(message)) onWarning(message.warning)
    })
    worker.on('error', (error) => die(messageOf(error)))
    worker.on('exit', (code) => die(`it ended with code ${code}`))
    return state
  }

  async function close(): Promise<void> {
    isClosed = true
    const { worker, caller } = thread
    const closing = caller.call('close', plain(undefined)).catch(() => {})
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise((resolve) => (timer = setTimeout(resolve, closeWithinMs)))
    await Promise.race([closing, tooLong])
    clearTimeout(timer)
    caller.end(new InboxError('shutting_down', 'the inbox is closed'))
    await worker.terminate()
  }

  return {
    async status() {
      try {
        return await thread.caller.call<IndexStatus>('status', plain(undefined))
      } catch (error) {
        if (isClosed) throw error
        return indexOff(messageOf(error))
      }
    },
    async rebuild(damage) {
      if (thread.death !== null && !isClosed) thread = start()
      await thread.caller.call('rebuild', plain(damage))
    },
    close,
  }
}

function isWarning(message: unknown): message is { readonly warning: string } {
  return typeof message === 'object' && message !== null && 'warning' in message
}
