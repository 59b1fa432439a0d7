import type { Database } from 'better-sqlite3'
import { Dispatcher, type UnfinishedAttempt } from '../../src/dispatch/dispatcher.ts'
import { InboxError } from '../../src/base/errors.ts'
import { createLocalSqliteInbox } from '../../src/inbox/sqlite/local.ts'
import type { OpenStore } from '../../src/inbox/sqlite/open.ts'
import { createSqliteStore } from '../../src/inbox/sqlite/store.ts'
import type { Inbox, DispatchStore } from '../../src/inbox/port.ts'
import { silentLogger } from '../../src/base/log.ts'
import type { Answer } from '../../src/receiver/answer.ts'
import { createGroupCommit } from '../../src/receiver/group-commit.ts'
import { createIngest, type Ingest } from '../../src/receiver/ingest.ts'
import { createDefaultReader } from '../../src/receiver/readers.ts'
import type { Secret } from '../../src/signature/keys.ts'
import { loadHandlers } from './handlers.ts'
import type { Life } from './life.ts'
import type { Chronicle } from './chronicle.ts'
import type { Faults } from './faults.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './time.ts'

type Calls = Pick<DispatchStore, 'claim' | 'readState' | 'settle' | 'retire' | 'release'>

/**
 * The inbox for a runner thread: messages are delayed, but keep their order. Messages that the thread sent before it died still arrive;
 * their results are lost.
 */
function bridge(inbox: Calls, world: ProcessWorld, thread: Life, process: Life): Calls {
  const { random, time, faults, chronicle } = world
  const slowest = random.pick([0, 2, 30, 300])
  const there = createLine(process)
  const back = createLine(thread)

  function createLine(life: Life): (deliver: () => void) => void {
    let lastAt = 0
    return (deliver) => {
      const latency = random.chance(0.6) ? 0 : random.next() * slowest
      lastAt = Math.max(lastAt, time.elapsed + latency)
      time.after(life, lastAt - time.elapsed, deliver)
    }
  }

  function call<R>(name: string, work: () => Promise<R>): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      if (faults.point(`before it calls ${name}`, thread, process)) return
      there(() => {
        work().then(
          (result) => {
            if (process.hasEnded || faults.point(`before the result of ${name}`, thread, process)) return
            back(() => resolve(result))
          },
          (error: Error) => {
            if (!process.hasEnded) back(() => reject(error))
          },
        )
      })
    })
  }

  return {
    claim: (request) => call('claim', () => inbox.claim(request)),
    readState: (handler, query) => call('readState', () => inbox.readState(handler, query)),
    retire: (owner) => call('retire', () => inbox.retire(owner)),
    release: (leases) => call('release', () => inbox.release(leases)),
    settle: (outcomes) =>
      call('settle', async () => {
        const results = await inbox.settle(outcomes)
        if (!process.hasEnded) outcomes.forEach((outcome, index) => chronicle.settled(outcome, results[index]!))
        return results
      }),
  }
}

export interface ProcessWorld {
  readonly random: Random
  readonly time: VirtualTime
  readonly faults: Faults
  readonly chronicle: Chronicle
  readonly trace: (text: string) => void
  /** To read committed data. */
  readonly db: Database
  /** The view of the database for a process. */
  readonly databaseOf: (process: Life) => Database
  readonly handlerNames: readonly string[]
  readonly secrets: readonly Secret[]
}

const ackTimeoutMs = 500
const overrunGraceMs = 50
const graceMs = 300
const reapRetryMs = 200
const threadRestartMs = 20
const suspectPollMs = 60
const hardStopMs = 20_000

/** A process: receiver, inbox and runner threads. It stops at any point when its life ends. */
export class Process {
  readonly life: Life
  readonly inbox: Inbox
  readonly #world: ProcessWorld
  readonly #ingest: Ingest
  readonly #threads = new Set<Thread>()
  readonly #handlerNames: readonly string[]
  readonly #store: OpenStore['store']
  #isStopping = false
  #started = 0

  private constructor(world: ProcessWorld, life: Life) {
    this.#world = world
    this.life = life
    const clock = world.time.clock(life, world.random)
    this.#handlerNames = [...world.handlerNames]
    const open = openStore(world, life)
    this.#store = open.store
    this.inbox = createLocalSqliteInbox(open, { clock })
    // It exits after the store has failed for good, but not at once.
    this.inbox.onFailure(() =>
      world.time.after(life, world.random.integer(0, 10), () => this.#die('exits: its store failed')),
    )
    const accept: Inbox['accept'] = async (batch) => {
      // The delay until the writer thread gets the call.
      await world.time.sleep(life, world.random.chance(0.7) ? 0 : world.random.integer(0, 10))
      return this.inbox.accept(batch)
    }
    const commits = createGroupCommit({ accept, clock, ackTimeoutMs, onBatch: () => {} })
    const observer = { stored: () => {}, rejected: () => {}, refused: () => {} }
    const { secrets } = world
    this.#ingest = createIngest({
      commits,
      read: createDefaultReader({ secrets: () => secrets, signatureHeader: 'x', clock }),
      clock,
      log: silentLogger,
      observer,
      unusableStatus: 200,
    })
  }

  /** Rejects if it cannot start. */
  static async start(world: ProcessWorld, life: Life): Promise<Process> {
    const process = new Process(world, life)
    await process.inbox.register(
      loadHandlers(process.#handlerNames, world, { thread: life, process: life, suspects: false }),
    )
    process.#startThread('all')
    process.#pollSuspects()
    return process
  }

  get isListening(): boolean {
    return !this.life.hasEnded && !this.#isStopping
  }

  /** True if a handler was deployed since its start. */
  get isOutdated(): boolean {
    return this.#handlerNames.length < this.#world.handlerNames.length
  }

  /** True if the store has claimable runs. */
  get hasClaimable(): boolean {
    return this.#store.hasClaimable()
  }

  recall(handler: string | null): void {
    for (const thread of this.#threads) thread.recall(handler)
  }

  /** Never resolves if the process ends first. */
  deliver(raw: Uint8Array, signature: string | undefined): Promise<Answer> {
    return new Promise((resolve) => {
      void this.#ingest({ raw, headers: { x: signature }, rawHeaders: [] }).then((answer) => {
        if (!this.life.hasEnded) resolve(answer)
      })
    })
  }

  /** Ends the runner thread of a role. */
  killThread(role: Thread['role']): void {
    for (const thread of this.#threads) {
      if (thread.role === role) thread.life.end()
    }
  }

  /** Stops like on SIGTERM: handlers may finish, and other runs are released. */
  async stop(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const { time, trace } = this.#world
    trace(`${this.life.name} stops`)
    time.after(this.life, hardStopMs, () => this.#die('does not stop in time'))
    await Promise.all([...this.#threads].map((thread) => thread.stop(graceMs)))
    await this.inbox.close()
    this.#die('has stopped')
  }

  #die(how: string): void {
    if (this.life.hasEnded) return
    this.#world.trace(`${this.life.name} ${how}`)
    this.life.end()
  }

  #startThread(role: Thread['role']): void {
    if (this.#isStopping || this.life.hasEnded) return
    this.#started += 1
    const thread = new Thread(this.#world, this, this.#handlerNames, { role, number: this.#started })
    this.#threads.add(thread)
    if (role === 'all') {
      void thread.spent.then(() => this.#world.time.after(this.life, threadRestartMs, () => this.#startThread(role)))
    }
    void thread.emptied.then(() => this.#threads.delete(thread))
  }

  /** Runs a thread for crash suspects while there are any. */
  #pollSuspects(): void {
    if (this.#isStopping) return
    this.#world.time.after(this.life, suspectPollMs, () => this.#pollSuspects())
    const thread = [...this.#threads].find(({ role }) => role === 'suspects')
    void this.inbox.stats().then(({ handlers }) => {
      const hasSuspects = handlers.some(({ suspect }) => suspect > 0)
      if (hasSuspects && thread === undefined) this.#startThread('suspects')
      if (!hasSuspects && thread?.isIdle) void thread.stop(0)
    })
  }
}

const nothingLeft: readonly UnfinishedAttempt[] = []

/** A runner thread, with its supervision by the process. */
class Thread {
  readonly role: 'all' | 'suspects'
  readonly life: Life
  readonly #world: ProcessWorld
  readonly #process: Process
  readonly #owner: string
  readonly #dispatcher: Dispatcher
  readonly #spent = Promise.withResolvers<void>()
  readonly #emptied = Promise.withResolvers<void>()
  #unfinished = nothingLeft

  constructor(
    world: ProcessWorld,
    process: Process,
    handlerNames: readonly string[],
    { role, number }: { readonly role: Thread['role']; readonly number: number },
  ) {
    this.#world = world
    this.#process = process
    this.role = role
    this.#owner = `${role}-${number}`
    this.life = process.life.child(`${process.life.name}/${this.#owner}`)
    this.life.atEnd(() => {
      this.#spent.resolve()
      void this.#releaseLeases()
    })
    const suspects = role === 'suspects'
    const at = { thread: this.life, process: process.life, suspects }
    this.#dispatcher = new Dispatcher({
      work: bridge(process.inbox, world, this.life, process.life),
      handlers: loadHandlers(handlerNames, world, at),
      concurrency: 6,
      owner: this.#owner,
      suspects,
      clock: world.time.clock(this.life, world.random),
      log: silentLogger,
      observer: {
        starting: () => {},
        yielded: () => {},
        ended: () => {},
        settled: () => {},
        stuck: () => this.#replace(),
      },
      overrunGraceMs,
    })
    this.#dispatcher.start()
  }

  recall(handler: string | null): void {
    if (!this.life.hasEnded) void this.#dispatcher.recall(handler)
  }

  /** Resolves when a new thread should replace it. */
  get spent(): Promise<void> {
    return this.#spent.promise
  }

  /** Resolves when it has ended and has no leases left. */
  get emptied(): Promise<void> {
    return this.#emptied.promise
  }

  get isIdle(): boolean {
    return this.#dispatcher.isIdle
  }

  async stop(graceMs: number): Promise<void> {
    if (!this.life.hasEnded) {
      const unfinished = await Promise.race([this.#dispatcher.stop(graceMs, overrunGraceMs), this.#late(graceMs)])
      this.#unfinished = unfinished
      this.life.end()
    }
    await this.emptied
  }

  async #late(graceMs: number): Promise<readonly UnfinishedAttempt[]> {
    await this.#world.time.sleep(this.#process.life, graceMs + 6 * overrunGraceMs)
    return nothingLeft
  }

  /** A handler hangs: a new thread takes over, while other runs of this one may finish. */
  #replace(): void {
    const { time, trace, random } = this.#world
    trace(`${this.life.name} is stuck`)
    time.after(this.#process.life, random.integer(0, 20), () => {
      this.#spent.resolve()
      void this.stop(graceMs)
    })
  }

  async #releaseLeases(): Promise<void> {
    const { time, chronicle } = this.#world
    const { inbox, life } = this.#process
    // The delay until the process notices.
    await time.sleep(life, this.#world.random.integer(0, 20))
    const unfinished = this.#unfinished
    const overdue = unfinished.flatMap(({ outcome }) => (outcome === 'interrupted' ? [] : [outcome]))
    const interrupted = unfinished.filter(({ outcome }) => outcome === 'interrupted').map(({ lease }) => lease)
    for (;;) {
      try {
        if (overdue.length > 0) {
          const results = await inbox.settle(overdue)
          overdue.forEach((outcome, index) => chronicle.settled(outcome, results[index]!))
        }
        if (interrupted.length > 0) await inbox.release(interrupted)
        await inbox.reap(this.#owner)
        return this.#emptied.resolve()
      } catch (error) {
        if (error instanceof InboxError && error.code === 'shutting_down') return
        await time.sleep(life, reapRetryMs)
      }
    }
  }
}

/** Opens the database in the state of the earlier process. */
function openStore({ db, databaseOf, time, random, chronicle }: ProcessWorld, life: Life): OpenStore {
  const { lastSeq, count } = db
    .prepare<[], { lastSeq: number; count: number }>(
      'SELECT coalesce(max(seq), 0) AS lastSeq, count(*) AS count FROM event',
    )
    .get()!
  if (lastSeq !== count) chronicle.violate(`P7: a start found ${count} events, the last one has the number ${lastSeq}`)
  const store = createSqliteStore(databaseOf(life), {
    clock: time.clock(life, random),
    firstSeq: lastSeq + 1,
  })
  const integrity = { missingSeqs: 0, lastSeq, cleanStop: true, checkDue: false, synchronous: 2 }
  return { store, db, integrity, committed: () => null, close: () => {} }
}
