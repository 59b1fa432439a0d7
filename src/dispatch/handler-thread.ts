import { parse } from 'node:path'
import type { Readable } from 'node:stream'
import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf, withoutUserinfo } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import { fromWireError } from '../inbox/rpc.ts'
import type { Logger } from '../base/log.ts'
import { siblingModule } from '../base/sibling-module.ts'
import { AtWork, nameFields, watchForBlockage, Pulse } from './blockage.ts'
import { createFailureLog, type FailureLog } from './run-error.ts'
import type { Shut } from './gate.ts'
import {
  SettledCounter,
  type FromRunner,
  type HandlerInfo,
  type Leftovers,
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
  /** Called for each file of the user's before it is read, with how it looked. */
  readonly onImport: (file: string, stamp: string) => void
  /** Takes what the handlers print; by default it goes to the standard output of this process. */
  readonly onOutput?: ((output: Readable) => void) | undefined
  /** Called if the thread is stuck in a native call and does not end. `ended` resolves once it has. */
  readonly onStuck: (ended: Promise<unknown>) => void
}

/** Why a thread is of no more use. `stuck`: other runs may finish in it. `broken`: nothing in it goes on. */
export interface Spent {
  readonly kind: 'idle' | 'stuck' | 'broken'
  readonly reason: string
  /** The handlers that may have done it: those that had runs in flight. */
  readonly handlers: readonly string[]
}

/** Memory of one thread: V8's heap, and what lies outside it, such as Buffers. V8 itself limits the heap only. */
const memoryLimitMb = 512
const mebibyte = 1024 * 1024

/** What is kept in memory for a reader that does not read; what comes on top of it is dropped. */
const longestBacklog = 16 * 1024 * 1024

const nothingLeft: Leftovers = { overdue: [], interrupted: [] }

/** One thread of handlers, from its start to its end, as the main thread sees it. */
export class HandlerThread {
  readonly #options: HandlerThreadOptions
  readonly #worker: Worker
  readonly #port: MessagePort
  readonly #failureLog: FailureLog
  readonly #pulse = new Pulse()
  readonly #loaded = Promise.withResolvers<readonly HandlerInfo[]>()
  readonly #spent = Promise.withResolvers<Spent>()
  readonly #stopped = Promise.withResolvers<Leftovers>()
  readonly #emptied = Promise.withResolvers<void>()
  readonly #watch: { close(): void }
  readonly #memoryWatch: NodeJS.Timeout
  #atWork = new AtWork([], 0)
  #isLoaded = false
  readonly #files = new Set<string>()
  readonly #shut = new Map<string, Shut>()
  #isSpent = false
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
      options.log.error({ error: this.#failure, stack }, 'the thread of the handlers failed')
    })
    this.#worker.on('exit', (code) => this.#exited(code))
    this.#watch = watchForBlockage({
      pulse: this.#pulse,
      candidates: () => this.#atWork.candidates(),
      timing,
      clock,
      log: options.log,
      onLost: (reason) => this.#spend('broken', reason),
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

  /** The handlers, once it has loaded them; rejects if they cannot be loaded. */
  get loaded(): Promise<readonly HandlerInfo[]> {
    return this.#loaded.promise
  }

  get owner(): string {
    return this.#options.data.owner
  }

  /** The files of the user's that it has read, or looked for in vain, so far. */
  get files(): ReadonlySet<string> {
    return this.#files
  }

  /** Which of its sinks are left alone, by name, as last told; none once it is of no more use. */
  get shut(): ReadonlyMap<string, Shut> {
    return this.#shut
  }

  /** `start` is for a thread that has loaded its handlers: from then on it runs them. */
  tell(order: ToRunner): void {
    this.#port.postMessage(order)
  }

  /** Resolves when it is of no more use. */
  get spent(): Promise<Spent> {
    return this.#spent.promise
  }

  /** Resolves when it has ended and no run is its own any more. */
  get emptied(): Promise<void> {
    return this.#emptied.promise
  }

  get longestTimeoutMs(): number {
    return this.#pulse.longestTimeoutMs
  }

  /** The handlers that have runs in flight; only the one whose code is on the stack, if that is known. */
  get inFlight(): readonly string[] {
    return this.#atWork.handlers()
  }

  /**
   * Lets runs finish for `graceMs`, aborts the others, gives back what is left, and ends the thread. Called again with a
   * shorter time it hastens. Doesn't wait for a thread that is stuck in a native call.
   */
  async stop(graceMs: number): Promise<void> {
    const { clock, timing } = this.#options
    const { abortGraceMs } = timing
    // One that still loads has no runs.
    if (!this.#isLoaded || this.#closing !== undefined) return this.kill()
    this.tell({ kind: 'stop', graceMs, abortGraceMs })
    const { beats } = this.#pulse
    const giveUp = () => this.#stopped.resolve(nothingLeft)
    const timers = [
      // Blocked all the time: it will not answer.
      clock.after(graceMs + abortGraceMs, () => this.#pulse.beats === beats && giveUp()),
      clock.after(graceMs + 4 * abortGraceMs, giveUp),
    ]
    const leftovers = await this.#stopped.promise
    for (const timer of timers) timer.cancel()
    await (this.#closing ??= this.#close(leftovers))
  }

  /** Ends the thread now. Its runs in flight count as crashed. Resolves when `stop` would. */
  kill(): Promise<void> {
    return (this.#closing ??= this.#close(nothingLeft))
  }

  async #close(leftovers: Leftovers): Promise<void> {
    const { inbox, data, clock, timing, log, onStuck } = this.#options
    this.#spend('idle', 'it is ended')
    const late = Promise.withResolvers<'late'>()
    const timer = clock.after(timing.endMs, () => late.resolve('late'))
    const ended = this.#worker.terminate()
    // Only then can no handler run any more, so that its runs, and their keys, may start again.
    const givenBack = ended.then(() => this.#giveBack(() => this.#endRuns(leftovers)))
    const isLate = (await Promise.race([ended, late.promise])) === 'late'
    timer.cancel()
    if (!isLate) return givenBack
    log.error(nameFields(this.inFlight), 'a handler is stuck in a native call: its thread cannot be ended')
    onStuck(ended)
    await this.#giveBack(() => inbox.retire(data.owner, this.#atWork.runs()))
  }

  /** Tries once; while the store refuses, goes on in the background, because nobody else gives these runs back. */
  async #giveBack(work: () => Promise<void>): Promise<void> {
    const { clock, timing, log } = this.#options
    try {
      await work()
    } catch (error) {
      if (error instanceof InboxError && error.code === 'shutting_down') return
      log.warn({ error: messageOf(error) }, 'the runs of an ended thread could not be given back; trying again')
      clock.after(timing.longestRestartDelayMs, () => void this.#giveBack(work))
    }
  }

  async #endRuns({ overdue, interrupted }: Leftovers): Promise<void> {
    const { inbox, data, log } = this.#options
    if (overdue.length > 0) await this.#settle(overdue)
    if (interrupted.length > 0) await inbox.release(interrupted)
    const { runs, dead } = await inbox.reap(data.owner)
    const left = runs - dead.length
    if (left > 0)
      log.warn({ runs: left }, 'runs were in flight when their thread ended; they are tried again one by one')
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
      counter.add(handler, outcome.kind, outcome.endedAt - outcome.startedAt)
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
        this.#atWork = new AtWork(
          message.handlers.map(({ name }) => name),
          this.#options.data.concurrency,
          message.atWork,
        )
        this.#loaded.resolve(message.handlers)
        break
      case 'refused':
        this.#refuse(fromWireError(message.error))
        break
      case 'settled':
        this.#options.onSettled(message.counts)
        break
      case 'gate':
        if (message.shut === null || this.#isSpent) this.#shut.delete(message.handler)
        else this.#shut.set(message.handler, message.shut)
        break
      case 'stuck':
        this.#spend('stuck', `handler ${message.handler} goes on long after its timeout`, [message.handler])
        break
      case 'idle':
        this.#spend('idle', 'it has nothing to do')
        break
      case 'stopped':
        this.#stopped.resolve(message.leftovers)
        break
    }
  }

  /** Handler code has posted something to `parentPort`. */
  #ignore(): void {
    if (this.#hasIgnored) return
    this.#hasIgnored = true
    const fields = nameFields(this.#atWork.candidates())
    this.#options.log.warn(fields, 'handler code posted a message to the main thread; these are ignored')
  }

  async #measure(): Promise<void> {
    // The answer of a thread in a native call does not come before that is over.
    if (this.#isMeasuring) return
    this.#isMeasuring = true
    try {
      const { used_heap_size: heap, external_memory: external } = await this.#worker.getHeapStatistics()
      const usedMb = Math.round((heap + external) / mebibyte)
      if (usedMb > memoryLimitMb) this.#spend('broken', `it used ${usedMb} MB of memory, more than ${memoryLimitMb} MB`)
    } catch {
      // It has ended.
    }
    this.#isMeasuring = false
  }

  #refuse(error: Error): void {
    this.#loaded.reject(error)
    this.#spend('broken', error.message)
  }

  /** Where to look for what keeps it from loading. */
  #lastRead(): string {
    const file = [...this.#files].at(-1)
    return file === undefined ? '' : `; the last file that it read is ${file}`
  }

  #exited(code: number): void {
    // Its last messages may not have been delivered yet.
    for (let last; (last = receiveMessageOnPort(this.#port)) !== undefined;) this.#receive(last.message as FromRunner)
    this.#port.close()
    const reason = this.#failure ?? `it ended with code ${code}`
    this.#stopped.resolve(nothingLeft)
    if (this.#isLoaded) this.#spend('broken', reason)
    else
      this.#refuse(
        new InboxError(
          'handler_invalid',
          `the thread of the handlers ended while it loaded them: ${reason}${this.#lastRead()}`,
        ),
      )
  }

  #spend(kind: Spent['kind'], reason: string, handlers = this.inFlight): void {
    this.#watch.close()
    clearInterval(this.#memoryWatch)
    this.#isSpent = true
    this.#shut.clear()
    this.#spent.resolve({ kind, reason, handlers })
  }
}

function nameOf(selection: Selection): string {
  return 'only' in selection ? `runner ${parse(selection.only).name}` : 'runner'
}

/** Not a pipe, which would keep in memory all that is printed after a failed write, or for a reader that does not read. */
function passOn(from: Readable, to: NodeJS.WriteStream): void {
  from.on('data', (chunk: Buffer) => {
    if (to.writableLength < longestBacklog) to.write(chunk)
  })
}
