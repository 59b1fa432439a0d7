import type { HandlerRoute, Lease, Outcome, ReplayState, RunState, SettleResult } from '../../src/inbox/port.ts'
import type { Change, RunRow } from './journal.ts'
import type { Life } from './life.ts'
import { isActive, isOpen, mayBegin, meaningOf, wasShifted, type LeaseEnd } from './transitions.ts'

/** What the simulation has to know of a handler to judge what becomes of its runs. */
export interface Part extends HandlerRoute {
  readonly onDead: 'skip' | 'hold'
}

/** One attempt, from when its handler is called to when that returns. */
export interface Visit {
  readonly token: number
  readonly thread: Life
  hasEnded: boolean
  /** It returned, was not aborted before, and did not ask to be put off. */
  endedWell: boolean
}

export interface RunStory {
  readonly part: Part
  row: RunRow
  /** Its event was pruned. */
  isGone: boolean
  /** A requeued dead letter has lost its place in line. */
  wasRequeued: boolean
  readonly visits: Visit[]
  /** By token. */
  readonly leaseEnds: Map<number, LeaseEnd>
  /** Tokens of leases whose outcome was refused, because of what the run had read. */
  readonly conflicts: Set<number>
}

const mostRefusals = 100

interface Lane {
  readonly runs: RunStory[]
  lastDone: number
}

export interface ReplayStory {
  state: ReplayState
  readonly newKeys: boolean
}

export interface ItemStory {
  readonly source: { readonly runId: number; readonly token: number }
  readonly idempotencyKey: string
  deliveries: number
}

/** What happened in one simulation as far as the database and the handlers tell, judged while it happens. */
export class Chronicle {
  readonly events = new Map<string, number>()
  readonly quarantined = new Set<string>()
  /** Taken out of the quarantine, if only for a while. */
  readonly released = new Set<string>()
  /** The numbers of events that were pruned. */
  readonly pruned = new Set<number>()
  readonly replays = new Map<number, ReplayStory>()
  /** Handlers of which somebody dropped open runs. */
  readonly dropped = new Set<string>()
  /** What was committed by a process to which the commit was reported as in doubt: it must not acknowledge that. */
  readonly doubted = new Map<string, Life>()
  readonly runs = new Map<number, RunStory>()
  /** By run of the sink. */
  readonly items = new Map<number, ItemStory>()
  /** Run ids, in the order in which they were done. */
  readonly done: number[] = []
  readonly violations: string[] = []
  readonly #parts: ReadonlyMap<string, Part>
  readonly #now: () => number
  readonly #open = new Set<RunStory>()
  /** Event, handler and generation of every run that is no item. */
  readonly #places = new Set<string>()
  readonly #lanes = new Map<string, Lane>()
  /** By handler, since a run of it was done. */
  readonly #refusals = new Map<string, number>()
  /** Null: all handlers together. */
  readonly #paused = new Set<string | null>()

  constructor(parts: readonly Part[], now: () => number) {
    this.#parts = new Map(parts.map((part) => [part.name, part]))
    this.#now = now
  }

  violate(what: string): void {
    this.violations.push(what)
  }

  /** Takes note of a commit. `inDoubt`: the process that made it was told that it may have failed. */
  committed(changes: readonly Change[], by: Life, inDoubt: boolean): void {
    const touched = new Set<Lane>()
    const claimed: { readonly story: RunStory; readonly from: RunState }[] = []
    for (const change of changes) {
      switch (change.kind) {
        case 'event':
          this.#accept(change.seq, change.id)
          if (inDoubt) this.doubted.set(change.id, by)
          break
        case 'quarantined':
          this.quarantined.add(change.id)
          if (inDoubt) this.doubted.set(change.id, by)
          break
        case 'released':
          this.quarantined.delete(change.id)
          this.released.add(change.id)
          break
        case 'gone':
          this.#forget(change.runId)
          break
        case 'pruned':
          this.pruned.add(change.seq)
          break
        case 'replay':
          this.replays.set(change.id, change)
          break
        case 'run': {
          const before = this.runs.get(change.run.id)?.row.state
          const lane = this.#change(change.run)
          if (change.run.state === 'running' && before !== undefined && before !== 'running')
            claimed.push({ story: this.runs.get(change.run.id)!, from: before })
          if (lane !== undefined) touched.add(lane)
          break
        }
        case 'paused':
          if (change.isPaused) this.#paused.add(change.handler)
          else this.#paused.delete(change.handler)
          break
        case 'item':
          this.#leave(change.runId, change.idempotencyKey, change.payload)
          break
      }
    }
    for (const lane of touched) this.#checkLane(lane)
    this.#checkGenerations(claimed)
  }

  /** P5: whether what was acknowledged at this moment is durable, and was known to be by who acknowledged it. */
  acknowledged(id: string, by: Life): void {
    if (!this.events.has(id) && !this.quarantined.has(id) && !this.released.has(id))
      this.violate(`P5: ${id} was acknowledged before its commit`)
    if (this.doubted.get(id) === by) this.violate(`P5: ${id} was acknowledged although its commit was in doubt`)
  }

  /** P4, P9: a handler is about to be called. */
  starts(lease: Lease, thread: Life, atSuspects: boolean): Visit {
    const visit: Visit = { token: lease.token, thread, hasEnded: false, endedWell: false }
    const story = this.runs.get(lease.runId)
    if (story === undefined) {
      this.violate(`P9: a handler was called for run ${lease.runId}, which was never committed`)
      return visit
    }
    const { row, part } = story
    const what = nameOf(story)
    if (row.state !== 'running' || row.token !== lease.token || row.attempt !== lease.attempt) {
      this.violate(
        `P9: attempt ${lease.attempt} (token ${lease.token}) of ${what} began, but committed is ${sayRow(row)}`,
      )
    }
    if (row.crashed > 0 !== atSuspects)
      this.violate(`P9: ${what} ran in the wrong thread, crashed ${row.crashed} times`)
    if (story.visits.some(({ token }) => token === lease.token)) this.violate(`P9: ${what} ran twice under one lease`)
    const last = story.visits.at(-1)
    if (last !== undefined && last.endedWell && !last.thread.hasEnded && !story.conflicts.has(last.token)) {
      this.violate(`P9: ${what} ran again though it had ended well and nothing was lost`)
    }
    this.#checkTurn(story, part)
    story.visits.push(visit)
    return visit
  }

  /** The store has answered to a verdict. */
  settled(outcome: Outcome, result: SettleResult): void {
    const story = this.runs.get(outcome.runId)
    if (story === undefined) return
    if (result === 'conflict') this.#refuse(story, outcome.token)
    const expected = outcome.kind === 'snooze' ? ['given back', 'verdict'] : ['verdict']
    const end = story.leaseEnds.get(outcome.token)
    if (result === 'applied' && !expected.includes(end ?? 'none')) {
      this.violate(`P3: a late report (token ${outcome.token}) of ${nameOf(story)} was applied; its lease: ${end}`)
    }
  }

  /** Runs may be refused because of what others have changed, but then others were not. */
  #refuse(story: RunStory, token: number): void {
    story.conflicts.add(token)
    const { handler } = story.row
    const inARow = (this.#refusals.get(handler) ?? 0) + 1
    this.#refusals.set(handler, inARow)
    if (inARow === mostRefusals)
      this.violate(`P7: ${inARow} runs of ${handler} were refused, and none was done meanwhile`)
  }

  /** P3: a sink has passed an item on. */
  delivered(runId: number, idempotencyKey: string): void {
    const item = this.items.get(runId)
    if (item === undefined || item.idempotencyKey !== idempotencyKey) {
      this.violate(`P3: an item was delivered that was never committed so: run ${runId}, ${idempotencyKey}`)
      return
    }
    item.deliveries += 1
  }

  get open(): RunStory[] {
    return [...this.#open]
  }

  get dead(): RunStory[] {
    return [...this.runs.values()].filter(({ row }) => row.state === 'dead' || row.state === 'held')
  }

  count(handler: string, state: RunState): number {
    let count = 0
    for (const { row } of this.runs.values()) if (row.handler === handler && row.state === state) count += 1
    return count
  }

  /** Whether a run was created for a handler in a generation. */
  hasRun(seq: number, handler: string, replay: number): boolean {
    return this.#places.has(placeOf({ seq, handler, replay }))
  }

  #accept(seq: number, id: string): void {
    if (seq !== this.events.size + 1) this.violate(`P7: ${id} got the number ${seq}, expected ${this.events.size + 1}`)
    this.events.set(id, seq)
  }

  #change(row: RunRow): Lane | undefined {
    const known = this.runs.get(row.id)
    const isHandedOut = row.state === 'running' && known?.row.state !== 'running'
    if (isHandedOut && (this.#paused.has(null) || this.#paused.has(row.handler)))
      this.violate(`P9: run ${row.id} was handed out although ${row.handler} is paused`)
    if (known === undefined) return this.#begin(row)
    const before = known.row
    known.row = row
    if (isOpen(row.state)) this.#open.add(known)
    else this.#open.delete(known)
    if (row.handler !== before.handler || row.key !== before.key || row.replay !== before.replay)
      this.violate(`P4: ${nameOf({ ...known, row: before })} became ${nameOf(known)}`)
    if (wasShifted(before, row)) return undefined
    if (row.state === 'dropped') this.#checkDrop(known, before.state)
    const meaning = meaningOf(before, row)
    if (meaning === undefined)
      this.violate(`P9: ${nameOf(known)} may not change from ${sayRow(before)} to ${sayRow(row)}`)
    else if (meaning !== null) this.#endLease(known, before.token, meaning)
    if (before.state === 'dead' || before.state === 'held') known.wasRequeued = true
    if (row.state === 'done') this.#finish(known)
    return this.#laneOf(known)
  }

  #begin(row: RunRow): Lane | undefined {
    const part = this.#parts.get(row.handler)
    if (part === undefined || !mayBegin(row)) {
      this.violate(`P9: a run of ${row.handler} may not begin as ${sayRow(row)}`)
      return undefined
    }
    const place = placeOf(row)
    const isItem = part.types.length === 0
    if (!isItem && this.#places.has(place)) this.violate(`P3: ${place} has two runs`)
    if (!isItem) this.#places.add(place)
    if (this.pruned.has(row.seq))
      this.violate(`P7: a run of ${row.handler} begins for event ${row.seq}, which is pruned`)
    if (!isItem && row.replay !== 0 && this.replays.get(row.replay)?.state !== 'running')
      this.violate(`P7: a run begins for the replay ${row.replay}, which has ended`)
    const fresh = {
      isGone: false,
      wasRequeued: false,
      visits: [],
      leaseEnds: new Map<number, LeaseEnd>(),
      conflicts: new Set<number>(),
    }
    const story: RunStory = { part, row, ...fresh }
    this.runs.set(row.id, story)
    if (isOpen(row.state)) this.#open.add(story)
    const lane = this.#laneOf(story)
    lane?.runs.push(story)
    return lane
  }

  #forget(runId: number): void {
    const story = this.runs.get(runId)
    if (story === undefined) return this.violate(`P7: run ${runId}, which was never committed, is gone`)
    story.isGone = true
    const { state } = story.row
    if (isOpen(state) || state === 'dead') this.violate(`P7: ${nameOf(story)} is gone while it is ${state}`)
    const runs = this.#laneOf(story)?.runs
    runs?.splice(runs.indexOf(story), 1)
  }

  /** Only dead letters, what waited for a cancelled replay, and what somebody wanted to be rid of. */
  #checkDrop({ row, part }: RunStory, before: RunState): void {
    const isCancelled = part.types.length > 0 && this.replays.get(row.replay)?.state === 'cancelled'
    if (before === 'dead' || before === 'held' || isCancelled || this.dropped.has(row.handler)) return
    this.violate(`P7: ${nameOf({ row })} was dropped though nobody said so`)
  }

  /** What is live goes first, then older replays. */
  #checkGenerations(claimed: readonly { readonly story: RunStory; readonly from: RunState }[]): void {
    for (const { story, from } of claimed) {
      if (story.row.replay === 0) continue
      for (const other of this.#open) {
        const { handler, replay, state, runAt } = other.row
        if (handler !== story.row.handler || replay >= story.row.replay || state !== from) continue
        if (runAt <= this.#now()) this.violate(`P4: ${nameOf(story)} was handed out before ${nameOf(other)}`)
      }
    }
  }

  #endLease(story: RunStory, token: number, end: LeaseEnd): void {
    story.leaseEnds.set(token, end)
    const visit = story.visits.find((candidate) => candidate.token === token)
    if (visit === undefined || visit.hasEnded || visit.thread.hasEnded) return
    this.violate(`P4: the lease of ${nameOf(story)} ended (${end}) while its handler runs`)
  }

  #finish(story: RunStory): void {
    this.done.push(story.row.id)
    this.#refusals.delete(story.part.name)
    const lane = this.#laneOf(story)
    if (lane === undefined || (story.wasRequeued && story.part.onDead === 'skip')) return
    if (story.row.id < lane.lastDone) this.violate(`P4: ${nameOf(story)} was done after a younger run of its key`)
    lane.lastDone = story.row.id
  }

  /** Of one key, at most one run is at work or holds up the others, and if runs wait there is one that they wait for. */
  #checkLane({ runs }: Lane): void {
    const active = runs.filter(({ row }) => isActive(row.state))
    if (active.length > 1) this.violate(`P4: ${active.map(nameOf).join(' and ')} are both active`)
    const waiting = runs.find(({ row }) => row.state === 'waiting')
    if (waiting !== undefined && active.length === 0) this.violate(`P7: ${nameOf(waiting)} waits for nothing`)
  }

  #checkTurn(story: RunStory, part: Part): void {
    const lane = this.#laneOf(story)
    if (lane === undefined || part.order === 'none') return
    for (const other of lane.runs) {
      if (other === story) continue
      const isLive = other.visits.some((visit) => !visit.hasEnded && !visit.thread.hasEnded)
      if (isLive) this.violate(`P4: ${nameOf(story)} began while ${nameOf(other)} runs`)
      const isOlder = other.row.id < story.row.id && isOpen(other.row.state) && !other.wasRequeued
      if (isOlder) this.violate(`P4: ${nameOf(story)} began before the older ${nameOf(other)} had ended`)
    }
  }

  #leave(runId: number, idempotencyKey: string, payload: string): void {
    const source = JSON.parse(payload) as { runId: number; token: number }
    const story = this.runs.get(source.runId)
    if (story?.row.state !== 'done' || story.row.token !== source.token) {
      this.violate(`P3: the item ${idempotencyKey} is from an attempt that did not end done: ${payload}`)
    }
    this.items.set(runId, { source, idempotencyKey, deliveries: 0 })
  }

  #laneOf({ part, row }: RunStory): Lane | undefined {
    if (part.order === 'none' || row.key === null) return undefined
    const name = `${part.name} ${row.replay} ${row.key}`
    let lane = this.#lanes.get(name)
    if (lane === undefined) this.#lanes.set(name, (lane = { runs: [], lastDone: 0 }))
    return lane
  }
}

function placeOf({ seq, handler, replay }: Pick<RunRow, 'seq' | 'handler' | 'replay'>): string {
  return `event ${seq} for ${handler}, generation ${replay}`
}

export function nameOf({ row }: Pick<RunStory, 'row'>): string {
  return `run ${row.id} (${placeOf(row)}, key ${row.key})`
}

function sayRow({ state, attempt, failed, crashed, token }: RunRow): string {
  return `${state} (attempt ${attempt}, failed ${failed}, crashed ${crashed}, token ${token})`
}
