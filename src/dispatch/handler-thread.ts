import { parse } from 'node:path'
import type { Readable } from 'node:stream'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import { fromWireError } from '../inbox/rpc.ts'
import type { Logger } from '../base/log.ts'
import { siblingModule } from '../base/sibling-module.ts'
import { InFlightRuns, nameFields, watchForBlockage, Pulse } from './blockage.ts'
import { createFailureLog, type FailureLog } from './run-error.ts'
import type { OpenBreaker } from './circuit-breaker.ts'
import {
  SettledCounter,
  type FromRunner,
  type HandlerInfo,
  type UnfinishedAttempts,
  type OverdueAttempt,
  type RunnerData,
  type RunnerTiming,
  type SettledCount,
  type ToRunner,
} from './runner-protocol.ts'
import type { Selection } from './sources.ts'

export interface HandlerThreadOptions {
  readonly inbox: Pick<Inbox, 'settle' | 'retire' | 'release' | 'reap'>
  readonly data: Omit<RunnerData, 'mainPort' | 'pulse' | 'overrunGraceMs' | 'suspectIdleMs'>
  readonly timing: RunnerTiming
  readonly clock: Clock
  readonly log: Logger
  readonly onSettled: (counts: readonly SettledCount[]) => void
  /** Called for each user file before it is read. `stamp` identifies its state. */
  readonly onImport: (file: string, stamp: string) => void
  /** Takes the standard output of the handlers. Default: it goes to the standard output of this process. */
  readonly onOutput?: ((output: Readable) => void) | undefined
  /** Called if the thread is stuck in a native call and does not end. `ended` resolves once it has. */
  readonly onStuck: (ended: Promise<unknown>) => void
}

/** Why a thread can't be used any more. `stuck`: its other runs may finish. `broken`: nothing in it continues. */
export interface ThreadExit {
  readonly kind: 'idle' | 'stuck' | 'broken'
  readonly reason: string
  /** The handlers that may be responsible: all that had runs in flight. */
  readonly handlers: readonly string[]
}

/**
 * Memory limit of one thread, in MB: V8's heap plus memory outside it, such as Buffers. V8 itself limits only the heap.
 */
const memoryLimitMb = 512
const mebibyte = 1024 * 1024

/** Output buffered for a slow reader, in bytes. Output above this is dropped. */
const maxBacklogBytes = 16 * 1024 * 1024

const nothingUnfinished: UnfinishedAttempts = { overdue: [], interrupted: [] }

/** One thread of handlers, as the main thread sees it. */
export class HandlerThread {
  readonly #options: HandlerThreadOptions
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #failureLog: FailureLog
  readonly #pulse = new Pulse()
  readonly #loaded = Promise.withResolvers<readonly HandlerInfo[]>()
  readonly #exit = Promise.withResolvers<ThreadExit>()
  readonly #stopped = Promise.withResolvers<UnfinishedAttempts>()
  readonly #emptied = Promise.withResolvers<void>()
  readonly #watch: { close(): void }
  readonly #memoryWatch: NodeJS.Timeout
  #inFlightRuns = new InFlightRuns([], 0)
  #isLoaded = false
  readonly #files = new Set<string>()
  readonly #openBreakers = new Map<string, OpenBreaker>()
  #isUnusable = false
  #isMeasuring = false
  #hasIgnored = false
  #failure: string | undefined
  #closing: Promise<void> | undefined

  constructor(options: HandlerThreadOptions) {
    this.#options = options
    this.#failureLog = createFailureLog(options)
    const { data, timing, clock } = options
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
      options.log.error({ error: this.#failure, stack }, 'handler thread failed')
    })
    this.#worker.on('exit', (code) => this.#exited(code))
    this.#watch = watchForBlockage({
      pulse: this.#pulse,
      candidates: () => this.#inFlightRuns.candidates(),
      timing,
      clock,
      log: options.log,
      onLost: (reason) => this.#markUnusable('broken', reason),
    })
    this.#memoryWatch = setInterval(() => void this.#measure(), timing.watchMs).unref()
    const late = clock.after(timing.startMs, () =>
      this.#refuse(
        new InboxError(
          'handler_invalid',
          `the handlers in ${data.sources.handlersDir} did not load within ${timing.startMs} ms${this.#lastRead()}`,
        ),
      ),
    )
    this.#loaded.promise.then(
      () => late.cancel(),
      () => late.cancel(),
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
  send(order: ToRunner): void {
    this.#port.postMessage(order)
  }

  /** Resolves when the thread becomes unusable. */
  get exit(): Promise<ThreadExit> {
    return this.#exit.promise
  }

  /** Resolves when the thread has ended and owns no run any more. */
  get emptied(): Promise<void> {
    return this.#emptied.promise
  }

  get maxTimeoutMs(): number {
    return this.#pulse.maxTimeoutMs
  }

  /** The handlers that have runs in flight; only the one on the stack, if known. */
  get inFlight(): readonly string[] {
    return this.#inFlightRuns.handlers()
  }

  /**
   * Lets runs finish for `graceMs`, aborts the others, releases the rest, and ends the thread. A second call with a
   * shorter time shortens the first. Doesn't wait for a thread that is stuck in a native call.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, timing } = this.#options
    const { abortGraceMs } = timing
    // A thread that is still loading has no runs.
    if (!this.#isLoaded || this.#closing !== undefined) return this.kill()
    this.send({ kind: 'stop', graceMs, abortGraceMs })
    const { beats } = this.#pulse
    const abandon = () => this.#stopped.resolve(nothingUnfinished)
    const timers = [
      // Blocked all the time: it won't respond.
      clock.after(graceMs + abortGraceMs, () => this.#pulse.beats === beats && abandon()),
      clock.after(graceMs + 4 * abortGraceMs, abandon),
    ]
    const unfinished = await this.#stopped.promise
    for (const timer of timers) timer.cancel()
    await (this.#closing ??= this.#close(unfinished))
  }

  /** Ends the thread now. Its runs in flight count as crashed. Resolves when `stop` would. */
  kill(): Promise<void> {
    return (this.#closing ??= this.#close(nothingUnfinished))
  }

  async #close(unfinished: UnfinishedAttempts): Promise<void> {
    const { inbox, data, clock, timing, log, onStuck } = this.#options
    this.#markUnusable('idle', 'the thread was ended')
    const late = Promise.withResolvers<'late'>()
    const timer = clock.after(timing.endMs, () => late.resolve('late'))
    const ended = this.#worker.terminate()
    // Only after the end can no handler run any more, so its runs, and their keys, may start again.
    const givenBack = ended.then(() => this.#giveBack(() => this.#endRuns(unfinished)))
    const isLate = (await Promise.race([ended, late.promise])) === 'late'
    timer.cancel()
    if (!isLate) return givenBack
    log.error(nameFields(this.inFlight), 'handler stuck in native call')
    onStuck(ended)
    await this.#giveBack(() => inbox.retire(data.owner, this.#inFlightRuns.runs()))
  }

  /** Tries once. If the store refuses, retries in the background, because nothing else releases these runs. */
  async #giveBack(work: () => Promise<void>): Promise<void> {
    const { clock, timing, log } = this.#options
    try {
      await work()
    } catch (error) {
      if (error instanceof InboxError && error.code === 'shutting_down') return
      log.warn({ error: messageOf(error) }, 'release failed, retrying')
      clock.after(timing.maxRestartDelayMs, () => void this.#giveBack(work))
    }
  }

  async #endRuns({ overdue, interrupted }: UnfinishedAttempts): Promise<void> {
    const { inbox, data, log } = this.#options
    if (overdue.length > 0) await this.#settle(overdue)
    if (interrupted.length > 0) await inbox.release(interrupted)
    const { runs, dead } = await inbox.reap(data.owner)
    const left = runs - dead.length
    if (left > 0) log.warn({ runs: left }, 'handler thread left suspects')
    for (const { error, ...attempt } of dead) this.#failureLog(attempt, { kind: 'dead', error })
    this.#emptied.resolve()
  }

  async #settle(overdue: readonly OverdueAttempt[]): Promise<void> {
    const { inbox, onSettled } = this.#options
    const results = await inbox.settle(overdue.map(({ outcome }) => outcome))
    for (const [index, attempt] of overdue.entries()) {
      if (results[index] !== 'applied') continue
      const { handler, outcome } = attempt
      const counter = new SettledCounter()
      counter.add(handler, outcome.kind, outcome.endedAt - outcome.startedAt, outcome)
      onSettled(counter.take())
      this.#failureLog(attempt, outcome)
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
        this.#refuse(fromWireError(message.error))
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
    if (this.#hasIgnored) return
    this.#hasIgnored = true
    const fields = nameFields(this.#inFlightRuns.candidates())
    this.#options.log.warn(fields, 'handler message ignored')
  }

  async #measure(): Promise<void> {
    // A thread in a native call answers only when that call returns.
    if (this.#isMeasuring) return
    this.#isMeasuring = true
    try {
      const { used_heap_size: heap, external_memory: external } = await this.#worker.getHeapStatistics()
      const usedMb = Math.round((heap + external) / mebibyte)
      if (usedMb > memoryLimitMb)
        this.#markUnusable('broken', `the thread used ${usedMb} MB of memory, more than ${memoryLimitMb} MB`)
    } catch {
      // The thread has ended.
    }
    this.#isMeasuring = false
  }

  #refuse(error: Error): void {
    this.#loaded.reject(error)
    this.#markUnusable('broken', error.message)
  }

  /** Hint for the error if loading fails. */
  #lastRead(): string {
    const file = [...this.#files].at(-1)
    return file === undefined ? '' : `; last file read: ${file}`
  }

  #exited(code: number): void {
    // Its last messages may not have been delivered yet.
    for (let last; (last = receiveMessageOnPort(this.#port)) !== undefined;) this.#receive(last.message as FromRunner)
    this.#port.close()
    const isStalled = code === 0 && !this.#isLoaded
    const end = isStalled ? 'a file awaits a promise that never settles' : `the thread ended with exit code ${code}`
    const reason = this.#failure ?? end
    this.#stopped.resolve(nothingUnfinished)
    if (this.#isLoaded) this.#markUnusable('broken', reason)
    else
      this.#refuse(
        new InboxError('handler_invalid', `the handler thread ended while loading: ${reason}${this.#lastRead()}`),
      )
  }

  #markUnusable(kind: ThreadExit['kind'], reason: string, handlers = this.inFlight): void {
    this.#watch.close()
    clearInterval(this.#memoryWatch)
    this.#isUnusable = true
    this.#openBreakers.clear()
    this.#exit.resolve({ kind, reason, handlers })
  }
}

function nameOf(selection: Selection): string {
  return 'only' in selection ? `runner ${parse(selection.only).name}` : 'runner'
}

/** Not a pipe: a pipe would buffer all output after a failed write, or for a slow reader. */
function passOn(from: Readable, to: NodeJS.WriteStream): void {
  from.on('data', (chunk: Buffer) => {
    if (to.writableLength < maxBacklogBytes) to.write(chunk)
  })
}
