import Sqlite, { type Database, type PragmaOptions } from 'better-sqlite3'
import type { Change } from './journal.ts'
import { Ended, type Life } from './life.ts'
import type { Random } from './random.ts'
import type { ProcessWorld } from './process.ts'

type Place = 'begin' | 'commit' | 'rollback' | 'read' | 'write'

/** Injected failures of statements. */
const storeFaults = {
  busy: { places: ['begin', 'commit'], codes: ['SQLITE_BUSY'] },
  full: { places: ['commit', 'write'], codes: ['SQLITE_FULL'] },
  failed: {
    places: ['begin', 'commit', 'read', 'write'],
    codes: ['SQLITE_IOERR_WRITE', 'SQLITE_IOERR_READ', 'SQLITE_NOMEM'],
  },
  bug: { places: ['read', 'write'], codes: ['SQLITE_CONSTRAINT', 'SQLITE_INTERRUPT'] },
  fatal: { places: ['commit'], codes: ['SQLITE_IOERR_FSYNC'] },
  crash: { places: ['begin', 'commit', 'read', 'write'], codes: [] },
} as const satisfies { [name: string]: { places: readonly Place[]; codes: readonly string[] } }

type StoreFault = keyof typeof storeFaults

/** Errors after which SQLite may have rolled the transaction back by itself. */
const rollsBack: ReadonlySet<StoreFault> = new Set(['full', 'failed'])

const places: { readonly [text: string]: Place } = {
  'BEGIN IMMEDIATE': 'begin',
  COMMIT: 'commit',
  ROLLBACK: 'rollback',
}

/** Random faults. Each seed has only some of them, so that they don't hide each other. */
export class Faults {
  /** Probability per commit and per other statement. */
  readonly #rates: { readonly [name in StoreFault]: { readonly commit: number; readonly statement: number } }
  readonly #pointRates: { readonly process: number; readonly thread: number }
  readonly #random: Random
  readonly #trace: (text: string) => void
  #isHealed = false
  /** The failure of every commit at present. */
  #outage: StoreFault | undefined

  constructor(random: Random, trace: (text: string) => void) {
    this.#random = random
    this.#trace = trace
    const rate = (share: number, max: number) => (random.chance(share) ? random.next() * max : 0)
    const rates = () => ({ commit: rate(0.4, 0.1), statement: rate(0.4, 0.01) })
    this.#rates = { busy: rates(), full: rates(), failed: rates(), bug: rates(), fatal: rates(), crash: rates() }
    this.#pointRates = { process: rate(0.4, 0.02), thread: rate(0.4, 0.05) }
  }

  get isHealed(): boolean {
    return this.#isHealed
  }

  heal(): void {
    this.#isHealed = true
    this.#outage = undefined
  }

  /** Makes every commit fail; undefined ends that. */
  setOutage(outage: 'busy' | 'full' | 'failed' | undefined): void {
    this.#outage = outage
  }

  /** May end the thread or its process here. Returns true if it did. */
  point(where: string, thread: Life, process: Life): boolean {
    if (this.#isHealed || thread.hasEnded) return thread.hasEnded
    const victim = this.#random.chance(this.#pointRates.process)
      ? process
      : this.#random.chance(this.#pointRates.thread)
        ? thread
        : undefined
    if (victim === undefined) return false
    this.#trace(`${victim.name} dies ${where}`)
    victim.end()
    return true
  }

  at(place: Place): StoreFault | undefined {
    if (this.#isHealed || place === 'rollback') return undefined
    if (this.#outage !== undefined && place === 'commit') return this.#outage
    for (const name of Object.keys(storeFaults) as StoreFault[]) {
      const rates = this.#rates[name]
      const rate = place === 'read' || place === 'write' ? rates.statement : rates.commit
      if (rate > 0 && isAt(name, place) && this.#random.chance(rate)) return name
    }
    return undefined
  }

  pick(fault: StoreFault): string {
    return this.#random.pick<string>(storeFaults[fault].codes)
  }

  chance(probability: number): boolean {
    return this.#random.chance(probability)
  }
}

function isAt(name: StoreFault, place: Place): boolean {
  return (storeFaults[name].places as readonly Place[]).includes(place)
}

interface Statement {
  run(...given: unknown[]): unknown
  get(...given: unknown[]): unknown
  all(...given: unknown[]): unknown
}

/** Returns a view of the database per process, whose statements may fail or end the process. `journal`: returns the changes of the latest commit. */
export function faultyDatabases(
  { db, faults, chronicle, trace }: Pick<ProcessWorld, 'db' | 'faults' | 'chronicle' | 'trace'>,
  journal: () => Change[],
): (process: Life) => Database {
  function rollBack(): void {
    if (db.inTransaction) db.exec('ROLLBACK')
  }

  function commit(process: Life, execute: () => unknown, inDoubt: boolean): unknown {
    const result = execute()
    chronicle.committed(journal(), process, inDoubt)
    return result
  }

  function fail(fault: StoreFault, place: Place, process: Life, execute: () => unknown): never {
    const took = place === 'commit' && (fault === 'fatal' || fault === 'crash') && faults.chance(0.5)
    if (took) commit(process, execute, fault === 'fatal')
    else if (fault === 'fatal' || fault === 'crash' || (rollsBack.has(fault) && faults.chance(0.5))) rollBack()
    if (fault === 'crash') {
      trace(`${process.name} dies at ${place}${took ? ', after it' : ''}`)
      process.end()
      throw new Ended()
    }
    const code = faults.pick(fault)
    trace(`${code} at ${place}${took ? ', after it' : ''}`)
    throw new Sqlite.SqliteError(`injected ${code}`, code)
  }

  return (process) => {
    // The end of a process rolls back its transaction.
    process.atEnd(rollBack)
    const call = (place: Place, execute: () => unknown): unknown => {
      if (process.hasEnded) throw new Ended()
      const fault = faults.at(place)
      if (fault !== undefined) return fail(fault, place, process, execute)
      return place === 'commit' ? commit(process, execute, false) : execute()
    }
    const view = {
      prepare(text: string): Statement {
        const statement = db.prepare(text) as unknown as Statement
        return {
          run: (...given) => call(places[text] ?? 'write', () => statement.run(...given)),
          get: (...given) => call('read', () => statement.get(...given)),
          all: (...given) => call('read', () => statement.all(...given)),
        }
      },
      pragma: (text: string, options?: PragmaOptions) => call('read', () => db.pragma(text, options)),
      get inTransaction() {
        return !process.hasEnded && db.inTransaction
      },
    }
    return view as unknown as Database
  }
}
