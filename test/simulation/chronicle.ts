import { maxCrashes, type HandlerRoute, type Lease, type Outcome, type ReplayState } from '../../src/inbox/port.ts'
import type { RunState, SettleResult } from '../../src/inbox/port.ts'
import type { Change, RunRow } from './journal.ts'
import type { Life } from './life.ts'

/** The handler properties by which its runs are checked. */
export interface Part extends HandlerRoute {
  readonly onDead: 'skip' | 'hold'
}

/** One attempt, from the call of its handler to its return. */
export interface Visit {
  readonly token: number
  readonly thread: Life
  hasEnded: boolean
  /** True if it returned without an error, an abort or a snooze. */
  endedWell: boolean
}

export interface RunStory {
  readonly part: Part
  row: RunRow
  /** A requeued dead letter has lost its place in the order of its key. */
  wasRequeued: boolean
  readonly visits: Visit[]
  /** Ended leases by token. `uncharged`: a release, or an outcome that charges no attempt. */
  readonly leaseEnds: Map<number, 'charged' | 'uncharged' | 'crash'>
  /** Tokens of leases whose effects conflicted. */
  readonly conflicts: Set<number>
}

/** Runs of one handler, replay and key. */
interface Queue {
  readonly runs: RunStory[]
  lastDone: number
}

interface ReplayStory {
  state: ReplayState
  readonly newKeys: boolean
}

interface ItemStory {
  readonly source: { readonly runId: number; readonly token: number }
  readonly idempotencyKey: string
  deliveries: number
}

/** Conflicts in a row of a handler that count as a livelock. */
const maxConflicts = 100

const idleStates: ReadonlySet<RunState> = new Set(['waiting', 'ready'])
/** States that block newer runs of the key. */
const activeStates: ReadonlySet<RunState> = new Set(['ready', 'suspect', 'running', 'held'])

function isOpen(state: RunState): boolean {
  return idleStates.has(state) || activeStates.has(state)
}

/** Records commits and handler calls, and checks them as they happen. */
export class Chronicle {
  readonly events = new Map<string, number>()
  readonly quarantined = new Set<string>()
  /** Accept-sequence numbers of pruned events. */
  readonly pruned = new Set<number>()
  /** Ids of bodies that were pruned from quarantine. */
  readonly prunedBodies = new Set<string>()
  readonly replays = new Map<number, ReplayStory>()
  /** Ids whose commit was in doubt, with the process that must not acknowledge them. */
  readonly doubted = new Map<string, Life>()
  readonly runs = new Map<number, RunStory>()
  /** Outbox items by id of the sink's run. */
  readonly items = new Map<number, ItemStory>()
  /** Run ids in the order in which they were done. */
  readonly done: number[] = []
  readonly violations: string[] = []
  readonly #parts: ReadonlyMap<string, Part>
  readonly #open = new Set<RunStory>()
  /** Event, handler and replay of every run, without items. */
  readonly #places = new Set<string>()
  readonly #queues = new Map<string, Queue>()
  /** Conflicts by handler since its latest done run. */
  readonly #conflicts = new Map<string, number>()

  constructor(parts: readonly Part[]) {
    this.#parts = new Map(parts.map((part) => [part.name, part]))
  }

  violate(what: string): void {
    this.violations.push(what)
  }

  /** Records a commit. `inDoubt`: it was reported to its process as failed. */
  committed(changes: readonly Change[], by: Life, inDoubt: boolean): void {
    const touched = new Set<Queue>()
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
        case 'gone':
          this.#forget(change.runId)
          break
        case 'pruned':
          this.pruned.add(change.seq)
          break
        case 'prunedBody':
          this.prunedBodies.add(change.id)
          break
        case 'replay':
          this.replays.set(change.id, change)
          break
        case 'run': {
          const queue = this.#change(change.run)
          if (queue !== undefined) touched.add(queue)
          break
        }
        case 'item':
          this.#leave(change.runId, change.idempotencyKey, change.payload)
          break
      }
    }
    for (const queue of touched) this.#checkQueue(queue)
  }

  /** P5: the process acknowledges an event now. */
  acknowledged(id: string, by: Life): void {
    if (!this.events.has(id) && !this.quarantined.has(id)) this.violate(`P5: ${id} was acknowledged before its commit`)
    if (this.doubted.get(id) === by) this.violate(`P5: ${id} was acknowledged although its commit was in doubt`)
  }

  /** P4, P9: a handler is called now. */
  starts(lease: Lease, thread: Life, isIsolated: boolean): Visit {
    const visit: Visit = { token: lease.token, thread, hasEnded: false, endedWell: false }
    const story = this.runs.get(lease.runId)
    if (story === undefined) {
      this.violate(`P9: a handler was called for run ${lease.runId}, which was never committed`)
      return visit
    }
    const { row } = story
    const name = nameOf(story)
    if (row.state !== 'running' || row.token !== lease.token || row.attempt !== lease.attempt) {
      this.violate(
        `P9: attempt ${lease.attempt} (token ${lease.token}) of ${name} began, but committed is ${row.state} ` +
          `(attempt ${row.attempt}, token ${row.token})`,
      )
    }
    if (row.crashed > 0 !== isIsolated)
      this.violate(`P9: ${name} ran in the wrong thread, crashed ${row.crashed} times`)
    if (story.visits.some(({ token }) => token === lease.token)) this.violate(`P9: ${name} ran twice under one lease`)
    const last = story.visits.at(-1)
    if (last !== undefined && last.endedWell && !last.thread.hasEnded && !story.conflicts.has(last.token)) {
      this.violate(`P9: ${name} ran again after a successful attempt whose thread lives`)
    }
    this.#checkTurn(story)
    story.visits.push(visit)
    return visit
  }

  /** The store returned the result of an outcome. */
  settled(outcome: Outcome, result: SettleResult): void {
    const story = this.runs.get(outcome.runId)
    if (story === undefined) return
    if (result === 'conflict') this.#countConflict(story, outcome.token)
    const expected = ['done', 'retry', 'dead'].includes(outcome.kind) ? ['charged'] : ['charged', 'uncharged']
    if (result === 'applied' && !expected.includes(story.leaseEnds.get(outcome.token) ?? ''))
      this.violate(`P3: a stale outcome (token ${outcome.token}) of ${nameOf(story)} was applied`)
  }

  /** P7: some runs of a handler may conflict, but others must succeed. */
  #countConflict(story: RunStory, token: number): void {
    story.conflicts.add(token)
    const { handler } = story.row
    const inARow = (this.#conflicts.get(handler) ?? 0) + 1
    this.#conflicts.set(handler, inARow)
    if (inARow === maxConflicts) this.violate(`P7: ${inARow} runs of ${handler} in a row conflicted`)
  }

  /** P3: a sink delivered an item. */
  delivered(runId: number, idempotencyKey: string): void {
    const item = this.items.get(runId)
    if (item === undefined || item.idempotencyKey !== idempotencyKey)
      return this.violate(`P3: an item was delivered that was never committed: run ${runId}, ${idempotencyKey}`)
    item.deliveries += 1
  }

  get open(): RunStory[] {
    return [...this.#open]
  }

  get dead(): RunStory[] {
    return [...this.runs.values()].filter(({ row }) => row.state === 'dead' || row.state === 'held')
  }

  /** True if a run of the event was created for the handler; `replay` 0: a live run. */
  hasRun(seq: number, handler: string, replay: number): boolean {
    return this.#places.has(placeOf({ seq, handler, replay }))
  }

  #accept(seq: number, id: string): void {
    if (seq !== this.events.size + 1) this.violate(`P7: ${id} got the number ${seq}, expected ${this.events.size + 1}`)
    this.events.set(id, seq)
  }

  #change(row: RunRow): Queue | undefined {
    const known = this.runs.get(row.id)
    if (known === undefined) return this.#begin(row)
    const before = known.row
    known.row = row
    if (isOpen(row.state)) this.#open.add(known)
    else this.#open.delete(known)
    if (before.state === 'running' && row.state !== 'running') this.#endLease(known, before)
    if (row.crashed > maxCrashes) this.violate(`P9: ${nameOf(known)} crashed ${row.crashed} times`)
    if (before.state === 'dead' || before.state === 'held') known.wasRequeued = true
    if (row.state === 'done' && before.state !== 'done') this.#finish(known)
    return this.#queueOf(known)
  }

  #begin(row: RunRow): Queue | undefined {
    const part = this.#parts.get(row.handler)
    if (part === undefined) {
      this.violate(`P9: a run was created for the unknown handler ${row.handler}`)
      return undefined
    }
    const place = placeOf(row)
    const isItem = part.types.length === 0
    if (!isItem && this.#places.has(place)) this.violate(`P3: ${place} has two runs`)
    if (!isItem) this.#places.add(place)
    if (this.pruned.has(row.seq)) this.violate(`P7: a run was created for the pruned event ${row.seq}`)
    if (!isItem && row.replay !== 0 && this.replays.get(row.replay)?.state !== 'running')
      this.violate(`P7: a run was created for the ended replay ${row.replay}`)
    const fresh = { wasRequeued: false, visits: [], leaseEnds: new Map(), conflicts: new Set<number>() }
    const story: RunStory = { part, row, ...fresh }
    this.runs.set(row.id, story)
    if (isOpen(row.state)) this.#open.add(story)
    const queue = this.#queueOf(story)
    queue?.runs.push(story)
    return queue
  }

  #forget(runId: number): void {
    const story = this.runs.get(runId)
    if (story === undefined) return this.violate(`P7: run ${runId} was deleted, but never committed`)
    const { state } = story.row
    if (isOpen(state) || state === 'dead') this.violate(`P7: ${nameOf(story)} was deleted while it was ${state}`)
    const runs = this.#queueOf(story)?.runs
    runs?.splice(runs.indexOf(story), 1)
  }

  #endLease(story: RunStory, before: RunRow): void {
    const isCharged = story.row.attempt === before.attempt
    const end = story.row.crashed > before.crashed ? 'crash' : isCharged ? 'charged' : 'uncharged'
    story.leaseEnds.set(before.token, end)
    const visit = story.visits.find((candidate) => candidate.token === before.token)
    if (visit === undefined || visit.hasEnded || visit.thread.hasEnded) return
    this.violate(`P4: the lease of ${nameOf(story)} ended (${end}) while its handler runs`)
  }

  #finish(story: RunStory): void {
    this.done.push(story.row.id)
    this.#conflicts.delete(story.part.name)
    const queue = this.#queueOf(story)
    if (queue === undefined || (story.wasRequeued && story.part.onDead === 'skip')) return
    if (story.row.id < queue.lastDone) this.violate(`P4: ${nameOf(story)} was done after a newer run of its key`)
    queue.lastDone = story.row.id
  }

  /** At most one run of a key is active. Waiting runs have an active one that they wait for. */
  #checkQueue({ runs }: Queue): void {
    const active = runs.filter(({ row }) => activeStates.has(row.state))
    if (active.length > 1) this.violate(`P4: ${active.map(nameOf).join(' and ')} are both active`)
    const waiting = runs.find(({ row }) => row.state === 'waiting')
    if (waiting !== undefined && active.length === 0) this.violate(`P7: ${nameOf(waiting)} waits for nothing`)
  }

  #checkTurn(story: RunStory): void {
    for (const other of this.#queueOf(story)?.runs ?? []) {
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
    if (story?.row.state !== 'done' || story.row.token !== source.token)
      this.violate(`P3: the item ${idempotencyKey} is from an attempt that is not done: ${payload}`)
    this.items.set(runId, { source, idempotencyKey, deliveries: 0 })
  }

  /** Undefined for runs without an order. */
  #queueOf({ part, row }: RunStory): Queue | undefined {
    if (part.order === 'none' || row.key === null) return undefined
    const name = `${part.name} ${row.replay} ${row.key}`
    let queue = this.#queues.get(name)
    if (queue === undefined) this.#queues.set(name, (queue = { runs: [], lastDone: 0 }))
    return queue
  }
}

function placeOf({ seq, handler, replay }: Pick<RunRow, 'seq' | 'handler' | 'replay'>): string {
  return `event ${seq} for ${handler}, replay ${replay}`
}

export function nameOf({ row }: Pick<RunStory, 'row'>): string {
  return `run ${row.id} (${placeOf(row)}, key ${row.key})`
}
