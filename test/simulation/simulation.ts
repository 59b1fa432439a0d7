import Sqlite, { type Database } from 'better-sqlite3'
import { createHash } from 'node:crypto'
import { parseSecrets } from '../../src/signature/keys.ts'
import { compareCounts, judge } from './checks.ts'
import { Chronicle, nameOf, type Part } from './chronicle.ts'
import { Faults, faultyDatabases } from './faults.ts'
import { lateNames, roles, sinkName } from './roles.ts'
import { Journal } from './journal.ts'
import { Life } from './life.ts'
import { Process, type ProcessWorld } from './process.ts'
import { Random } from './random.ts'
import { Sender } from './sender.ts'
import { chooseSteps, steps } from './steps.ts'
import { VirtualTime } from './time.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openMemoryStore } from '../../src/inbox/sqlite/open.ts'

type Statement = ReturnType<Database['prepare']>
const forms = ['pluck', 'raw'] as const

let image: Promise<Buffer> | undefined

/** A database in memory as `openMemoryStore` leaves it. Copied, and its statements kept, because each simulation has dozens of starts. */
async function openDatabase(): Promise<Database> {
  const db = new Sqlite(await (image ??= makeImage()))
  const prepared = new Map<string, Statement>()
  const prepare = db.prepare.bind(db)
  /** One for each form in which its rows are wanted, because a statement keeps the form that it was asked for once. */
  function keep(text: string, form?: (typeof forms)[number]): Statement {
    const key = `${form ?? 'rows'} ${text}`
    const known = prepared.get(key)
    if (known !== undefined) return known
    const statement = prepare(text)
    if (form !== undefined) statement[form]()
    else for (const other of forms) Object.defineProperty(statement, other, { value: () => keep(text, other) })
    prepared.set(key, statement)
    return statement
  }
  db.prepare = ((text: string) => keep(text)) as Database['prepare']
  return db
}

async function makeImage(): Promise<Buffer> {
  const open = await openMemoryStore({ clock: systemClock })
  const made = open.db.serialize()
  open.close()
  return made
}

export interface Report {
  readonly seed: number
  readonly violations: readonly string[]
  readonly trace: readonly string[]
  /** Of the trace. */
  readonly digest: string
  readonly events: number
  readonly runs: number
  readonly starts: number
}

const secrets = parseSecrets('main:a-secret-of-the-simulation')
const drainLimitMs = 300_000
const lookMs = 250
const mostHandlers = 4
const mostLines = 20_000

/** One seed: a sender, one process after the other on one database, and what goes wrong with them. */
export class Simulation {
  readonly random: Random
  readonly time: VirtualTime
  readonly faults: Faults
  readonly chronicle: Chronicle
  readonly sender: Sender
  /** Of processes that start from now on. */
  readonly handlerNames: string[]
  /** Of what outlives processes. */
  readonly life = new Life('world')
  process: Process | undefined
  readonly #seed: number
  readonly #world: ProcessWorld
  readonly #trace: string[] = []
  #starts = 0
  #restMs = 0

  private constructor(seed: number, db: Database) {
    this.#seed = seed
    const random = new Random(seed)
    this.random = random.fork('steps')
    const trace = (text: string) => this.#note(text)
    this.time = new VirtualTime((error) => this.chronicle.violate(`nobody caught: ${String(error)}`))
    this.faults = new Faults(random.fork('faults'), trace)
    this.handlerNames = chooseHandlers(this.random)
    const clock = this.time.clock(this.life, this.random)
    this.chronicle = new Chronicle(partsOf([...this.handlerNames, ...lateNames]), () => clock.now())
    const { time, faults, chronicle, handlerNames } = this
    const databaseOf = faultyDatabases({ db, faults, journal: new Journal(db), chronicle, trace })
    const common = { time, faults, chronicle, trace, secrets }
    this.#world = { ...common, random: random.fork('processes'), db, databaseOf, handlerNames }
    const listener = () => (this.process?.isListening ? this.process : undefined)
    this.sender = new Sender({ ...common, random: random.fork('sender'), listener })
  }

  static async run(seed: number): Promise<Report> {
    const db = await openDatabase()
    const simulation = new Simulation(seed, db)
    const restore = simulation.time.install()
    try {
      await simulation.#run()
    } catch (error) {
      simulation.chronicle.violate(
        `the simulation itself failed: ${error instanceof Error ? error.stack : String(error)}`,
      )
    } finally {
      simulation.process?.life.end()
      restore()
      db.close()
    }
    return simulation.#report()
  }

  /** Lets so much time pass before the next step. */
  rest(ms: number): void {
    this.#restMs += ms
  }

  /** Whether the inbox counts what is there. */
  async compareStats(): Promise<void> {
    if (this.process === undefined || this.process.life.hasEnded) return
    const stats = this.process.inbox.stats()
    // Counted in the same turn of the event loop, so that no commit comes between.
    const check = compareCounts(this.chronicle, [...this.handlerNames, sinkName])
    check(await stats)
  }

  async #run(): Promise<void> {
    const weights = chooseSteps(this)
    this.#note(`handlers: ${this.handlerNames.join(', ')}`)
    this.#boot()
    for (let count = this.random.integer(10, 30); count > 0 && !this.#hasFailed; count -= 1) {
      const name = this.random.weighted(weights)
      this.#note(`step: ${name}`)
      steps[name].take(this)
      this.#restMs += this.random.chance(0.5) ? 0 : this.random.integer(0, 40)
      await this.time.pass(this.#restMs, () => this.#hasFailed)
      this.#restMs = 0
    }
    await this.#drain()
    if (this.#hasFailed) return
    await this.compareStats()
    if (this.process?.hasClaimable) this.chronicle.violate('P7: the store believes that there is work left')
    judge(this.chronicle, { sender: this.sender, handlers: partsOf(this.handlerNames) }, this.#world.db)
  }

  /** Heals everything, and works until nothing is left to do. */
  async #drain(): Promise<void> {
    this.#note('from here on all is well')
    this.faults.heal()
    const until = this.time.elapsed + drainLimitMs
    while (!this.#hasFailed && !this.#isDrained()) {
      if (this.time.elapsed > until) return this.chronicle.violate(this.#sayLeft())
      void this.#tidy().catch(() => {})
      await this.time.pass(lookMs, () => this.#hasFailed)
    }
  }

  /** What an operator does once all is well: resumes what is paused, and requeues dead letters. */
  async #tidy(): Promise<void> {
    const { process } = this
    if (process === undefined || !process.isListening) return
    const { inbox } = process
    const stats = await inbox.stats()
    if (stats.paused) await inbox.setPaused(null, false)
    for (const { handler, paused } of stats.handlers) if (paused) await inbox.setPaused(handler, false)
    if (this.chronicle.dead.length > 0) await inbox.requeueDead('all')
  }

  #isDrained(): boolean {
    const { sender, chronicle } = this
    const isReplaying = [...chronicle.replays.values()].some(({ state }) => state === 'running')
    if (!sender.isDone || chronicle.open.length > 0 || chronicle.dead.length > 0 || isReplaying) return false
    return this.#countBackfilled() === this.handlerNames.length
  }

  /** How many handlers of events have got what there was before them. */
  #countBackfilled(): number {
    const names = this.handlerNames.map((name) => `'${name}'`).join(', ')
    const text = `SELECT count(*) AS count FROM handler WHERE backfill_seq IS NULL AND name IN (${names})`
    return this.#world.db.prepare<[], { count: number }>(text).get()!.count
  }

  #sayLeft(): string {
    const { sender, chronicle } = this
    const unacknowledged = sender.deliveries.filter(({ isAcknowledged }) => !isAcknowledged).map(({ id }) => id)
    const open = chronicle.open.map((story) => `${nameOf(story)} is ${story.row.state}`)
    const replays = [...chronicle.replays].filter(([, { state }]) => state === 'running').map(([id]) => id)
    return (
      `P7: it does not come to an end; not acknowledged: ${unacknowledged.join(', ')}; ` +
      `open: ${open.slice(0, 5).join(', ')}; replays: ${replays.join(', ')}; ` +
      `${this.#countBackfilled()} of ${this.handlerNames.length} handlers have what was before them`
    )
  }

  get #hasFailed(): boolean {
    return this.chronicle.violations.length > 0
  }

  /** Starts a process, and another one whenever it ends. */
  #boot(): void {
    this.#starts += 1
    const life = new Life(`process ${this.#starts}`)
    life.atEnd(() => {
      this.#note(`${life.name} has ended`)
      this.time.after(this.life, this.random.integer(1, 30), () => this.#boot())
    })
    this.#start(life).catch(() => life.end())
  }

  async #start(life: Life): Promise<void> {
    const process = await Process.start(this.#world, life)
    if (life.hasEnded) return
    this.process = process
    this.#note(`${life.name} is ready`)
    if (process.isOutdated) void process.stop()
  }

  #note(text: string): void {
    this.#trace.push(`${this.time.elapsed.toFixed(3)} ${text}`)
    if (this.#trace.length > mostLines) this.chronicle.violate('P7: the same goes on for ever')
  }

  #report(): Report {
    const { chronicle } = this
    return {
      seed: this.#seed,
      violations: chronicle.violations,
      trace: this.#trace,
      digest: createHash('sha256').update(this.#trace.join('\n')).digest('hex'),
      events: chronicle.events.size,
      runs: chronicle.runs.size,
      starts: this.#starts,
    }
  }
}

function chooseHandlers(random: Random): string[] {
  const names = Object.keys(roles).filter((name) => !lateNames.includes(name))
  const chosen = new Set(Array.from({ length: random.integer(1, mostHandlers) }, () => random.pick(names)))
  return [...chosen].toSorted()
}

function partsOf(handlerNames: readonly string[]): Part[] {
  const handlers = handlerNames.map((name): Part => {
    const { types = ['*'], order = 'key', onDead = 'skip', from = 'now' } = roles[name]!.options
    return { name, types, order, onDead, from }
  })
  return [...handlers, { name: sinkName, types: [], order: 'key', onDead: 'skip' }]
}
