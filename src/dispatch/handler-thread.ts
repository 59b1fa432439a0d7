import { parse } from 'node:path'
import type { Readable } from 'node:stream'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import { siblingModule } from '../base/sibling-module.ts'
import type { Inbox } from '../inbox/port.ts'
import { fromWireError } from '../inbox/rpc.ts'
import { InFlightRuns, nameFields, Pulse, watchForBlockage } from './blockage.ts'
import type { OpenBreaker } from './circuit-breaker.ts'
import type { EndedAttempt, UnfinishedAttempt } from './dispatcher.ts'
import { SettledCounter, type SettledCount } from './pace.ts'
import { attemptNameOf, createFailureLog, type FailureLog } from './run-error.ts'
import type { FromRunner, HandlerInfo, RunnerData, RunnerTiming, ToRunner } from './runner-protocol.ts'
import type { Selection } from './handler-locations.ts'

export interface HandlerThreadOptions {
  readonly inbox: Pick<Inbox, 'settle' | 'retire' | 'release' | 'reap'>
  readonly data: Omit<RunnerData, 'mainPort' | 'pulse' | 'overrunGraceMs' | 'suspectIdleMs'>
  readonly timing: RunnerTiming
  readonly clock: Clock
  readonly log: Logger
  readonly onSettled: (counts: readonly SettledCount[]) => void
  /** Called for each user file before it is read. `stamp` identifies its state. */
  readonly onImport: (file: string, stamp: string) => void
  /** Takes the output and log lines of the handlers. Default: they go to the standard output of this process. */
  readonly onOutput?: ((output: Readable) => void) | undefined
  /** Called if the thread is stuck in a native call and does not end. `ended` resolves once it has. */
  readonly onStuck: (ended: Promise<unknown>) => void
}

/**
 * Reason why a thread became unusable.
 *   idle    it was ended, or it was for suspects and none are left
 *   stuck   a handler ignores its timeout; the other runs of the thread may finish
 *   broken  nothing in it continues: it failed to load, ended, was blocked too long, or used too much memory
 */
export interface UnusableReason {
  readonly kind: 'idle' | 'stuck' | 'broken'
  readonly reason: string
  /** The handlers that may be responsible: all that had runs in flight. */
  readonly handlers: readonly string[]
}

/** Memory limit of one thread, in MB: V8's heap plus memory outside it, such as Buffers. V8 itself limits only the heap. */
const memoryLimitMb = 512
const mebibyte = 1024 * 1024

/** Output buffered for a slow reader, in bytes. Output above this is dropped. */
const maxBufferedOutput = 16 * 1024 * 1024

/**
 * One thread of handlers, as the main thread sees it. Its life:
 *
 *   loading   imports its handlers, until `loaded` resolves or rejects
 *   running   runs handlers, after `send({ kind: 'start', … })`
 *   unusable  `unusable` has resolved; its owner decides when to end it
 *   closing   `stop` lets runs finish first, `kill` doesn't; then the worker is terminated
 *   emptied   the worker has ended, and the store has an outcome for each of its runs
 *
 * Invariant: until the worker has ended, its runs stay leased. Otherwise their next attempts could start while the handlers still run.
 */
export class HandlerThread {
  readonly #options: HandlerThreadOptions
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #failureLog: FailureLog
  readonly #pulse = new Pulse()
  readonly #loaded = Promise.withResolvers<readonly HandlerInfo[]>()
  readonly #unusable = Promise.withResolvers<UnusableReason>()
  /** Resolves with the runner's answer to `stop`; with nothing if none comes. */
  readonly #stopped = Promise.withResolvers<readonly UnfinishedAttempt[]>()
  readonly #emptied = Promise.withResolvers<void>()
  /** Watch the thread while it is usable. */
  readonly #watches: readonly { close(): void }[]
  #inFlightRuns = new InFlightRuns([], 0)
  #isLoaded = false
  readonly #files = new Set<string>()
  readonly #openBreakers = new Map<string, OpenBreaker>()
  #isUnusable = false
  #hasIgnoredMessage = false
  /** The error that ended the thread, if one did. */
  #failure: string | undefined
  #closing: Promise<void> | undefined

  constructor(options: HandlerThreadOptions) {
    this.#options = options
    this.#failureLog = createFailureLog(options)
    const { data, timing, clock, log } = options
    const { overrunGraceMs, suspectIdleMs } = timing
    const { port1, port2: mainPort } = new MessageChannel()
    this.#port = port1
    const pulse = this.#pulse.shared
    this.#worker = new Worker(siblingModule(import.meta.url, './runner-thread'), {
      name: data.suspects ? 'runner-suspects' : nameOf(data.selection),
      workerData: { ...data, overrunGraceMs, suspectIdleMs, mainPort, pulse } satisfies RunnerData,
      transferList: [data.dispatchPort, mainPort],
      stdout: true,
      stderr: true,
      // `--max-semi-space-size` overrides the second limit.
      resourceLimits: { maxOldGenerationSizeMb: memoryLimitMb, maxYoungGenerationSizeMb: 32 },
    })
    const { onOutput = (output: Readable) => passOn(output, process.stdout) } = options
    onOutput(this.#worker.stdout)
    passOn(this.#worker.stderr, process.stderr)
    this.#port.on('message', (message: FromRunner) => this.#receive(message))
    this.#worker.on('message', () => this.#ignore())
    this.#worker.on('error', (error) => {
      this.#failure = messageOf(error)
      const stack = error instanceof Error ? withoutUserinfo(error.stack ?? '') : undefined
      log.error({ error: this.#failure, stack }, 'handler thread failed')
    })
    this.#worker.on('exit', (code) => this.#exited(code))
    const onLost = (reason: string) => this.#markUnusable('broken', reason)
    const candidates = () => this.#inFlightRuns.candidates()
    this.#watches = [
      watchForBlockage({ pulse: this.#pulse, candidates, timing, clock, log, onLost }),
      watchMemory(this.#worker, timing.watchMs, onLost),
    ]
    const loadLimit = clock.after(timing.startMs, () =>
      this.#refuse(`the handlers in ${data.locations.handlersDir} did not load within ${timing.startMs} ms`),
    )
    this.#loaded.promise.then(
      () => loadLimit.cancel(),
      () => loadLimit.cancel(),
    )
  }

  /** Resolves with the handlers once they are loaded; rejects if they can't be loaded. */
  get loaded(): Promise<readonly HandlerInfo[]> {
    return this.#loaded.promise
  }

  get owner(): string {
    return this.#options.data.owner
  }

  /** User files that it has read, or tried to read, so far. */
  get files(): ReadonlySet<string> {
    return this.#files
  }

  /** Breakers and pauses of its sinks, by sink name, as last reported; empty once the thread is unusable. */
  get openBreakers(): ReadonlyMap<string, OpenBreaker> {
    return this.#openBreakers
  }

  /** Send `start` only after the handlers are loaded; then they run. */
  send(message: ToRunner): void {
    this.#port.postMessage(message)
  }

  /** Resolves when the thread becomes unusable. */
  get unusable(): Promise<UnusableReason> {
    return this.#unusable.promise
  }

  /** Resolves when the thread has ended and owns no run any more. */
  get emptied(): Promise<void> {
    return this.#emptied.promise
  }

  get maxTimeoutMs(): number {
    return this.#pulse.maxTimeoutMs
  }

  /** Handlers with runs in flight. If the handler on the stack is known, only this handler. */
  get inFlight(): readonly string[] {
    return this.#inFlightRuns.handlers()
  }

  /**
   * Lets runs finish for `graceMs`, aborts the others, releases the rest, and ends the thread. A second call with a shorter time shortens the
   * first. Doesn't wait for a thread that is stuck in a native call.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, timing } = this.#options
    const { abortGraceMs } = timing
    // A thread that is still loading has no runs.
    if (!this.#isLoaded || this.#closing !== undefined) return this.kill()
    this.send({ kind: 'stop', graceMs, abortGraceMs })
    const { beats } = this.#pulse
    const stopWaiting = () => this.#stopped.resolve([])
    const timers = [
      // No heartbeat since the call: the thread is blocked.
      clock.after(graceMs + abortGraceMs, () => this.#pulse.beats === beats && stopWaiting()),
      clock.after(graceMs + 4 * abortGraceMs, stopWaiting),
    ]
    const unfinished = await this.#stopped.promise
    for (const timer of timers) timer.cancel()
    await (this.#closing ??= this.#close(unfinished))
  }

  /** Ends the thread now. Its runs in flight count as crashed. Resolves when `stop` would. */
  kill(): Promise<void> {
    return (this.#closing ??= this.#close([]))
  }

  async #close(unfinished: readonly UnfinishedAttempt[]): Promise<void> {
    const { inbox, data, clock, timing, log, onStuck } = this.#options
    this.#markUnusable('idle', 'the thread was ended')
    const endLimit = Promise.withResolvers<'late'>()
    const timer = clock.after(timing.endMs, () => endLimit.resolve('late'))
    const ended = this.#worker.terminate()
    const emptied = ended.then(() => this.#retryInBackground(() => this.#endRuns(unfinished)))
    const isLate = (await Promise.race([ended, endLimit.promise])) === 'late'
    timer.cancel()
    if (!isLate) return emptied
    log.error(nameFields(this.inFlight), 'handler stuck in native call')
    onStuck(ended)
    await this.#retryInBackground(() => inbox.retire(data.owner, this.#inFlightRuns.runs()))
  }

  /** Ends the leases of the ended thread. Unfinished attempts get their outcomes; all other runs count as crashed. Idempotent. */
  async #endRuns(unfinished: readonly UnfinishedAttempt[]): Promise<void> {
    const { inbox, data, log } = this.#options
    const overdue = unfinished.filter((attempt): attempt is EndedAttempt => attempt.outcome !== 'interrupted')
    const interrupted = unfinished.filter(({ outcome }) => outcome === 'interrupted')
    if (overdue.length > 0) {
      const results = await inbox.settle(overdue.map(({ outcome }) => outcome))
      this.#report(overdue.filter((_attempt, index) => results[index] === 'applied'))
    }
    if (interrupted.length > 0) await inbox.release(interrupted.map(({ lease }) => lease))
    const { runs, dead } = await inbox.reap(data.owner)
    const suspects = runs - dead.length
    if (suspects > 0) log.warn({ runs: suspects }, 'handler thread left suspects')
    for (const { error, ...attempt } of dead) this.#failureLog(attempt, { kind: 'dead', error })
    this.#emptied.resolve()
  }

  #report(attempts: readonly EndedAttempt[]): void {
    const counter = new SettledCounter()
    for (const { lease, outcome } of attempts) {
      counter.add(lease.handler, outcome.kind, outcome.endedAt - outcome.startedAt, outcome)
      this.#failureLog(attemptNameOf(lease), outcome)
    }
    this.#options.onSettled(counter.take())
  }

  /** Tries once. If the store fails, retries in the background, because nothing else ends these leases. */
  async #retryInBackground(work: () => Promise<void>): Promise<void> {
    const { clock, timing, log } = this.#options
    try {
      await work()
    } catch (error) {
      if (error instanceof InboxError && error.code === 'shutting_down') return
      log.warn({ error: messageOf(error) }, 'release failed, retrying')
      clock.after(timing.maxRestartDelayMs, () => void this.#retryInBackground(work))
    }
  }

  #receive(message: FromRunner): void {
    switch (message.kind) {
      case 'importing':
        this.#files.add(message.file)
        this.#options.onImport(message.file, message.stamp)
        break
      case 'loaded':
        this.#isLoaded = true
        this.#inFlightRuns = new InFlightRuns(
          message.handlers.map(({ name }) => name),
          this.#options.data.concurrency,
          message.inFlightRuns,
        )
        this.#loaded.resolve(message.handlers)
        break
      case 'refused':
        this.#loaded.reject(fromWireError(message.error))
        this.#markUnusable('broken', message.error.message)
        break
      case 'settled':
        this.#options.onSettled(message.counts)
        break
      case 'breaker':
        if (message.open === null || this.#isUnusable) this.#openBreakers.delete(message.handler)
        else this.#openBreakers.set(message.handler, message.open)
        break
      case 'stuck':
        this.#markUnusable('stuck', `handler ${message.handler} ran on long after its timeout`, [message.handler])
        break
      case 'idle':
        this.#markUnusable('idle', 'no suspects are left')
        break
      case 'stopped':
        this.#stopped.resolve(message.unfinished)
        break
    }
  }

  /** Handler code posted a message to `parentPort`. */
  #ignore(): void {
    if (this.#hasIgnoredMessage) return
    this.#hasIgnoredMessage = true
    this.#options.log.warn(nameFields(this.#inFlightRuns.candidates()), 'handler message ignored')
  }

  /** The handlers can't be loaded. */
  #refuse(reason: string): void {
    const lastFile = [...this.#files].at(-1)
    const hint = lastFile === undefined ? '' : `; last file read: ${lastFile}`
    const error = new InboxError('handler_invalid', `${reason}${hint}`)
    this.#loaded.reject(error)
    this.#markUnusable('broken', error.message)
  }

  #exited(code: number): void {
    // Its last messages may not have been delivered yet.
    for (let last; (last = receiveMessageOnPort(this.#port)) !== undefined;) this.#receive(last.message as FromRunner)
    this.#port.close()
    const isStalled = code === 0 && !this.#isLoaded
    const end = isStalled ? 'a file awaits a promise that never settles' : `the thread ended with exit code ${code}`
    const reason = this.#failure ?? end
    this.#stopped.resolve([])
    if (this.#isLoaded) this.#markUnusable('broken', reason)
    else this.#refuse(`the handler thread ended while loading: ${reason}`)
  }

  /** The first call decides `unusable`. */
  #markUnusable(kind: UnusableReason['kind'], reason: string, handlers = this.inFlight): void {
    for (const watch of this.#watches) watch.close()
    this.#isUnusable = true
    this.#openBreakers.clear()
    this.#unusable.resolve({ kind, reason, handlers })
  }
}

function nameOf(selection: Selection): string {
  return 'only' in selection ? `runner ${parse(selection.only).name}` : 'runner'
}

/** Calls back when a thread uses too much memory. */
function watchMemory(worker: Worker, intervalMs: number, onLost: (reason: string) => void): { close(): void } {
  // A thread in a native call answers only when that call returns.
  let isMeasuring = false

  async function measure(): Promise<void> {
    if (isMeasuring) return
    isMeasuring = true
    try {
      const { used_heap_size: heap, external_memory: external } = await worker.getHeapStatistics()
      const usedMb = Math.round((heap + external) / mebibyte)
      if (usedMb > memoryLimitMb) onLost(`the thread used ${usedMb} MB of memory, more than ${memoryLimitMb} MB`)
    } catch {
      // The thread has ended.
    }
    isMeasuring = false
  }

  const timer = setInterval(() => void measure(), intervalMs).unref()
  return { close: () => clearInterval(timer) }
}

/** Not a pipe: a pipe would buffer all output after a failed write, or for a slow reader. */
function passOn(from: Readable, to: NodeJS.WriteStream): void {
  from.on('data', (chunk: Buffer) => {
    if (to.writableLength < maxBufferedOutput) to.write(chunk)
  })
}
