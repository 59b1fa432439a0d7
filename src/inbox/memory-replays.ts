import type { Clock } from '../clock.ts'
import { Jobs, roomFor, type Ahead, type StepResult } from './jobs.ts'
import { checkReplayFilter, matchesFilter } from './replay-filter.ts'
import { createMatcher, patternsOf } from './routes.ts'
import type { MemoryRun } from './memory-runs.ts'
import type { EventStatus, HandlerRoute, LeasedReplay, NewEvent, NewReplay, ReplayRecord, ReplayState } from './port.ts'

/** An event, as a replay looks at it. */
export interface ReplayedEvent {
  readonly seq: number
  readonly event: NewEvent
}

export interface MemoryReplaysOptions {
  readonly clock: Clock
  /** In accept order. */
  readonly events: readonly ReplayedEvent[]
  readonly statusOf: (seq: number) => EventStatus
  readonly routes: () => readonly HandlerRoute[]
  /** Of the handlers that are registered now. */
  readonly routesOf: (type: string) => readonly HandlerRoute[]
  readonly createRun: (entry: ReplayedEvent, route: HandlerRoute, replay: LeasedReplay | null) => void
  readonly openRuns: () => Iterable<MemoryRun>
  readonly drop: (run: MemoryRun) => void
}

interface Entry extends NewReplay {
  readonly id: number
  readonly createdAt: number
  readonly lastSeq: number
  state: ReplayState
  endedAt: number | null
  nextSeq: number
  events: number
  runs: number
  skipped: number
}

interface Backfill {
  readonly handler: string
  readonly from: number
  nextSeq: number
}

/** Replays and backfills of a memory inbox. */
export class MemoryReplays {
  readonly #options: MemoryReplaysOptions
  readonly #jobs: Jobs
  readonly #replays: Entry[] = []
  /** By their place here, from 1. Ended ones stay. */
  readonly #backfills: (Backfill | null)[] = []

  constructor(options: MemoryReplaysOptions) {
    this.#options = options
    const source = {
      backfilling: () =>
        this.#backfills.flatMap((backfill, index) => (backfill && this.#isRegistered(backfill.handler) ? [index] : [])),
      running: () => this.#replays.filter(({ state }) => state === 'running'),
      backfill: async (index: number, most: number) => this.#backfill(index, most),
      step: async (id: number, most: number) => this.#step(id, most),
    }
    this.#jobs = new Jobs(source, options.clock)
  }

  close(): void {
    this.#jobs.stop()
  }

  isBackfilling(handler: string): boolean {
    return this.backfillSeq(handler) !== null
  }

  backfillSeq(handler: string): number | null {
    return this.#backfills.find((backfill) => backfill?.handler === handler)?.nextSeq ?? null
  }

  /** From there on in the accept sequence a new handler is still to get what is stored. One that was removed keeps nothing from going. */
  firstBackfill(): number {
    const going = this.#backfills.filter((backfill) => backfill !== null && this.#isRegistered(backfill.handler))
    return Math.min(Infinity, ...going.map((backfill) => backfill?.nextSeq ?? Infinity))
  }

  /** To be called when other handlers are registered. */
  poke(): void {
    this.#jobs.poke()
  }

  endBackfill(handler: string): void {
    for (const [index, backfill] of this.#backfills.entries()) {
      if (backfill?.handler === handler) this.#backfills[index] = null
    }
  }

  startBackfill(handler: string, from: 'beginning' | number): void {
    this.#backfills.push({ handler, from: from === 'beginning' ? 0 : from, nextSeq: 1 })
  }

  count(filter: NewReplay['filter']): { events: number; skipped: number } {
    checkReplayFilter(filter)
    const isTaken = createMatcher(patternsOf(filter.handler, this.#options.routes()))
    const found = this.#options.events.filter((entry) => isTaken(entry.event.type) && this.#matches(filter, entry))
    return { events: found.length, skipped: found.filter(isPruned).length }
  }

  start(replay: NewReplay): ReplayRecord {
    checkReplayFilter(replay.filter)
    patternsOf(replay.filter.handler, this.#options.routes())
    const { clock, events } = this.#options
    const entry: Entry = {
      ...replay,
      id: this.#replays.length + 1,
      createdAt: clock.now(),
      lastSeq: events.length,
      state: 'running',
      endedAt: null,
      nextSeq: 1,
      events: 0,
      runs: 0,
      skipped: 0,
    }
    this.#replays.push(entry)
    this.#jobs.poke()
    return this.#toRecord(entry)
  }

  /** Oldest first. */
  all(): ReplayRecord[] {
    return this.#replays.map((entry) => this.#toRecord(entry))
  }

  cancel(id: number): boolean {
    const entry = this.#replays[id - 1]
    if (entry?.state !== 'running') return false
    this.#end(entry, 'cancelled')
    // The newest first, so that none takes the place of one that was dropped before it is dropped itself.
    const waiting = this.#openOf(id).filter(({ item, state }) => item === null && state !== 'running')
    for (const run of waiting.toReversed()) this.#options.drop(run)
    return true
  }

  #step(id: number, most: number): StepResult {
    const entry = this.#replays[id - 1]
    if (entry?.state !== 'running') return { created: 0, next: 'ended' }
    const open = this.#openOf(id)
    if (entry.nextSeq > entry.lastSeq) {
      if (open.length > 0) return { created: 0, next: 'waits' }
      this.#end(entry, 'done')
      return { created: 0, next: 'ended' }
    }
    const room = roomFor(most, this.#aheadOf(open))
    if (room <= 0) return { created: 0, next: 'waits' }
    let created = 0
    for (; entry.nextSeq <= entry.lastSeq && created < room; entry.nextSeq++) {
      const found = this.#options.events[entry.nextSeq - 1]
      if (found === undefined || !this.#matches(entry.filter, found)) continue
      const { handler } = entry.filter
      const routes = this.#options
        .routesOf(found.event.type)
        .filter(({ name }) => handler === undefined || handler === name)
      if (handler !== undefined && routes.length === 0) continue
      entry.events += 1
      if (isPruned(found)) {
        entry.skipped += 1
        continue
      }
      for (const route of routes) this.#options.createRun(found, route, { id, newKeys: entry.newKeys })
      created += routes.length
    }
    entry.runs += created
    return { created, next: 'more' }
  }

  #backfill(index: number, most: number): StepResult {
    const backfill = this.#backfills[index]
    if (!backfill) return { created: 0, next: 'ended' }
    const open = [...this.#options.openRuns()].filter(({ handler }) => handler === backfill.handler)
    const room = roomFor(most, this.#aheadOf(open))
    if (room <= 0) return { created: 0, next: 'waits' }
    let created = 0
    for (; backfill.nextSeq <= this.#options.events.length && created < room; backfill.nextSeq++) {
      const found = this.#options.events[backfill.nextSeq - 1]
      if (found === undefined || isPruned(found) || found.event.receivedAt < backfill.from) continue
      const route = this.#options.routesOf(found.event.type).find(({ name }) => name === backfill.handler)
      if (route === undefined) continue
      this.#options.createRun(found, route, null)
      created += 1
    }
    if (backfill.nextSeq <= this.#options.events.length) return { created, next: 'more' }
    this.#backfills[index] = null
    return { created, next: 'ended' }
  }

  #isRegistered(handler: string): boolean {
    return this.#options.routes().some(({ name }) => name === handler)
  }

  #matches(filter: NewReplay['filter'], { seq, event }: ReplayedEvent): boolean {
    return matchesFilter(filter, { ...event, status: () => this.#options.statusOf(seq) })
  }

  #openOf(id: number): MemoryRun[] {
    return [...this.#options.openRuns()].filter(({ replay }) => replay?.id === id)
  }

  #aheadOf(open: readonly MemoryRun[]): Ahead {
    return { open: open.length, ready: open.filter(({ state }) => state === 'ready').length }
  }

  #end(entry: Entry, state: ReplayState): void {
    entry.state = state
    entry.endedAt = this.#options.clock.now()
  }

  #toRecord({ nextSeq, ...entry }: Entry): ReplayRecord {
    const scannedSeq = Math.min(nextSeq - 1, entry.lastSeq)
    return { ...entry, scannedSeq, openRuns: this.#openOf(entry.id).length }
  }
}

function isPruned({ event }: ReplayedEvent): boolean {
  return event.raw.length === 0
}
