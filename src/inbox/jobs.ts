import type { Clock, Timer } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'

/** What one step of a replay or a backfill did. */
export interface StepResult {
  readonly created: number
  /** `more`: call again. `waits`: for runs to be worked off, or for events to come. `ended`: there is nothing left to do. */
  readonly next: 'more' | 'waits' | 'ended'
}

/** What there is to do, and how a step of it is done: each in one transaction, creating up to `most` runs. */
export interface JobSource {
  /** Handlers that get runs of older events first. */
  backfilling(): readonly number[]
  /** Replays that have not ended. */
  running(): readonly { readonly id: number; readonly perSecond: number | null }[]
  backfill(handlerId: number, most: number): Promise<StepResult>
  step(replayId: number, most: number): Promise<StepResult>
}

/** What a replay, or a backfill, has created and is still to be worked off. */
export interface OpenBacklog {
  /** Runs that have not ended, dead letters aside; counted up to `maxBlockedRuns` or further. */
  readonly open: number
  /** Those of them that wait for a worker, or for their time, and not behind another of their key; counted up to `minReadyRuns` or further. */
  readonly ready: number
}

/** So many runs are created ahead of what is worked off. */
export const maxOpenRuns = 1_000
/** And so many where hardly any of them can be worked off: a key that is slow, or held, does not keep those of other keys from being created. */
export const maxBlockedRuns = 10_000
export const minReadyRuns = 20

/** How many runs a step may create, of the `most` that it could. */
export function roomFor(most: number, { open, ready }: OpenBacklog): number {
  if (open < maxOpenRuns) return Math.min(most, maxOpenRuns - open)
  return ready < minReadyRuns && open < maxBlockedRuns ? most : 0
}

/** Runs created in one transaction: few, because acknowledgements wait for it. */
const mostPerStep = 200
/** For runs to be worked off before more are created, or for events to come; longer and longer while nothing happens. */
const waitMs = 20
const longestWaitMs = 250
const failedWaitMs = 1_000

/** Keeps replays and backfills going, one small transaction after the other, as long as there are any. */
export class Jobs {
  readonly #source: JobSource
  readonly #clock: Clock
  readonly #buckets = new Map<number, TokenBucket>()
  readonly #waits = new Map<string, number>()
  readonly #onError: (job: string, error: unknown) => void
  /** The jobs of which it was told that they fail. */
  readonly #failing = new Set<string>()
  #isWorking = false
  #isWanted = false
  #isStopped = false
  #timer: Timer | undefined

  /** `onError` is told once of a job that fails, until it has gone well again. */
  constructor(source: JobSource, clock: Clock, onError: (job: string, error: unknown) => void = () => {}) {
    this.#source = source
    this.#clock = clock
    this.#onError = onError
  }

  /** To be called when there may be something to do. */
  poke(): void {
    this.#isWanted = true
    if (this.#isWorking || this.#isStopped) return
    this.#timer?.cancel()
    this.#isWorking = true
    void this.#work()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #work(): Promise<void> {
    let delayMs: number | null = 0
    while (delayMs === 0 && !this.#isStopped) {
      this.#isWanted = false
      delayMs = await this.#guard('replays', () => this.#round())
      if (this.#isWanted) delayMs = 0
    }
    this.#isWorking = false
    if (delayMs !== null && !this.#isStopped) this.#timer = this.#clock.after(delayMs, () => this.poke())
  }

  /** One step of each job; how long to wait until the next, or null if there is none left. */
  async #round(): Promise<number | null> {
    let delayMs: number | null = null
    const sooner = (ms: number | null) => {
      if (ms !== null) delayMs = Math.min(delayMs ?? Infinity, ms)
    }
    for (const handlerId of this.#source.backfilling()) {
      sooner(await this.#guard(`backfill ${handlerId}`, () => this.#backfill(handlerId)))
    }
    for (const { id, perSecond } of this.#source.running()) {
      sooner(await this.#guard(`replay ${id}`, () => this.#stepReplay(id, perSecond)))
    }
    return delayMs
  }

  /** How long to wait after a job; one that fails does not keep the others from going on. */
  async #guard(job: string, work: () => Promise<number | null>): Promise<number | null> {
    try {
      const delayMs = await work()
      this.#failing.delete(job)
      return delayMs
    } catch (error) {
      if (!this.#failing.has(job) && !this.#isStopped) this.#onError(job, error)
      this.#failing.add(job)
      return failedWaitMs
    }
  }

  async #backfill(handlerId: number): Promise<number | null> {
    const { next } = await this.#source.backfill(handlerId, mostPerStep)
    return this.#waitAfter(`backfill ${handlerId}`, next)
  }

  /** How long to wait until the next step of a job. */
  #waitAfter(job: string, next: StepResult['next']): number | null {
    const waited = this.#waits.get(job) ?? waitMs / 2
    this.#waits.delete(job)
    if (next === 'ended') return null
    if (next === 'more') return 0
    const wait = Math.min(2 * waited, longestWaitMs)
    this.#waits.set(job, wait)
    return wait
  }

  async #stepReplay(id: number, perSecond: number | null): Promise<number | null> {
    const bucket = perSecond === null ? undefined : this.#bucketOf(id, perSecond)
    const most = Math.min(mostPerStep, bucket?.available() ?? Infinity)
    if (most < 1) return bucket?.waitMs() ?? waitMs
    const { created, next } = await this.#source.step(id, most)
    bucket?.spend(created)
    if (next === 'ended') this.#buckets.delete(id)
    const wait = this.#waitAfter(`replay ${id}`, next)
    return wait === 0 ? (bucket?.waitMs() ?? 0) : wait
  }

  #bucketOf(id: number, perSecond: number): TokenBucket {
    const known = this.#buckets.get(id)
    if (known !== undefined) return known
    const bucket = new TokenBucket(perSecond, this.#clock)
    this.#buckets.set(id, bucket)
    return bucket
  }
}
