import { isDeepStrictEqual } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import type { Lease } from '../inbox/port.ts'
import { connectDispatchStore } from '../inbox/rpc.ts'
import { toWireError } from '../inbox/rpc.ts'
import { createLogger } from '../base/log.ts'
import { createTracer } from '../base/tracing.ts'
import { createApiSource } from './api.ts'
import { AtWork, Pulse } from './blockage.ts'
import { closeSinks, type ResolvedHandler } from './resolved-handler.ts'
import { Dispatcher, type Leftover } from './dispatcher.ts'
import type { Shut } from './gate.ts'
import { installResolveHook } from './resolve-hook.ts'
import {
  SettledCounter,
  toHandlerInfo,
  type FromRunner,
  type Leftovers,
  type OverdueAttempt,
  type RunnerData,
  type ToRunner,
} from './runner-protocol.ts'
import { loadSources } from './sources.ts'
import { stampOfSync } from './watch.ts'

/**
 * The thread that runs all user code: the dispatcher, its queues, every handler. Whatever a handler does to this thread, the
 * receiver's goes on.
 */
const beatMs = 100
const reportMs = 250

async function start(data: RunnerData): Promise<void> {
  const main = data.mainPort
  const tell = (message: FromRunner) => main.postMessage(message)
  const output = data.logsToOutput ? { output: process.stdout } : {}
  const log = createLogger({ level: data.logLevel, pretty: data.prettyLog, ...output })

  let { secrets } = data
  installResolveHook(data.sources.handlersDir, (file) => tell({ kind: 'importing', file, stamp: stampOfSync(file) }))
  const handlers = await loadSources(data.sources, () => secrets, data.selection)
  const work = connectDispatchStore(data.dispatchPort)

  // A thread for suspects tries each once, whatever became of the others.
  if (!data.suspects) for (const handler of handlers) tellOfGate(handler, tell)
  const pulse = new Pulse(data.pulse)
  const names = handlers.map(({ name }) => name)
  const atWork = new AtWork(names, data.concurrency)
  const settled = new SettledCounter()
  let lastSettledAt = performance.now()
  const dispatcher = new Dispatcher({
    work,
    handlers,
    concurrency: data.concurrency,
    owner: data.owner,
    suspects: data.suspects,
    overrunGraceMs: data.overrunGraceMs,
    clock: systemClock,
    log,
    api: createApiSource(data.api, systemClock, log),
    tracer: createTracer(),
    observer: {
      starting(runId, { name, timeoutMs }) {
        pulse.starting(timeoutMs, dispatcher.running === 0)
        atWork.starting(runId, name)
      },
      yielded: () => atWork.yielded(),
      ended: (runId) => atWork.ended(runId),
      settled(handler, kind, durationMs) {
        lastSettledAt = performance.now()
        settled.add(handler, kind, durationMs)
      },
      stuck: (handler) => tell({ kind: 'stuck', handler }),
    },
  })

  const beat = setInterval(() => pulse.beat(dispatcher.longestTimeoutMs), beatMs)
  const report = setInterval(() => {
    const counts = settled.take()
    if (counts.length > 0) tell({ kind: 'settled', counts })
    const idleMs = performance.now() - lastSettledAt
    if (data.suspects && dispatcher.isIdle && idleMs > data.suspectIdleMs) tell({ kind: 'idle' })
  }, reportMs)

  main.on('message', (message: ToRunner) => {
    switch (message.kind) {
      case 'start':
        dispatcher.useSinks(message.sinks)
        for (const [handler, set] of Object.entries(message.concurrencies)) dispatcher.setConcurrency(handler, set)
        dispatcher.shareRates(message.processes)
        dispatcher.start()
        break
      case 'sinks':
        dispatcher.useSinks(message.sinks)
        break
      case 'secrets':
        secrets = message.secrets
        break
      case 'concurrency':
        dispatcher.setConcurrency(message.handler, message.concurrency)
        break
      case 'share':
        dispatcher.shareRates(message.processes)
        break
      case 'recall':
        void dispatcher.recall(message.handler)
        break
      case 'stop':
        void stop(message.graceMs, message.abortGraceMs)
        break
    }
  })

  async function stop(graceMs: number, abortGraceMs: number): Promise<void> {
    const leftovers = await dispatcher.stop(graceMs, abortGraceMs)
    await closeSinks(handlers, { clock: systemClock, log, limitMs: abortGraceMs })
    clearInterval(beat)
    clearInterval(report)
    const counts = settled.take()
    if (counts.length > 0) tell({ kind: 'settled', counts })
    tell({ kind: 'stopped', leftovers: sortLeftovers(leftovers) })
  }

  pulse.beat(dispatcher.longestTimeoutMs)
  tell({ kind: 'loaded', handlers: handlers.map(toHandlerInfo), atWork: atWork.shared })
}

/** Tells whenever a sink is left alone, or is not any more. */
function tellOfGate({ name, gate }: ResolvedHandler, tell: (message: FromRunner) => void): void {
  if (gate === undefined) return
  let told: Shut | null = null
  gate.onChange(() => {
    const shut = gate.shut(systemClock.now())
    if (isDeepStrictEqual(shut, told)) return
    told = shut
    tell({ kind: 'gate', handler: name, shut })
  })
}

function sortLeftovers(leftovers: readonly Leftover[]): Leftovers {
  const overdue: OverdueAttempt[] = []
  const interrupted: Pick<Lease, 'runId' | 'token'>[] = []
  for (const { lease, outcome } of leftovers) {
    const { runId, token, handler, attempt, event } = lease
    if (outcome === 'interrupted') interrupted.push({ runId, token })
    else overdue.push({ handler, attempt, eventId: event.id, outcome })
  }
  return { overdue, interrupted }
}

if (parentPort) {
  const data = { ...(workerData as RunnerData) }
  // Handler code can read `workerData`. It must not get at the ports.
  for (const name of Object.keys(data)) Reflect.deleteProperty(workerData as object, name)
  start(data).catch((error: unknown) => {
    data.mainPort.postMessage({ kind: 'refused', error: toWireError(error) } satisfies FromRunner)
  })
}
