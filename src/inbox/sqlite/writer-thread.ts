import { parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Span } from '../../base/ladder.ts'
import { workOperations } from '../remote-work.ts'
import { answerCalls, operationsOf, plain, toWireError } from '../rpc.ts'
import { packResults, unpackArrivals, type WireBatch } from '../wire.ts'
import type { Synchronous } from './connection.ts'
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

function describeStandstill({ from, to }: Span): string {
  const [since, until] = [from, to].map((ms) => new Date(ms).toISOString())
  return `nothing was taken from ${since} to ${until}: the process stood still, could not write, or its clock was set forward; onchain-inbox doctor says what it costs`
}

async function start(main: MessagePort, data: WriterThreadData): Promise<void> {
  const clock = systemClock
  const onWarning = (warning: string) => main.postMessage({ warning })
  const open = await openFileStore(data.file, { clock, synchronous: data.synchronous, onWarning })
  const writer = new Writer({
    store: open.store,
    clock,
    lingerMs: 2,
    onHealth: (health) => main.postMessage({ health }),
    onFailure: (error) => main.postMessage({ failure: toWireError(error) }),
    onCommit: () => open.committed(),
  })
  const jobs = new Jobs(jobsOf(writer, open.store), clock, (job, error) => {
    onWarning(`${job} fails and is tried again: ${messageOf(error)}`)
  })
  const side = createWriteSide(writer, jobs)
  const upkeep = {
    foundWell: () => writer.run((store) => store.foundWell(), true),
    async close() {
      jobs.stop()
      await writer.run(({ gaps }) => gaps.end()).catch(() => {})
      await writer.close()
      open.close()
    },
  }
  answerCalls(main, {
    ...operationsOf({ ...side, ...upkeep }),
    ...workOperations(side),
    accept: async (wire: WireBatch) => packResults(await side.accept(unpackArrivals(wire))),
    /** Answers the dispatcher's calls on another port, without a detour through the main thread. */
    attach: async (port: MessagePort) => {
      answerCalls(port, workOperations(side))
      return plain(undefined)
    },
  })
  const beat = async () => {
    const gap = await writer.run(({ gaps }) => gaps.beat(), true)
    if (gap !== null) onWarning(describeStandstill(gap))
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
