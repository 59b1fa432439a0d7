import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { trimMemory } from '../../base/trim-memory.ts'
import { answerCalls, serveDispatchStore, toWireError } from '../rpc.ts'
import { openFileStore, type StartupIntegrityReport } from './open.ts'
import { createWriteSide } from './write-side.ts'
import type { WriterHealth } from './writer.ts'
import type { CrashedRun } from '../port.ts'
import type { OnWarning } from '../types.ts'

/** The thread that owns the only writing connection. It answers calls on its own port and on attached ports. */
export interface WriterThreadData {
  readonly file: string
}

type WireError = ReturnType<typeof toWireError>

/** Messages of the thread, apart from replies. `ready`: the file is open. `refused`: it can't be served. */
export type WriterMessage =
  | {
      readonly ready: {
        readonly integrity: StartupIntegrityReport
        readonly deadAtStart: readonly CrashedRun[]
        /** Names of the calls that it answers. */
        readonly names: readonly string[]
      }
    }
  | { readonly refused: WireError }
  | { readonly health: WriterHealth }
  | { readonly warning: { readonly message: string; readonly details: Readonly<Record<string, unknown>> } }
  | { readonly upgrade: { readonly step: string; readonly done: number } }
  | { readonly failure: WireError }

const heartbeatMs = 5_000

async function start(main: MessagePort, { file }: WriterThreadData): Promise<void> {
  const post = (message: WriterMessage) => main.postMessage(message)
  const onWarning: OnWarning = (message, details) => post({ warning: { message, details } })
  const open = await openFileStore(file, {
    clock: systemClock,
    onUpgrade: (step, done) => post({ upgrade: { step, done } }),
  })
  const writeSide = createWriteSide(open, {
    clock: systemClock,
    lingerMs: 2,
    onHealth: (health) => post({ health }),
    onFailure: (error) => post({ failure: toWireError(error) }),
    onJobError: (job, error) => onWarning('job step failed', { job, error: messageOf(error) }),
  })
  // With its own port, the dispatcher's calls don't go through the main thread.
  answerCalls(main, { ...writeSide, attach: (port: MessagePort) => serveDispatchStore(port, writeSide) })
  const beat = async () => {
    const gap = await writeSide.beat()
    if (gap === null) return
    const [from, to] = [gap.from, gap.to].map((ms) => new Date(ms).toISOString())
    onWarning('process stood still', { from, to, advice: 'run onchain-inbox doctor' })
  }
  // The heartbeat shows the next process when this one was last alive.
  setInterval(() => void beat().catch(() => {}), heartbeatMs).unref()
  trimMemory()
  post({ ready: { integrity: open.integrity, deadAtStart: open.store.deadAtStart, names: Object.keys(writeSide) } })
}

if (parentPort) {
  const main = parentPort
  start(main, workerData as WriterThreadData).catch((error: unknown) => {
    main.postMessage({ refused: toWireError(error) } satisfies WriterMessage)
    main.close()
  })
}
