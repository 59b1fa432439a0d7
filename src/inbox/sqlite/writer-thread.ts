import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../clock.ts'
import { messageOf } from '../../errors.ts'
import type { Span } from '../../ladder.ts'
import { workOperations } from '../remote-work.ts'
import { answerCalls, toWireError, type Packed } from '../rpc.ts'
import { packResults, unpackArrivals, type WireBatch } from '../wire.ts'
import type { Acts } from './acts.ts'
import type { Synchronous } from './connection.ts'
import type { NewReplay } from '../port.ts'
import { Jobs } from '../jobs.ts'
import { openFileStore } from './open.ts'
import { createWriteSide, jobsOf } from './write-side.ts'
import { Writer } from './writer.ts'

/** The thread that owns the one writing connection. It answers calls on its own port and on every port it is handed. */
export interface WriterThreadData {
  readonly file: string
  readonly synchronous: Synchronous
}

const heartbeatMs = 5_000

/** The acts of an operator, each with its arguments as a list. */
function actOperations(acts: Acts) {
  const answer =
    <A extends unknown[]>(act: (...args: A) => Promise<unknown>) =>
    (args: A) =>
      plain(act(...args))
  return {
    setPaused: answer(acts.setPaused),
    setConcurrency: answer(acts.setConcurrency),
    requeueDead: answer(acts.requeueDead),
    dropDead: answer(acts.dropDead),
    dropOpenRuns: answer(acts.dropOpenRuns),
    retryQuarantined: answer(acts.retryQuarantined),
    dropQuarantined: answer(acts.dropQuarantined),
    prune: answer(acts.prune),
    acknowledgeGaps: answer(acts.acknowledgeGaps),
    beginSubscription: answer(acts.beginSubscription),
    endSubscription: answer(acts.endSubscription),
    note: answer(acts.note),
  }
}

function describeStandstill({ from, to }: Span): string {
  const [since, until] = [from, to].map((ms) => new Date(ms).toISOString())
  return `nothing was taken from ${since} to ${until}: the process stood still, could not write, or its clock was set forward; onchain-inbox doctor says what it costs`
}

const plain = async (value: Promise<unknown>): Promise<Packed> => ({ value: await value, transfer: [] })

async function start(main: MessagePort, data: WriterThreadData): Promise<void> {
  const clock = systemClock
  const open = await openFileStore(data.file, { clock, synchronous: data.synchronous })
  const writer = new Writer({
    store: open.store,
    clock,
    lingerMs: 2,
    onHealth: (health) => main.postMessage({ health }),
    onFailure: (error) => main.postMessage({ failure: toWireError(error) }),
    onCommit: () => open.committed(),
  })
  const jobs = new Jobs(jobsOf(writer, open.store), clock, (job, error) => {
    main.postMessage({ warning: `${job} fails and is tried again: ${messageOf(error)}` })
  })
  const side = createWriteSide(writer, jobs)
  const operations = {
    ...workOperations(side),
    accept: async (wire: WireBatch) => packResults(await side.accept(unpackArrivals(wire))),
    ...actOperations(side),
    startReplay: ([replay, by]: [NewReplay, string?]) => plain(side.startReplay(replay, by)),
    startServing: () => plain(side.startServing()),
    cancelReplay: ([id, by]: [number, string?]) => plain(side.cancelReplay(id, by)),
    /** Answers the dispatcher's calls on another port, without a detour through the main thread. */
    attach: async (port: MessagePort): Promise<Packed> => {
      answerCalls(port, workOperations(side))
      return { value: undefined, transfer: [] }
    },
    foundWell: () => plain(writer.run((store) => store.foundWell(), true)),
    close: async (): Promise<Packed> => {
      jobs.stop()
      await writer.run(({ gaps }) => gaps.end()).catch(() => {})
      await writer.close()
      open.close()
      return { value: undefined, transfer: [] }
    },
  }
  answerCalls(main, operations)
  const beat = async () => {
    const gap = await writer.run(({ gaps }) => gaps.beat(), true)
    if (gap !== null) main.postMessage({ warning: describeStandstill(gap) })
  }
  // So that the next process can tell when this one was last alive.
  setInterval(() => void beat().catch(() => {}), heartbeatMs).unref()
  jobs.poke()
  main.postMessage({ ready: { evidence: open.evidence, deadAtStart: open.store.deadAtStart } })
}

if (parentPort) {
  const main = parentPort
  start(main, workerData as WriterThreadData).catch((error: unknown) => {
    main.postMessage({ refused: toWireError(error) })
    main.close()
  })
}
