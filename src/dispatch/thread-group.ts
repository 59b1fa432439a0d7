import type { Readable } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import type { Inbox } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import type { Secret } from '../signature/keys.ts'
import type { ApiAccess } from './api.ts'
import type { Shut } from './gate.ts'
import { nameFields } from './blockage.ts'
import { HandlerThread, type Spent } from './handler-thread.ts'
import type { HandlerInfo, RunnerOrder, RunnerTiming, SettledCount, StartOrders } from './runner-protocol.ts'
import { withoutChecks, type HandlerSources, type Selection } from './sources.ts'

export interface ThreadOptions {
  readonly inbox: Pick<Inbox, 'settle' | 'release' | 'reap' | 'stats' | 'retire'>
  readonly openDispatchChannel: () => Promise<MessagePort>
  readonly sources: HandlerSources
  /** What bundled sinks sign with, at present. Without it they have nothing to sign with. */
  readonly secrets?: () => readonly Secret[]
  /** Access to the REST service, if there is. */
  readonly api?: ApiAccess | undefined
  /** Runs at once, in each thread. */
  readonly concurrency: number
  readonly logLevel: string
  readonly prettyLog: boolean
  readonly clock: Clock
  readonly log: Logger
  readonly onSettled: (counts: readonly SettledCount[]) => void
  /** Takes what the handlers of a thread print, and its log lines; by default it goes to the standard output of this process. */
  readonly onOutput?: ((output: Readable) => void) | undefined
  /** Called once for each thread that was lost. */
  readonly onReplaced: (reason: string) => void
}

export interface ThreadGroupOptions extends ThreadOptions {
  readonly selection: Selection
  readonly timing: RunnerTiming
  /** A name for the leases of a thread, given to no other. */
  readonly nextOwner: (role: Role) => string
  readonly onImport: (file: string, stamp: string) => void
  /** Called for each thread that is stuck in a native call. `ended` resolves once it has ended. */
  readonly onStuck: (ended: Promise<unknown>) => void
  /** Called when the runs of a lost thread have been given back: they may be suspects. */
  readonly onLeft: () => void
  /** Asked when a lost thread was loaded anew, maybe with other handlers than before; throws if it must not start. */
  readonly admit: (group: ThreadGroup, handlers: readonly HandlerInfo[]) => Promise<StartOrders>
}

type Role = 'all' | 'suspects'

/** Threads that finish their runs beside the one that took over. Each may run as much at once as that one. */
export const maxDraining = 2

/**
 * Keeps a thread running for some of the handlers: replaced when it exits, dies, or blocks for longer than its handlers may
 * take. What was in flight then comes back as suspects, which a second thread tries one at a time, so that only the guilty run
 * is charged again while all other work goes on.
 */
export class ThreadGroup {
  readonly #options: ThreadGroupOptions
  readonly #threads = new Set<HandlerThread>()
  /** Oldest first. */
  readonly #draining: HandlerThread[] = []
  #handlers: readonly HandlerInfo[] = []
  #first: HandlerThread | undefined
  #sinks: StartOrders['sinks'] = []
  #isStopping = false
  #suspectsWanted = false
  #atSuspects = false
  /** Whether what sinks need was found on this machine once. */
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

  /** The files of the user's that its threads have read so far. */
  get files(): readonly string[] {
    return [...this.#threads].flatMap((thread) => [...thread.files])
  }

  /** Which of its sinks are left alone, by name. */
  get shut(): readonly (readonly [string, Shut])[] {
    return [...this.#threads].flatMap((thread) => [...thread.shut])
  }

  /** The handlers that have runs in flight. */
  get inFlight(): readonly string[] {
    return [...this.#threads].flatMap((thread) => [...thread.inFlight])
  }

  /** Loads the handlers in a first thread. Throws what is wrong with them, with nothing left open. */
  async load(): Promise<readonly HandlerInfo[]> {
    this.#first = await this.#open('all')
    this.#handlers = await this.#first.loaded
    this.#isChecked = true
    return this.#handlers
  }

  /** Once they are loaded: from now on they run. */
  start(orders: StartOrders): void {
    if (this.#first === undefined) throw new Error('nothing is loaded')
    this.#sinks = orders.sinks
    this.#first.tell({ kind: 'start', ...orders })
    void this.#keepRunning(this.#first)
    void this.workOffSuspects()
  }

  /** From now on its threads take no more runs, and are not replaced. */
  async retire(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#threads].map((thread) => this.#options.inbox.retire(thread.owner)))
  }

  /** Lets runs finish for as long as they may take, gives back what has not begun, and ends the threads. */
  async drain(): Promise<void> {
    for (const thread of this.#threads) {
      void thread.spent.then((spent) => {
        if (spent.kind !== 'broken') return
        this.#tellReplaced(spent)
        void thread.kill()
      })
    }
    await this.stop(Math.max(0, ...this.#handlers.map(({ timeoutMs }) => timeoutMs)))
  }

  /**
   * Lets runs finish for `graceMs`, aborts the others, gives back the rest, and ends the threads. Called again with a shorter time
   * it hastens.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#threads].map((thread) => thread.stop(graceMs)))
  }

  /** Ends threads that run nothing yet. */
  async abandon(): Promise<void> {
    this.#isStopping = true
    await Promise.all([...this.#threads].map((thread) => thread.kill()))
  }

  /** Resolves when no run of threads that have been stopped is their own any more. */
  async emptied(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.emptied))
  }

  /** Tells all its threads. */
  tell(order: RunnerOrder): void {
    if (order.kind === 'sinks') this.#sinks = order.sinks
    for (const thread of this.#threads) thread.tell(order)
  }

  /** Keeps a thread for suspects as long as there are any. One call is at work, the others only make it look again. */
  async workOffSuspects(): Promise<void> {
    this.#suspectsWanted = true
    if (this.#atSuspects) return
    this.#atSuspects = true
    while (this.#suspectsWanted && !this.#isStopping) {
      this.#suspectsWanted = false
      if (await this.#hasSuspects()) {
        this.#suspectsWanted = true
        await this.#runSuspects()
      }
    }
    this.#atSuspects = false
  }

  /** A thread that has loaded its handlers and waits to be started. */
  async #open(role: Role): Promise<HandlerThread> {
    const dispatchPort = await this.#options.openDispatchChannel()
    if (this.#isStopping) {
      dispatchPort.close()
      throw stopping()
    }
    const { inbox, selection, api, concurrency, logLevel, prettyLog } = this.#options
    // What goes away while all runs (a folder, say) is the trouble of its sink alone.
    const sources = this.#isChecked ? withoutChecks(this.#options.sources) : this.#options.sources
    const { timing, clock, log, onSettled, onOutput, onImport, onStuck } = this.#options
    const owner = this.#options.nextOwner(role)
    const suspects = role === 'suspects'
    const secrets = this.#options.secrets?.() ?? []
    const logsToOutput = onOutput !== undefined
    const settings = { sources, selection, secrets, concurrency, owner, suspects, logLevel, prettyLog, logsToOutput }
    const data = { ...settings, api, dispatchPort }
    const thread = new HandlerThread({ inbox, data, timing, clock, log, onSettled, onOutput, onImport, onStuck })
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

  async #leave(thread: HandlerThread, stopped: Promise<void>): Promise<void> {
    await stopped
    void thread.emptied.then(() => {
      this.#threads.delete(thread)
      this.#options.onLeft()
    })
  }

  async #keepRunning(first: HandlerThread): Promise<void> {
    for (let thread: HandlerThread | undefined = first; thread !== undefined; thread = await this.#startAgain()) {
      const spent = await thread.spent
      if (this.#isStopping) return
      this.#tellReplaced(spent)
      void this.#leave(thread, spent.kind === 'stuck' ? this.#drain(thread) : thread.kill())
    }
  }

  /** Lets the other runs of a stuck thread finish, but for no more such threads at once than a few. */
  async #drain(thread: HandlerThread): Promise<void> {
    this.#draining.push(thread)
    if (this.#draining.length > maxDraining) void this.#draining[0]?.stop(0)
    await thread.stop(thread.longestTimeoutMs)
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
        delayMs = Math.min(2 * delayMs, timing.longestRestartDelayMs)
        log.error({ error: messageOf(error) }, 'the thread of the handlers cannot be started; trying again')
      }
    }
  }

  async #replace(): Promise<HandlerThread> {
    const thread = await this.#open('all')
    try {
      const handlers = await thread.loaded
      const orders = await this.#options.admit(this, handlers)
      if (this.#isStopping) throw stopping()
      this.#handlers = handlers
      this.#sinks = orders.sinks
      thread.tell({ kind: 'start', ...orders })
      return thread
    } catch (error) {
      await this.#discard(thread)
      throw error
    }
  }

  async #hasSuspects(): Promise<boolean> {
    const names = new Set(this.#handlers.map((handler) => handler.name))
    const stats = await this.#options.inbox.stats().catch(() => undefined)
    return stats?.handlers.some((row) => row.suspect > 0 && names.has(row.handler)) ?? true
  }

  async #runSuspects(): Promise<void> {
    const { timing, log } = this.#options
    try {
      const thread = await this.#open('suspects')
      thread.tell({ kind: 'start', concurrencies: {}, processes: 1, sinks: this.#sinks })
      const spent = await thread.spent
      if (this.#isStopping) return
      if (spent.kind !== 'idle') this.#tellReplaced(spent)
      await this.#leave(thread, spent.kind === 'broken' ? thread.kill() : thread.stop(0))
    } catch (error) {
      if (this.#isStopping) return
      log.error({ error: messageOf(error) }, 'the thread for suspects cannot be started; trying again')
      await this.#wait(timing.longestRestartDelayMs)
    }
  }

  #tellReplaced({ reason, handlers }: Spent): void {
    this.#options.log.error({ reason, ...nameFields(handlers) }, 'the thread of the handlers is replaced')
    this.#options.onReplaced(reason)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#options.clock.after(ms, resolve))
  }
}

function stopping(): InboxError {
  return new InboxError('shutting_down', 'these threads are stopping')
}
