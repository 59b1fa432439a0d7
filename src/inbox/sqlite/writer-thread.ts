import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { answerCalls, serveDispatchStore, toWireError } from '../rpc.ts'
import type { Synchronous } from './connection.ts'
import { openFileStore, type StartupIntegrityReport } from './open.ts'
import { createWriteSide } from './write-side.ts'
import type { WriterHealth } from './writer.ts'
import type { CrashedRun } from '../port.ts'

/** The thread that owns the one writing connection. It answers calls on its own port and on every port it is handed. */
export interface WriterThreadData {
  readonly file: string
  readonly synchronous: Synchronous
}

type WireError = ReturnType<typeof toWireError>

/** What the thread posts beside answers. `ready` and `refused`: the file is open, or can't be served. */
export type WriterMessage =
  | {
      readonly ready: {
        readonly integrity: StartupIntegrityReport
        readonly deadAtStart: readonly CrashedRun[]
        /** The names of the calls that it answers. */
        readonly names: readonly string[]
      }
    }
  | { readonly refused: WireError }
  | { readonly health: WriterHealth }
  | { readonly warning: string }
  | { readonly upgrade: { readonly step: string; readonly done: number } }
  | { readonly failure: WireError }

const heartbeatMs = 5_000

async function start(main: MessagePort, { file, synchronous }: WriterThreadData): Promise<void> {
  const post = (message: WriterMessage) => main.postMessage(message)
  const onWarning = (warning: string) => post({ warning })
  const open = await openFileStore(file, {
    clock: systemClock,
    synchronous,
    onWarning,
    onUpgrade: (step, done) => post({ upgrade: { step, done } }),
  })
  const side = createWriteSide(open, {
    clock: systemClock,
    lingerMs: 2,
    onHealth: (health) => post({ health }),
    onFailure: (error) => post({ failure: toWireError(error) }),
    onJobError: (job, error) => onWarning(`${job} fails and is tried again: ${messageOf(error)}`),
  })
  // The dispatcher's port spares its calls a detour through the main thread.
  answerCalls(main, { ...side, attach: (port: MessagePort) => serveDispatchStore(port, side) })
  const beat = async () => {
    const gap = await side.beat()
    if (gap === null) return
    const [since, until] = [gap.from, gap.to].map((ms) => new Date(ms).toISOString())
    onWarning(
      `nothing was taken from ${since} to ${until}: the process stood still, could not write, or its clock was set forward; onchain-inbox doctor says what it costs`,
    )
  }
  // So that the next process can tell when this one was last alive.
  setInterval(() => void beat().catch(() => {}), heartbeatMs).unref()
  post({ ready: { integrity: open.integrity, deadAtStart: open.store.deadAtStart, names: Object.keys(side) } })
}

if (parentPort) {
  const main = parentPort
  start(main, workerData as WriterThreadData).catch((error: unknown) => {
    main.postMessage({ refused: toWireError(error) } satisfies WriterMessage)
    main.close()
  })
}
