import Sqlite, { type Database } from 'better-sqlite3'
import { parseSecrets } from '../../src/signature/keys.ts'
import { judge } from './checks.ts'
import { Chronicle, nameOf, type Part } from './chronicle.ts'
import { Faults, faultyDatabases } from './faults.ts'
import { lateNames, roles, sinkName } from './roles.ts'
import { openJournal } from './journal.ts'
import { Life } from './life.ts'
import { Process, type ProcessWorld } from './process.ts'
import { createRandom, type Random } from './random.ts'
import { Sender } from './sender.ts'
import { chooseSteps, steps } from './steps.ts'
import { VirtualTime } from './time.ts'
import { systemClock } from '../../src/base/clock.ts'
import { openMemoryStore } from '../../src/inbox/sqlite/open.ts'

type Statement = ReturnType<Database['prepare']>
const forms = ['pluck', 'raw'] as const

let image: Promise<Buffer> | undefined

/** A copy of an empty database in memory. Caches its prepared statements, because each simulation has dozens of starts. */
async function openDatabase(): Promise<Database> {
  const db = new Sqlite(await (image ??= makeImage()))
  const prepared = new Map<string, Statement>()
  const prepare = db.prepare.bind(db)
  /** Statements keep their row format, so there is one per format. */
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

export type Report = Awaited<ReturnType<typeof Simulation.run>>

const secrets = parseSecrets('main:a-secret-of-the-simulation')
const drainLimitMs = 300_000
const pollMs = 250
const maxHandlers = 4
const maxLines = 20_000

/** One seed: a sender, processes that serve one database one after the other, and faults. */
export class Simulation {
  readonly random: Random
  readonly time: VirtualTime
  readonly faults: Faults
  readonly chronicle: Chronicle
  readonly sender: Sender
  /** The handlers of processes that start later. */
  readonly handlerNames: string[]
  /** The life of timers outside of processes. */
  readonly life = new Life('world')
  process: Process | undefined
  readonly #world: ProcessWorld
  readonly #trace: string[] = []
  #starts = 0
  #restMs = 0

  private constructor(seed: number, db: Database) {
    this.random = createRandom(seed, 'steps')
    const trace = (text: string) => this.#note(text)
    this.time = new VirtualTime((error) => this.chronicle.violate(`uncaught: ${String(error)}`))
    this.faults = new Faults(createRandom(seed, 'faults'), trace)
    this.handlerNames = chooseHandlers(this.random)
    this.chronicle = new Chronicle(partsOf([...this.handlerNames, ...lateNames]))
    const { time, faults, chronicle, handlerNames } = this
    const databaseOf = faultyDatabases({ db, faults, chronicle, trace }, openJournal(db))
    const common = { time, faults, chronicle, trace, secrets }
    this.#world = { ...common, random: createRandom(seed, 'processes'), db, databaseOf, handlerNames }
    const listener = () => (this.process?.isListening ? this.process : undefined)
    this.sender = new Sender({ ...common, random: createRandom(seed, 'sender'), listener })
  }

  static async run(seed: number) {
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
    return { seed, violations: simulation.chronicle.violations, trace: simulation.#trace }
  }

  /** Adds a pause before the next step. */
  rest(ms: number): void {
    this.#restMs += ms
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
    if (this.process?.hasClaimable) this.chronicle.violate('P7: the store has claimable runs left')
    judge(this.chronicle, { sender: this.sender, handlers: partsOf(this.handlerNames) }, this.#world.db)
  }

  /** Ends all faults and runs until nothing is left to do. */
  async #drain(): Promise<void> {
    this.#note('faults end')
    this.faults.heal()
    const until = this.time.elapsed + drainLimitMs
    while (!this.#hasFailed && !this.#isDrained()) {
      if (this.time.elapsed > until) return this.chronicle.violate(this.#describeRest())
      void this.#tidy().catch(() => {})
      await this.time.pass(pollMs, () => this.#hasFailed)
    }
  }

  /** Resumes paused handlers and requeues dead letters, like an operator. */
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

  /** Number of handlers whose backfill has ended. */
  #countBackfilled(): number {
    const names = this.handlerNames.map((name) => `'${name}'`).join(', ')
    const text = `SELECT count(*) AS count FROM handler WHERE backfill_seq IS NULL AND name IN (${names})`
    return this.#world.db.prepare<[], { count: number }>(text).get()!.count
  }

  #describeRest(): string {
    const { sender, chronicle } = this
    const unacknowledged = sender.deliveries.filter(({ isAcknowledged }) => !isAcknowledged).map(({ id }) => id)
    const open = chronicle.open.map((story) => `${nameOf(story)} is ${story.row.state}`)
    const replays = [...chronicle.replays].filter(([, { state }]) => state === 'running').map(([id]) => id)
    return (
      `P7: it does not end; not acknowledged: ${unacknowledged.join(', ')}; ` +
      `open: ${open.slice(0, 5).join(', ')}; replays: ${replays.join(', ')}; ` +
      `${this.#countBackfilled()} of ${this.handlerNames.length} handlers have ended their backfill`
    )
  }

  get #hasFailed(): boolean {
    return this.chronicle.violations.length > 0
  }

  /** Starts a process, and the next one when it ends. */
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
    if (this.#trace.length > maxLines) this.chronicle.violate('P7: the simulation does not end')
  }
}

function chooseHandlers(random: Random): string[] {
  const names = Object.keys(roles).filter((name) => !lateNames.includes(name))
  const chosen = new Set(Array.from({ length: random.integer(1, maxHandlers) }, () => random.pick(names)))
  return [...chosen].toSorted()
}

function partsOf(handlerNames: readonly string[]): Part[] {
  const handlers = handlerNames.map((name): Part => {
    const { types = ['*'], order = 'key', onDead = 'skip', from = 'now' } = roles[name]!.options
    return { name, types, order, onDead, from }
  })
  return [...handlers, { name: sinkName, types: [], order: 'key', onDead: 'skip' }]
}
