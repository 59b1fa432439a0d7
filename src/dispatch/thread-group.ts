import type { MessagePort } from 'node:worker_threads'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Secret } from '../signature/keys.ts'
import type { OpenBreaker } from './circuit-breaker.ts'
import { nameFields } from './blockage.ts'
import { HandlerThread, type HandlerThreadOptions, type UnusableReason } from './handler-thread.ts'
import type { HandlerInfo, RunnerData, RunnerOrder, StartData } from './runner-protocol.ts'
import { withoutChecks, type Selection } from './handler-locations.ts'

export interface ThreadOptions
  extends
    Pick<HandlerThreadOptions, 'clock' | 'log' | 'onSettled' | 'onOutput'>,
    Pick<RunnerData, 'locations' | 'api' | 'concurrency' | 'logLevel' | 'prettyLog'> {
  readonly inbox: Pick<Inbox, 'settle' | 'release' | 'reap' | 'stats' | 'retire'>
  readonly openDispatchChannel: () => Promise<MessagePort>
  /** Current webhook secrets, for sinks that sign. Default: none. */
  readonly secrets?: () => readonly Secret[]
  /** Called once for each thread that was lost. */
  readonly onReplaced: (reason: string) => void
}

export interface ThreadGroupOptions
  extends ThreadOptions, Pick<HandlerThreadOptions, 'timing' | 'onImport' | 'onStuck'> {
  readonly selection: Selection
  /** Returns a unique owner for the leases of a thread. */
  readonly nextOwner: (role: Role) => string
  /** Called when the runs of a lost thread were released: some may be suspects. */
  readonly onRunsReleased: () => void
  /** Called after a lost thread was loaded again, maybe with other handlers. Throws if it must not start. */
  readonly admit: (group: ThreadGroup, handlers: readonly HandlerInfo[]) => Promise<StartData>
}

type Role = 'all' | 'suspects'

/** Maximum number of replaced threads that finish their runs. Each has the full concurrency. */
export const maxDraining = 2

/**
 * Keeps a thread running for some of the handlers. Replaces it when it exits, crashes, or blocks for longer than its
 * handlers may run. Runs that were in flight become suspects. A second thread runs these one at a time, so that only
 * the responsible run is charged again while all others continue.
 */
export class ThreadGroup {
  readonly #options: ThreadGroupOptions
  readonly #threads = new Set<HandlerThread>()
  /** Oldest first. */
  readonly #draining: HandlerThread[] = []
  #handlers: readonly HandlerInfo[] = []
  #first: HandlerThread | undefined
  #sinks: StartData['sinks'] = new Map()
  #isStopping = false
  #mayHaveSuspects = false
  #isRunningSuspects = false
  /** True once the environment checks of the sinks have passed. */
  #isChecked = false

  constructor(options: ThreadGroupOptions) {
    this.#options = options
  }

  get selection(): Selection {
    return this.#options.selection
  }

  get handlers(): readonly HandlerInfo[] {
    return this.#handlers
  }

  /** User files that its threads have read so far. */
  get files(): readonly string[] {
    return [...this.#threads].flatMap((thread) => [...thread.files])
  }

  /** Sinks that send nothing for now, by name. */
  get openBreakers(): readonly (readonly [string, OpenBreaker])[] {
    return [...this.#threads].flatMap((thread) => [...thread.openBreakers])
  }

  /** The handlers that have runs in flight. */
  get inFlight(): readonly string[] {
    return [...this.#threads].flatMap((thread) => [...thread.inFlight])
  }

  /** Loads the handlers in a first thread. On failure, ends the thread and throws. */
  async load(): Promise<readonly HandlerInfo[]> {
    this.#first = await this.#open('all')
    this.#handlers = await this.#first.loaded
    this.#isChecked = true
    return this.#handlers
  }

  /** Starts the loaded handlers. */
  start(startData: StartData): void {
    if (this.#first === undefined) throw new Error('handlers are not loaded')
    this.#sinks = startData.sinks
    this.#first.send({ kind: 'start', ...startData })
    void this.#keepRunning(this.#first)
    void this.runAllSuspects()
  }

  /** Its threads claim no more runs and are not replaced. */
  async retire(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#threads].map((thread) => this.#options.inbox.retire(thread.owner)))
  }

  /** Lets runs finish within their timeouts, releases runs that have not started, and ends the threads. */
  async drain(): Promise<void> {
    for (const thread of this.#threads) {
      void thread.unusable.then((reason) => {
        if (reason.kind !== 'broken') return
        this.#reportReplaced(reason)
        void thread.kill()
      })
    }
    await this.stop(Math.max(0, ...this.#handlers.map(({ timeoutMs }) => timeoutMs)))
  }

  /**
   * Lets runs finish for `graceMs`, aborts the others, releases the rest, and ends the threads. A second call with a
   * shorter time shortens the first.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#threads].map((thread) => thread.stop(graceMs)))
  }

  /** Ends threads that have not started runs yet. */
  async abandon(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#threads].map((thread) => thread.kill()))
  }

  /** Resolves when stopped threads own no run any more. */
  async emptied(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.emptied))
  }

  /** Sends an order to all its threads. */
  send(order: RunnerOrder): void {
    if (order.kind === 'sinks') this.#sinks = order.sinks
    for (const thread of this.#threads) thread.send(order)
  }

  /** Keeps a thread for suspects while there are any. Concurrent calls only make the first one check again. */
  async runAllSuspects(): Promise<void> {
    this.#mayHaveSuspects = true
    if (this.#isRunningSuspects) return
    this.#isRunningSuspects = true
    while (this.#mayHaveSuspects && !this.#isStopping) {
      this.#mayHaveSuspects = false
      if (await this.#hasSuspects()) {
        this.#mayHaveSuspects = true
        await this.#runSuspects()
      }
    }
    this.#isRunningSuspects = false
  }

  /** Starts a thread. Resolves when it has loaded its handlers. */
  async #open(role: Role): Promise<HandlerThread> {
    const dispatchPort = await this.#options.openDispatchChannel()
    if (this.#isStopping) {
      dispatchPort.close()
      throw stopping()
    }
    const { selection, api, concurrency, logLevel, prettyLog, onOutput } = this.#options
    // If a resource of a sink (a folder, say) disappears later, only that sink fails.
    const locations = this.#isChecked ? withoutChecks(this.#options.locations) : this.#options.locations
    const owner = this.#options.nextOwner(role)
    const secrets = this.#options.secrets?.() ?? []
    const settings = { locations, selection, secrets, api, concurrency, owner, logLevel, prettyLog, dispatchPort }
    const data = { ...settings, suspects: role === 'suspects', logsToOutput: onOutput !== undefined }
    const thread = new HandlerThread({ ...this.#options, data })
    this.#threads.add(thread)
    try {
      await thread.loaded
      if (this.#isStopping) throw stopping()
      return thread
    } catch (error) {
      await this.#discard(thread)
      throw error
    }
  }

  async #discard(thread: HandlerThread): Promise<void> {
    await thread.kill()
    this.#threads.delete(thread)
  }

  async #removeOnceEmptied(thread: HandlerThread, stopped: Promise<void>): Promise<void> {
    await stopped
    void thread.emptied.then(() => {
      this.#threads.delete(thread)
      this.#options.onRunsReleased()
    })
  }

  async #keepRunning(first: HandlerThread): Promise<void> {
    for (let thread: HandlerThread | undefined = first; thread !== undefined; thread = await this.#startAgain()) {
      const reason = await thread.unusable
      if (this.#isStopping) return
      this.#reportReplaced(reason)
      void this.#removeOnceEmptied(thread, reason.kind === 'stuck' ? this.#drain(thread) : thread.kill())
    }
  }

  /** Lets the other runs of a stuck thread finish. Only `maxDraining` such threads are kept. */
  async #drain(thread: HandlerThread): Promise<void> {
    this.#draining.push(thread)
    if (this.#draining.length > maxDraining) void this.#draining[0]?.stop(0)
    await thread.stop(thread.maxTimeoutMs)
    this.#draining.splice(this.#draining.indexOf(thread), 1)
  }

  async #startAgain(): Promise<HandlerThread | undefined> {
    const { timing, log } = this.#options
    let delayMs = timing.restartDelayMs
    for (;;) {
      await this.#wait(delayMs)
      if (this.#isStopping) return undefined
      try {
        return await this.#replace()
      } catch (error) {
        if (this.#isStopping) return undefined
        delayMs = Math.min(2 * delayMs, timing.maxRestartDelayMs)
        log.error({ error: messageOf(error) }, 'handler thread start failed, retrying')
      }
    }
  }

  async #replace(): Promise<HandlerThread> {
    const thread = await this.#open('all')
    try {
      const handlers = await thread.loaded
      const startData = await this.#options.admit(this, handlers)
      if (this.#isStopping) throw stopping()
      this.#handlers = handlers
      this.#sinks = startData.sinks
      thread.send({ kind: 'start', ...startData })
      return thread
    } catch (error) {
      await this.#discard(thread)
      throw error
    }
  }

  /** Suspects of paused handlers don't count. */
  async #hasSuspects(): Promise<boolean> {
    const names = new Set(this.#handlers.map((handler) => handler.name))
    const stats = await this.#options.inbox.stats().catch(() => undefined)
    if (stats === undefined) return true
    return !stats.paused && stats.handlers.some((row) => row.suspect > 0 && !row.paused && names.has(row.handler))
  }

  async #runSuspects(): Promise<void> {
    const { timing, log } = this.#options
    try {
      const thread = await this.#open('suspects')
      thread.send({ kind: 'start', concurrencies: {}, processes: 1, sinks: this.#sinks })
      const reason = await thread.unusable
      if (this.#isStopping) return
      if (reason.kind !== 'idle') this.#reportReplaced(reason)
      await this.#removeOnceEmptied(thread, reason.kind === 'broken' ? thread.kill() : thread.stop(0))
    } catch (error) {
      if (this.#isStopping) return
      log.error({ error: messageOf(error) }, 'suspects thread start failed, retrying')
      await this.#wait(timing.maxRestartDelayMs)
    }
  }

  #reportReplaced({ reason, handlers }: UnusableReason): void {
    this.#options.log.error({ reason, ...nameFields(handlers) }, 'handler thread replaced')
    this.#options.onReplaced(reason)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve))
  }
}

function stopping(): InboxError {
  return new InboxError('shutting_down', 'the handler threads are stopping')
}
