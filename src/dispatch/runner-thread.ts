import { isDeepStrictEqual } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import { connectDispatchStore, toWireError } from '../inbox/rpc.ts'
import { createLogger } from '../base/log.ts'
import { createTracer } from '../base/tracing.ts'
import { trimMemory } from '../base/trim-memory.ts'
import { createApiFactory } from './api.ts'
import { InFlightRuns, Pulse } from './blockage.ts'
import { closeSinks, type ResolvedHandler } from './resolved-handler.ts'
import { Dispatcher } from './dispatcher.ts'
import type { OpenBreaker } from './circuit-breaker.ts'
import { installResolveHook } from './resolve-hook.ts'
import { SettledCounter } from './pace.ts'
import { applyOrder, toHandlerInfo, type FromRunner, type RunnerData, type ToRunner } from './runner-protocol.ts'
import { loadAllHandlers } from './handler-locations.ts'
import { stampOfSync } from './watch.ts'

/**
 * The thread that runs all user code: the dispatcher, its queues, and every handler. Nothing that a handler does to
 * this thread stops the receiver's thread.
 */
const beatMs = 100
const reportMs = 250

async function start(data: RunnerData): Promise<void> {
  const main = data.mainPort
  const post = (message: FromRunner) => main.postMessage(message)
  const output = data.logsToOutput ? { output: process.stdout } : {}
  const log = createLogger({ level: data.logLevel, pretty: data.prettyLog, ...output })

  let { secrets } = data
  installResolveHook(data.locations.handlersDir, (file) => post({ kind: 'importing', file, stamp: stampOfSync(file) }))
  const handlers = await loadAllHandlers(data.locations, () => secrets, data.selection)
  const work = connectDispatchStore(data.dispatchPort)
  trimMemory()

  // A thread for suspects tries each run once, so breakers don't matter.
  if (!data.suspects) for (const handler of handlers) reportBreaker(handler, post)
  const pulse = new Pulse(data.pulse)
  const names = handlers.map(({ name }) => name)
  const inFlightRuns = new InFlightRuns(names, data.concurrency)
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
    api: createApiFactory(data.api, systemClock, log),
    tracer: createTracer(),
    observer: {
      starting(attempt, runId, { name, timeoutMs }) {
        pulse.starting(timeoutMs, dispatcher.running === 0)
        inFlightRuns.starting(attempt, runId, name)
      },
      yielded: () => inFlightRuns.yielded(),
      ended: (attempt) => inFlightRuns.ended(attempt),
      settled(handler, kind, durationMs, { outcome }) {
        lastSettledAt = performance.now()
        settled.add(handler, kind, durationMs, outcome)
      },
      stuck: (handler) => post({ kind: 'stuck', handler }),
    },
  })

  const beat = setInterval(() => pulse.beat(dispatcher.maxTimeoutMs), beatMs)
  const report = setInterval(() => {
    const counts = settled.take()
    if (counts.length > 0) post({ kind: 'settled', counts })
    const idleMs = performance.now() - lastSettledAt
    if (data.suspects && dispatcher.isIdle && idleMs > data.suspectIdleMs) post({ kind: 'idle' })
  }, reportMs)

  main.on('message', (message: ToRunner) => {
    switch (message.kind) {
      case 'start':
        dispatcher.useSinks(message.sinks)
        for (const [handler, value] of Object.entries(message.concurrencies)) dispatcher.setConcurrency(handler, value)
        dispatcher.shareRates(message.processes)
        dispatcher.start()
        break
      case 'sinks':
        dispatcher.useSinks(message.sinks)
        break
      case 'secrets':
        secrets = message.secrets
        break
      case 'try':
        dispatcher.trySink(message.handler)
        break
      case 'stop':
        void stop(message.graceMs, message.abortGraceMs)
        break
      case 'concurrency':
      case 'share':
      case 'recall':
        applyOrder(dispatcher, message)
        break
    }
  })

  async function stop(graceMs: number, abortGraceMs: number): Promise<void> {
    const unfinished = await dispatcher.stop(graceMs, abortGraceMs)
    await closeSinks(handlers, { clock: systemClock, log, limitMs: abortGraceMs })
    clearInterval(beat)
    clearInterval(report)
    const counts = settled.take()
    if (counts.length > 0) post({ kind: 'settled', counts })
    post({ kind: 'stopped', unfinished })
  }

  pulse.beat(dispatcher.maxTimeoutMs)
  post({ kind: 'loaded', handlers: handlers.map(toHandlerInfo), inFlightRuns: inFlightRuns.shared })
}

/** Reports every change of a sink's breaker or pause. */
function reportBreaker({ name, breaker }: ResolvedHandler, post: (message: FromRunner) => void): void {
  if (breaker === undefined) return
  let reported: OpenBreaker | null = null
  breaker.onChange(() => {
    const open = breaker.openState(systemClock.now())
    if (isDeepStrictEqual(open, reported)) return
    reported = open
    post({ kind: 'breaker', handler: name, open })
  })
}

if (parentPort) {
  const data = { ...(workerData as RunnerData) }
  // Handler code can read `workerData`; it must not reach the ports.
  for (const name of Object.keys(data)) Reflect.deleteProperty(workerData as object, name)
  start(data).catch((error: unknown) => {
    data.mainPort.postMessage({ kind: 'refused', error: toWireError(error) } satisfies FromRunner)
  })
}
